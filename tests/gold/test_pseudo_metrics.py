"""The stage says how many questions have no pseudo-gold, and why; the bench tells what was located wrongly."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

from canopy.config import Config
from canopy.gold.pseudo import RULE
from canopy.items import Annotation, Item, Question
from canopy.paths import Paths
from canopy.stages import benchmark
from canopy.stages.base import NullTracker
from canopy.validation.checker import RuleValidator

ROOT = Path(__file__).resolve().parents[2]


def load_bench() -> ModuleType:
    """bench/pseudo_gold.py as a module."""
    spec = importlib.util.spec_from_file_location("pseudo_gold_bench", ROOT / "bench" / "pseudo_gold.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_stage_counts_questions_whose_items_are_about_something_else(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    items = [{"id": "bridge", "modality": "text", "text": "The bridge of Orlo was opened in 1911."},
             {"id": "bread", "modality": "text", "text": "Bread was dear in 1923."}]
    questions = [{"id": "a", "question": "When was the bridge of Orlo opened?", "answers": ["1911"]},
                 {"id": "b", "question": "When did the glacier above Tarn retreat?", "answers": ["1923"]},
                 {"id": "c", "question": "Who dug the canal?", "answers": ["Nobody Atall"]}]
    (raw / "items.jsonl").write_text("".join(json.dumps(i) + "\n" for i in items))
    (raw / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    config = Config.model_validate({"benchmarks": {"b": {"adapter": "native", "path": str(raw)}}})
    result = benchmark.run(config, Paths(tmp_path), NullTracker(), RuleValidator(), "b")
    assert {k: v for k, v in result.metrics.items() if k.startswith("pseudo_gold") and v} == {
        "pseudo_gold_questions": 1.0, "pseudo_gold_uncovered": 1.0, "pseudo_gold_absent": 1.0}
    assert any("1 whose answer occurs only in items about something else" in n for n in result.notes)


def test_the_bench_tells_right_from_wrong() -> None:
    bench = load_bench()
    items = [Item("gone", "x", "text", text="The pier of Ilmen was opened in 1911."),
             Item("bread", "x", "text", text="Bread was dear in 1911."),
             Item("mill", "x", "text", text="The mill of Leith burned in 1875.")]
    questions = [Question("p", "x", "When was the pier of Ilmen opened?", ("1911",)),
                 Question("m", "x", "When did the mill of Leith burn?", ("1875",))]
    annotations = [Annotation("p", "gone", "item"), Annotation("m", "mill", "item")]
    source = bench.Source("x", items, questions, annotations, frozenset({"p", "m"}))
    before, after = bench.measure(source, "train", [("before", bench.BEFORE), ("after", RULE)])
    assert (before["located"], before["with a gold item"], before["located there"]) == (1, 1, 1)
    assert (after["located"], after["with a gold item"], after["located there"], after["uncovered"]) == (1, 1, 0, 1)
    assert "precision over both 50%" in bench.describe(before) and "precision over both 100%" in bench.describe(after)
    assert bench.measure(source, "test", [("after", RULE)]) == []


def test_the_page_of_results_quotes_the_file_that_the_bench_wrote() -> None:
    rows = json.loads((ROOT / "docs" / "figures" / "pseudo-gold.json").read_text("utf-8"))
    assert rows[1]["rule"] == f"floor {RULE.floor:g} overlap {RULE.overlap:g}"
    assert load_bench().write_table(rows) in (ROOT / "docs" / "results.md").read_text("utf-8")
