"""The real stages over a tiny benchmark, in Dagster, in this process.

Each change reruns exactly the stages that it touches.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console

from assets.orchestrator import DagsterOrchestrator
from assets.resources import open_instance
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.rerun import rerun
from orchestration.pipeline.status import differences, look
from orchestration.pipeline.workspace import make_workspace
from tests.orchestration.project import ROOT

pytestmark = pytest.mark.slow
DAGSTER = DagsterOrchestrator()
DATA = ["benchmark@tiny", "gold_spans@tiny", "split@tiny", "training_instances@tiny", "corpus"]
MODEL = ["node_encoder", "node_embeddings", "item_index", "leaf_scorer"]
RESULTS = ["evaluation@tiny", "answers@tiny", "report", "registered_model"]


class Work:
    """A workspace with a copy of the code, so that tests may change a line of it, and of the raw data."""

    def __init__(self, root: Path, documents: Path) -> None:
        self.raw = root / "raw"
        shutil.copytree(documents, self.raw)
        shutil.copytree(ROOT / "canopy", root / "w" / "canopy", ignore=shutil.ignore_patterns("__pycache__"))
        (root / "w" / ".dvc").mkdir()
        for name in ("dvc.yaml", ".dvcignore", ".dvc/config"):
            shutil.copy(ROOT / name, root / "w" / name)
        self.root = make_workspace(root / "w", {"tiny": {"adapter": "native", "path": str(self.raw)}})
        set_params(self.root, ["training.epochs=1", "training.batch=4", "evaluation.resamples=100",
                               "answers.systems=[canopy, vanilla]"])

    def run(self) -> dict[str, tuple[str, ...]]:
        """Rerun what is stale, and check that nothing is left to do and that Dagster and DVC agree on it."""
        with open(os.devnull, "w") as nowhere:
            console = Console(file=nowhere, record=True, width=200)
            ran = rerun(self.root, DAGSTER, console=console).ran
        self.told = console.export_text()
        with DAGSTER.open(self.root) as history:
            view = look(self.root, history)
        assert not any(t.stale for t in view.tasks.values()) and differences(view, self.root) == []
        return ran

    def edit(self, path: Path, change: Callable[[str], str]) -> None:
        """Change a file's text."""
        before = path.read_text()
        assert change(before) != before
        path.write_text(change(before))


@pytest.fixture(scope="module")
def work(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """The tiny pipeline, run once."""
    made = Work(tmp_path_factory.mktemp("pipeline"), documents)
    assert list(made.run()) == [*DATA[:2], "corpus", *DATA[2:4], *MODEL, *RESULTS]
    yield made


def test_everything_is_shown_in_dagster(work: Work) -> None:
    with open_instance(work.root) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("benchmark")).asset_materialization
        assert event.partition == "tiny"
        assert event.metadata["dagster/row_count"].value == 16
        assert event.metadata["items"].value == 16.0
        assert isinstance(event.metadata["table: questions"], dg.TableMetadataValue)
        report = instance.get_latest_materialization_event(dg.AssetKey("report")).asset_materialization
        assert "data:image/svg+xml;base64," in report.metadata["figures"].value
        assert report.metadata["report page"].value.endswith("report.html")
        registered = instance.get_latest_materialization_event(dg.AssetKey("registered_model")).asset_materialization
        assert registered.metadata["alias"].value == "challenger"
        assert instance.get_runs_count(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE])) == 0


def test_mlflow_has_a_run_for_each_stage_with_its_lineage(work: Work) -> None:
    from orchestration.models.tracking import experiment_id, open_client

    client = open_client(work.root)
    runs = {r.info.run_name: r for r in client.search_runs([experiment_id(client)])}
    assert {*DATA, *MODEL, "evaluation@tiny", "answers@tiny", "report"} <= set(runs)
    tags = runs["node_encoder"].data.tags
    assert tags["canopy.stage"] == "node_encoder"
    assert tags["dvc.data/training_instances"].endswith(".dir")
    assert tags["dagster.run_id"]


def test_nothing_changed(work: Work) -> None:
    assert work.run() == {}


def test_a_comment_outside_any_stages_code(work: Work) -> None:
    work.edit(work.root / "canopy" / "progress.py", lambda t: t + "# a comment\n")
    assert work.run() == {}


def test_a_line_of_a_stages_code(work: Work) -> None:
    work.edit(work.root / "canopy" / "stages" / "item_index.py", lambda t: t + "# a comment\n")
    assert work.run() == {"item_index": ("code changed: canopy/stages/item_index.py",)}  # same output: nothing below it


def test_a_word_of_a_reports_template_leaves_answers_alone(work: Work) -> None:
    template = next((work.root / "canopy" / "report" / "templates").glob("*.html"))
    work.edit(template, lambda t: t + "<!-- a word -->\n")
    ran = work.run()
    assert "report" in ran and set(ran) <= {"report", "registered_model"}


def test_a_training_parameter(work: Work) -> None:
    set_params(work.root, ["training.weight_decay=0.02"])
    ran = work.run()
    assert set(ran) == {*MODEL, *RESULTS}
    assert ran["node_encoder"] == ("params.yaml: training.weight_decay 0.01 -> 0.02",)
    assert "f0: 0 of 112 nodes encoded" in work.told and "f_theta: 112 of 112 nodes encoded" in work.told


def test_a_questions_gold(work: Work) -> None:
    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        start, end = json.loads(lines[1])["gold"][0]["chars"][0]
        lines[1] = lines[1].replace(json.dumps([[start, end]]), json.dumps([[0, end]]))
        return "".join(lines)

    work.edit(work.raw / "questions.jsonl", change)
    ran = work.run()
    # The question is on the test side: the adapter is trained to the same bytes, so the store stays and the index is
    # left alone.
    assert set(ran) == {*DATA, *MODEL, *RESULTS} - {"item_index"}, ran
    assert "f0: 0 of 112 nodes encoded" in work.told


def test_an_items_text(work: Work) -> None:
    work.edit(work.raw / "items.jsonl", lambda t: t.replace("Visitors come in spring", "Visitors come in autumn", 1))
    ran = work.run()
    # the gold fragments are the same, but the page of examples shows the text
    assert set(ran) == {*DATA, *MODEL, *RESULTS}, ran
    assert "f0: 7 of 112 nodes encoded" in work.told, work.told  # one passage's seven nodes


def test_a_sweep_shares_what_its_values_do_not_touch(work: Work) -> None:
    from orchestration.pipeline.parameter_sweep import compare, plan_points, run_points, write_comparison

    points = plan_points(work.root, ["answers.k=1,2"], ["answers.systems=[vanilla]"])
    with open(os.devnull, "w") as nowhere:
        console = Console(file=nowhere, record=True, width=200)
        done = run_points(work.root, points, DAGSTER, console)
        again = run_points(work.root, points[:1], DAGSTER, console)
    assert [set(d.ran) for d in done] == [{"answers@tiny", "report"}] * 2 and again[0].ran == {}
    stores = [p / "data" / "node_embeddings" / "f_theta" / "shard-0000.npy"
              for p in (work.root, *(x.folder for x in points))]
    assert len({f.stat().st_ino for f in stores}) == 1  # one file on disk; a rebuild would start from it
    files, (table, *_) = compare(points)
    values = {r["variant"]: r for r in table.rows}
    assert list(values) == [p.name for p in points]
    assert values[points[1].name]["change_tokens"].estimate > 0  # two items are longer than one
    assert all(p.is_file() for p in write_comparison(points, files))


def test_the_same_comes_back(work: Work) -> None:
    shutil.rmtree(work.root / "data")
    assert work.run() == {}
