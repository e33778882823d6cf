"""The split reads the gold of all benchmarks; what is built on a benchmark's sides runs only if they change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from assets.orchestrator import DagsterOrchestrator
from assets.resources import open_instance
from canopy.errors import CanopyError
from canopy.stages.base import NullTracker
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.rerun import Rerun, rerun
from orchestration.pipeline.status import differences, look
from orchestration.pipeline.workspace import make_workspace

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def untracked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No MLflow: these tests are about DVC and Dagster."""
    @contextmanager
    def nothing(*_: Any) -> Iterator[NullTracker]:
        yield NullTracker()

    monkeypatch.setattr("orchestration.pipeline.stage.stage_run", nothing)


DAGSTER = DagsterOrchestrator()
CRAFTS = ("baker", "cooper", "dyer", "farrier", "glazier", "hatter", "mason", "potter")


def passage(town: str, craft: str) -> str:
    return f"{town} is small. Its last {craft} kept {len(craft)} tools in a shed behind the {town} church. It rains."


def write_raw(folder: Path, town: str, questions: int, split: str = "") -> Path:
    """A native folder: a passage for each craft of a town, and so many questions on each."""
    folder.mkdir(parents=True)
    texts = {craft: passage(town, craft) for craft in CRAFTS}
    items = [{"id": c, "modality": "text", "title": f"{town}: {c}", "text": t} for c, t in texts.items()]
    rows = [{"id": f"{c}{n}", "question": f"In {folder.name}, matter {n}: where did the {c} of {town} keep tools?",
             "answers": ["shed"], **({"split": split} if split else {}),
             "gold": [{"item": c, "chars": [[t.index("Its last"), t.index(" It rains")]]}]}
            for c, t in texts.items() for n in range(questions)]
    for name, lines in (("items", items), ("questions", rows)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def run(root: Path) -> Rerun:
    """Rerun the data stages, and check that Dagster and DVC agree on how everything stands."""
    with open(os.devnull, "w") as nowhere:
        outcome = rerun(root, DAGSTER, select=["+training_instances"], console=Console(file=nowhere))
    with DAGSTER.open(root) as history:
        view = look(root, history)
    assert differences(view, root) == []
    assert [t.name for t in view.tasks.values() if t.asset in ("split", "training_instances") and t.stale] == []
    return outcome


def sides(root: Path, benchmark: str) -> dict[str, str]:
    rows = pq.read_table(root / "data" / "split" / benchmark / "splits.parquet").to_pylist()
    return {r["question_id"]: r["split"] for r in rows}


def test_a_benchmark_more_reruns_only_what_its_gold_moved(tmp_path: Path) -> None:
    raw = {name: str(write_raw(tmp_path / name, town, 1)) for name, town in (("one", "Arden"), ("two", "Borve"))}
    root = make_workspace(tmp_path / "w", {n: {"adapter": "native", "path": p} for n, p in raw.items()})
    assert {"split@one", "split@two", "training_instances@one"} <= set(run(root).ran)
    before = {name: sides(root, name) for name in raw}

    third = write_raw(tmp_path / "three", "Arden", 3)
    set_params(root, ["benchmarks.three.adapter=native", f"benchmarks.three.path={third}"])
    outcome = run(root)
    # The new benchmark has three questions on each passage of the first, and other passages than the second.
    assert {"split@one", "split@two", "split@three", "training_instances@one", "training_instances@three"} <= set(
        outcome.ran)
    assert not {"training_instances@two", "gold_spans@one", "gold_spans@two"} & {*outcome.ran, *outcome.kept}
    moved = {q for q, s in sides(root, "one").items() if before["one"][q] != s}
    assert moved and sides(root, "two") == before["two"]
    for craft in CRAFTS:
        assert {sides(root, "one")[f"one/{craft}0"]} == {sides(root, "three")[f"three/{craft}{n}"] for n in range(3)}

    with open_instance(root) as instance:
        events = instance.get_event_records(dg.EventRecordsFilter(
            dg.DagsterEventType.ASSET_MATERIALIZATION, dg.AssetKey("split"), asset_partitions=["one"]), limit=1)
    metadata = events[0].asset_materialization.metadata
    assert f"{len(moved)} questions of one changed side because they share gold with three" in metadata["notes"].value
    assert {r.data["question"] for r in metadata["table: moved"].records} == moved
    assert metadata["questions_moved"].value == len(moved)

    # Without it all is as before, and nothing of the second benchmark is touched.
    make_workspace(root, {n: {"adapter": "native", "path": p} for n, p in raw.items()})
    outcome = run(root)
    assert {n: sides(root, n) for n in raw} == before
    assert "training_instances@two" not in {*outcome.ran, *outcome.kept}


def test_an_official_split_that_leaks_across_benchmarks_is_red_with_its_texts(tmp_path: Path) -> None:
    raw = {"one": str(write_raw(tmp_path / "one", "Arden", 1, "train")),
           "two": str(write_raw(tmp_path / "two", "Arden", 1, "test"))}
    root = make_workspace(tmp_path / "w", {n: {"adapter": "native", "path": p} for n, p in raw.items()})
    set_params(root, ["split.use_official=true"])
    message = (r"split@one: split: rule 'no gold text of a test question trains' fails for 8 rows: "
               r"items 'one/baker \(train\), two/baker \(test\)', splits 'test, train'")
    with pytest.raises(CanopyError, match=message):
        run(root)
    assert not (root / "data" / "split" / "one").exists()
    with open_instance(root) as instance:
        records = instance.get_event_records(dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION))
    checks = [r.event_log_entry.dagster_event.asset_check_evaluation_data for r in records]
    broken = [c for c in checks if not c.passed]
    assert {(c.asset_key.to_user_string(), c.check_name, c.partition) for c in broken} == {
        ("split", "no_gold_text_of_a_test_question_trains", "one")}
    assert broken[0].blocking and broken[0].metadata["failing rows"].value == 8
    first = broken[0].metadata["first failing rows"].records[0].data
    assert first["items"] == "one/baker (train), two/baker (test)"
