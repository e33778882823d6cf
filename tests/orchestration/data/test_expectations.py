"""Great Expectations agrees with canopy's rules; its pages need no network; Dagster shows the rows that failed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from canopy.errors import CanopyError
from canopy.stages.base import NullTracker
from canopy.validation.checker import check_rules, rules_for, tabulate
from canopy.validation.outcomes import ValidationFailed
from canopy.validation.rules import Between, OneOf, Rule, Unique
from canopy.validation.suites import SUITES
from orchestration.data.data_docs import docs_page, localise, write_docs
from orchestration.data.expectations import run_suites
from orchestration.data.validator import ExpectationsValidator
from tests.validation.broken import BREAKS, SCHEMAS, sound, tables


@pytest.mark.parametrize("suite", SUITES)
def test_both_say_the_same_of_every_rule(suite: str) -> None:
    rows = sound()
    for (of, _), (change, _) in BREAKS.items():
        if of == suite:
            change(rows)
    empty = {n: s.empty_table() for n, s in SCHEMAS.items()}
    for inputs, passed in ((tables(rows), False), (tables(sound()), True), (empty, True)):
        rules = rules_for(suite, inputs)
        checked = tabulate(rules, inputs)
        ours = check_rules(rules, checked, most_examples=1000)
        assert ours == run_suites(suite, rules, checked, most_examples=1000)
        assert {o["passed"] for o in ours} == {passed}, [o for o in ours if o["passed"] != passed]


VALUES = {"text": st.none() | st.sampled_from(["", " ", "a", "A", "b", "é", "nan", "None", "train"]),
          "number": st.none() | st.floats(-3, 3) | st.just(float("nan")),
          "whole": st.none() | st.integers(-2, 3), "flag": st.none() | st.booleans()}
KINDS = {"text": pa.string(), "number": pa.float64(), "whole": pa.int64(), "flag": pa.bool_()}
ROWS = st.lists(st.fixed_dictionaries(VALUES), max_size=12)
TESTS = (Unique("text"), Unique("whole"), OneOf("text", ("a", "train")), OneOf("flag", (True,)), OneOf("whole", (1, 2)),
         Between("number", low=0), Between("number", high=0.5), Between("whole", low=0, high=2),
         Between("whole", low=1e-9))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS)
def test_both_say_the_same_of_any_rows(rows: list[dict[str, Any]]) -> None:
    rules = tuple(Rule(f"rule {n}", "It says.", True, "made", t, ("text", "whole")) for n, t in enumerate(TESTS))
    judged = {"made": pa.Table.from_pylist(rows, schema=pa.schema(list(KINDS.items())))}
    # Rows are compared as text, in which NaN equals itself.
    assert str(check_rules(rules, judged, most_examples=50)) == str(run_suites("any", rules, judged, most_examples=50))


def test_the_pages_need_no_network_and_name_the_rows(tmp_path: Path) -> None:
    rows = sound()
    rows["items"] += [{**rows["items"][-1], "id": "made/<b>x&y"} for _ in range(2)]
    made = tables(rows)
    with pytest.raises(ValidationFailed) as caught:
        ExpectationsValidator(tmp_path, "benchmark", "made").check("benchmark", made)
    index = docs_page(tmp_path, "benchmark", "made")
    assert str(index) in str(caught.value) and index.parent.name == "benchmark@made"
    text = index.read_text("utf-8")
    assert "made/&lt;b&gt;x&amp;y" in text and "<b>x" not in text
    assert text.count(">holds<") == len(SUITES["benchmark"]) - 1
    pages = sorted(index.parent.rglob("*.html"))
    for page in pages:
        html = page.read_text("utf-8")
        assert re.findall(r"<(?:script|img|link)[^>]*https?://[^>]*>|url\(.?http[^)]*\)|<script", html) == []
        for link in re.findall(r'(?:href|src)="([^"#]+)"', html):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page}: {link}"
    linked = re.findall(r'href="(validations/[^"]+)"', text)
    assert {Path(p).parts[1] for p in linked} == {f"benchmark_{r.table}" for r in SUITES["benchmark"]}
    before = index.read_bytes()
    write_docs(tmp_path, "benchmark", "made", "benchmark", rules_for("benchmark", tables(sound())),
               tabulate(SUITES["benchmark"], tables(sound())))
    assert index.read_bytes() != before and [p.name for p in index.parent.parent.iterdir()] == ["benchmark@made"]


def test_what_is_read_is_checked_without_great_expectations_until_it_breaks(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr("orchestration.data.validator.write_docs", lambda *a: ran.append(a[3]) or run_suites(*a[3:6]))
    validator = ExpectationsValidator(tmp_path, "training_instances", "made")
    validator.check("split", tables(sound()), source="data/split/made")
    assert ran == []
    rows = sound()
    BREAKS["split", "one split a question"][0](rows)
    message = r"data/split/made: rule 'one split a question' .* `canopy run` makes it again; all rows: "
    with pytest.raises(ValidationFailed, match=message):
        validator.check("split", tables(rows), source="data/split/made")
    validator.check("training_instances", tables(sound()))
    assert ran == ["split", "training_instances"]


def test_remote_parts_of_a_page_are_taken_out() -> None:
    page = ('<head><link rel="stylesheet" href="https://x.y/z.css"/><script src="https://x.y"></script></head>'
            '<img src="https://x.y/logo-long.png?d=1">'
            "<script>\nlet a;\n</script><a href='https://x.y'>kept</a><footer>\nnews</footer>")
    assert localise(page, "../") == ('<head><link rel="stylesheet" href="../canopy.css"></head>'
                                     '<img src="../static/images/logo-long.png">'
                                     "<a href='https://x.y'>kept</a>")


class Little:
    """A workspace over a few documents that bring their own split, and what a test does to it."""

    def __init__(self, root: Path, second_gold: str) -> None:
        from orchestration.pipeline.workspace import make_workspace

        self.raw = root / "raw"
        self.raw.mkdir()
        facts = {w: f"The {w} mill stands by the river and grinds. It has {n} stones of {w} granite. Visitors like it "
                    "in spring." for n, w in enumerate(("old", "new", "tall", "low"))}
        self.items = [{"id": w, "modality": "text", "text": t} for w, t in facts.items()]
        self.write("items", self.items)
        self.ask(second_gold)
        self.root = make_workspace(root / "w", {"mills": {"adapter": "native", "path": str(self.raw)}})

    def write(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write a raw file."""
        (self.raw / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    def ask(self, gold: str) -> None:
        """Two questions, one a side; the gold of the second is the named item."""
        questions = (("What grinds there?", "train", "old"), ("Which mill has two stones?", "test", gold))
        self.write("questions", [{"id": f"q{n}", "question": q, "answers": ["granite"], "split": s,
                                  "gold": [{"item": i, "chars": [[0, 10]]}]} for n, (q, s, i) in enumerate(questions)])

    def rerun(self, *names: str) -> None:
        """What `canopy run --select NAMES` does."""
        from assets.orchestrator import DagsterOrchestrator
        from orchestration.pipeline.rerun import rerun

        with open(os.devnull, "w") as nowhere:
            rerun(self.root, DagsterOrchestrator(), select=names, console=Console(file=nowhere))

    def materialize(self, asset: str) -> None:
        """What Dagster's UI does with one asset."""
        from assets.definitions import build_definitions
        from assets.resources import open_instance

        with open_instance(self.root) as instance:
            build_definitions(self.root).resolve_implicit_global_asset_job_def().execute_in_process(
                instance=instance, partition_key="mills", asset_selection=[dg.AssetKey(asset)],
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}})

    def checks(self, asset: str) -> dict[str, tuple[str, Any]]:
        """The latest status of each check, and its evaluation."""
        from assets.definitions import build_definitions
        from assets.resources import open_instance

        latest = {}
        with open_instance(self.root) as instance:
            for key in build_definitions(self.root).resolve_asset_graph().asset_check_keys:
                if key.asset_key == dg.AssetKey(asset):
                    last = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
                    if last and last[0].status.value != "PLANNED":
                        event = last[0].event.dagster_event.event_specific_data
                        assert event.partition == last[0].partition == "mills"
                        latest[key.name] = (last[0].status.value, event)
        return latest


@pytest.fixture
def untracked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No MLflow: these tests are about Dagster."""
    @contextmanager
    def nothing(*_: Any) -> Iterator[Any]:
        yield NullTracker()

    monkeypatch.setattr("orchestration.pipeline.stage.stage_run", nothing)


@pytest.mark.slow
def test_a_broken_rule_is_shown_red_with_its_rows_and_a_later_stage_stops_at_it_too(
        untracked: None, tmp_path: Path) -> None:
    little = Little(tmp_path, second_gold="old")
    message = "rule 'no gold item on both sides' fails for 1 row: item_id 'mills/old', splits 'test, train'"
    with pytest.raises(CanopyError, match=message):
        little.rerun("benchmark", "gold_spans", "split")
    shown = little.checks("split")
    assert {n for n, (status, _) in shown.items() if status == "FAILED"} == {"no_gold_item_on_both_sides"}
    assert len(shown) == len(SUITES["split"]) + 1
    event = shown["no_gold_item_on_both_sides"][1]
    assert event.severity == dg.AssetCheckSeverity.ERROR and event.blocking
    assert event.metadata["failing rows"].value == 1
    assert [r.data["item_id"] for r in event.metadata["first failing rows"].records] == ["mills/old"]
    page = Path(event.metadata["data docs"].value)
    assert page.is_relative_to(little.root / ".canopy" / "data_docs") and "mills/old" in page.read_text()
    assert not (little.root / "data" / "split" / "mills").exists()

    little.ask("low")
    little.rerun("benchmark", "gold_spans", "split")
    shown = little.checks("split")
    assert {s for s, _ in shown.values()} == {"SUCCEEDED"}
    assert set(shown) > {"inputs_meet_their_rules", "answer_types_are_alike"}

    items = little.root / "data" / "benchmark" / "mills" / "items.parquet"
    table = pq.read_table(items)
    items.chmod(0o644)
    pq.write_table(pa.concat_tables([table, table.slice(3, 1)]), items)
    message = "gold_spans@mills: data/benchmark/mills: rule 'item ids are unique' fails for 2 rows: id 'mills/low'"
    with pytest.raises(dg.Failure, match=message):
        little.materialize("gold_spans")
    status, event = little.checks("gold_spans")["inputs_meet_their_rules"]
    assert status == "FAILED"
    rows = event.metadata["failing rows: item ids are unique"].records
    assert [r.data["id"] for r in rows] == ["mills/low", "mills/low"]
    assert "what it reads" in Path(event.metadata["data docs"].value).read_text()
    status, event = little.checks("benchmark")["item_ids_are_unique"]
    assert status == "FAILED" and event.metadata["failing rows"].value == 2

    little.rerun("benchmark", "gold_spans")  # brings back what was edited by hand
    little.materialize("gold_spans")  # nothing to do, and it says so of its checks too
    assert pq.read_table(items).num_rows == 4
    assert {s for a in ("benchmark", "gold_spans") for s, _ in little.checks(a).values()} == {"SUCCEEDED"}
