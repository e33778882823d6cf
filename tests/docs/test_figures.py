"""The figures in the documents are those of the file that `make figures` writes."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT


def load_script() -> ModuleType:
    """docs/figures.py as a module."""
    spec = importlib.util.spec_from_file_location("figures", ROOT / "docs" / "figures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_quote_the_written_figures() -> None:
    script = load_script()
    table = script.write_table(json.loads(script.FIGURES.read_text("utf-8")))
    for page in script.PAGES:
        assert table in page.read_text("utf-8"), f"{page.name}: run `make figures` after `make demo`"


def test_the_page_of_results_quotes_the_slices_file_or_says_that_there_is_none() -> None:
    script = load_script()
    figures = json.loads(script.SLICES.read_text("utf-8")) if script.SLICES.is_file() else None
    assert script.write_slices(figures) in script.RESULTS.read_text("utf-8"), "run `make figures-slices WORKSPACE=DIR`"


def test_figures_of_release_files_come_from_a_report(tmp_path: Path) -> None:
    script = load_script()
    report = tmp_path / "data" / "report"
    (report / "tables").mkdir(parents=True)
    with pytest.raises(SystemExit, match=r"metrics\.json"):
        script.read_slices(tmp_path)
    difference = {"baseline": "f0-separate", "value": 0.1, "low": 0.05, "high": 0.15}
    (report / "metrics.json").write_text(json.dumps({"mine": {
        "f0-separate": {"decision_accuracy": 0.5}, "f_theta": {"decision_accuracy": 0.6},
        "difference": {"decision_accuracy": difference}, "counts": {"questions": 40, "decisions": 99},
        "about": {"gold": {"pseudo_gold_share": 0.25, "figures_count": "annotated alone"}}}}))
    (report / "tables" / "main-unified.csv").write_text(
        "benchmark,system,gold_recall,gold_recall_low,gold_recall_high,tokens,tokens_low,tokens_high,difference,"
        "difference_low,difference_high,difference_gold_recall,difference_gold_recall_low,difference_gold_recall_high\n"
        "mine,vanilla,0.9,0.8,1,1500,1,2,,,,,,\nmine,canopy,0.7,0.6,0.8,700,1,2,0.01,-0.02,0.03,-0.2,-0.3,-0.1\n")
    pages = tmp_path / "results.md"
    pages.write_text("before\n<!-- figures: slices -->\nearlier words\n<!-- end of figures -->\nafter\n")
    figures = script.read_slices(tmp_path)
    script.replace_block(pages, "slices", script.write_slices(figures))
    text = pages.read_text()
    assert "| mine (99 decisions) | 40 | 25.0%, annotated alone counted | 50.0% | 60.0% | +10.0 [+5.0, +15.0] |" in text
    assert "| mine | 90.0% -> 70.0% | -20.0 [-30.0, -10.0] | 1,500 -> 700 | +1.0 [-2.0, +3.0] |" in text
    assert figures["commit"] in text and "LLM-free" in text and "earlier words" not in text and text.endswith("after\n")
