"""Every table and figure of results says who read, that no language model took part, and how much gold is pseudo."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canopy.gold.kinds import ENOUGH_ANNOTATED, GoldKinds, kinds_of
from canopy.report.build import Report, build_report
from canopy.report.provenance import LLM_FREE, with_footer
from canopy.report.results import Results, Settings, compare_measures
from canopy.report.seconds import seconds_page
from tests.report.made_up_answers import make_answered
from tests.report.test_report import CURVE, TRAINING, _results

SETTINGS = Settings(100, 13, 0.95)
NO_RESULTS = {"records", "coverage", "expected", "gold", "sizes", "corpus", "corpus-summary", "folded",
              "unfilled", "shared-gold", "missing"}


def mixed(annotated: int, questions: int = 60) -> Results:
    """Results whose first questions alone have annotated gold."""
    results = _results("mine", questions=questions)
    ids = list(dict.fromkeys(results.systems["question_id"]))
    return replace(results, gold=GoldKinds(frozenset(ids[:annotated]), frozenset(ids[annotated:])))


def report_of(results: Results, folder: Path | None = None) -> Report:
    answers = []
    if folder is not None:
        answered, _ = make_answered(folder, "mine")
        ids = sorted(set(answered.frame["question_id"]))
        answered.gold = GoldKinds(frozenset(ids[:1]), frozenset(ids[1:]))
        answers = [answered]
    return build_report([results], TRAINING, CURVE, SETTINGS, answers=answers)


def test_kinds_of_gold() -> None:
    kinds = kinds_of([{"question_id": "a", "pseudo": False}, {"question_id": "a", "pseudo": True},
                      {"question_id": "b", "pseudo": True}])
    assert kinds.annotated == {"a"} and kinds.pseudo == {"b"} and kinds.share == 0.5
    assert GoldKinds().describe() == "" and not kinds.is_annotated_alone
    enough = GoldKinds(frozenset(f"a{n}" for n in range(ENOUGH_ANNOTATED)), frozenset("xy"))
    assert enough.left_out == {"x", "y"} and not replace(enough, annotated=frozenset("a")).left_out
    assert "annotated, " not in GoldKinds(pseudo=frozenset("x")).describe()


def test_headline_figures_are_of_annotated_gold_alone_where_there_is_enough() -> None:
    results = mixed(ENOUGH_ANNOTATED)
    total = results.gold.total
    report = report_of(results)
    metrics: Any = json.loads(report.files["metrics.json"])["mine"]
    kept = replace(results, gold=GoldKinds(results.gold.annotated),
                   systems=results.systems[results.systems["question_id"].isin(results.gold.annotated)])
    expected = compare_measures(kept, SETTINGS)["gold_recall"].difference.estimate
    assert metrics["difference"]["gold_recall"]["value"] == pytest.approx(expected, abs=1e-6)
    assert metrics["counts"]["questions"] == ENOUGH_ANNOTATED and metrics["all_gold"]["questions"] == total
    assert metrics["all_gold"]["difference"]["gold_recall"]["value"] == pytest.approx(
        compare_measures(results, SETTINGS)["gold_recall"].difference.estimate, abs=1e-6)
    gold = metrics["about"]["gold"]
    assert gold["pseudo_gold_questions"] == total - ENOUGH_ANNOTATED and gold["figures_count"] == "annotated alone"


@pytest.mark.parametrize(("annotated", "words"), [
    (ENOUGH_ANNOTATED - 1, f"annotated are fewer than {ENOUGH_ANNOTATED}"), (0, "annotated by nobody")])
def test_otherwise_all_gold_counts_and_says_so(annotated: int, words: str) -> None:
    results = mixed(annotated)
    report = report_of(results)
    metrics: Any = json.loads(report.files["metrics.json"])["mine"]
    assert metrics["counts"]["questions"] == results.questions and "all_gold" not in metrics
    assert words in report.files["report.md"] and words in report.files["tables/quality.csv"]


def test_every_table_and_figure_of_results_is_marked(tmp_path: Path) -> None:
    report = report_of(mixed(10), tmp_path)
    for name, text in report.files.items():
        if name.startswith("tables/") and Path(name).stem not in NO_RESULTS:
            head, *rows = list(csv.reader(io.StringIO(text)))
            assert {"read_by", "gold"} <= set(head), name
            for row in rows:
                cells = dict(zip(head, row, strict=True))
                assert "pseudo-gold of" in cells["gold"], name
                assert "LLM-free" in cells["read_by"], name
        if name.startswith("figures/"):
            assert "LLM-free" in text.split("</style>")[-1], name
            assert "training" in name or "pseudo-gold" in text, name
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", report.files["report.html"], re.S)
    assert captions and all(LLM_FREE.split(":")[0] in c for c in captions)
    lead = report.files["report.html"].split('<p class="lead">')[1].split("</p>")[0]
    tiles = report.files["report.html"].split('<div class="tiles">')[0][-300:]
    assert "pseudo-gold of" in lead and "pseudo-gold of" in tiles and "LLM-free" in tiles
    assert all("pseudo-gold of" in row["gold"] for row in report.rows)
    about: Any = json.loads(report.files["metrics.json"])["mine"]["about"]
    assert about["llm_free"] is True and "LLM-free" in about["read_by"]


def test_retrieval_says_its_corpus() -> None:
    rows = list(csv.DictReader(io.StringIO(report_of(mixed(60)).files["tables/retrieval.csv"])))
    assert rows and {r["corpus_scope"] for r in rows} == {"unified"}
    assert {r["corpus"] for r in rows} == {"items of mine"}


def test_a_footer_grows_the_drawing_and_is_escaped() -> None:
    svg = '<svg height="100pt" viewBox="0 0 200 100" width="200pt" xmlns="http://www.w3.org/2000/svg">\n<g/>\n</svg>\n'
    marked = with_footer(svg, ["read by <x> & y", "long " * 30])
    assert "&lt;x&gt; &amp; y" in marked and marked.count("<text") > 3 and marked.endswith("</svg>\n")
    height = float(re.search(r'viewBox="0 0 200 ([\d.]+)"', marked)[1])
    assert height > 130 and f'height="{height:g}pt"' in marked
    assert max(float(y) for y in re.findall(r'<text x="4" y="([\d.]+)"', marked)) < height


def test_seconds_stand_on_a_page_beside_the_report(tmp_path: Path) -> None:
    steps = {"query_encoding": 0.0123456, "search": 0.00098765, "node_encoding_cold": 1.23456,
             "node_scores_cached": 0.1, "nodes": 240.0, "questions": 3.0}
    (tmp_path / "answers-mine.json").write_text(json.dumps({"systems": [
        {"reader": "plain", "corpus_scope": "unified", "system": "canopy", "variant": "", "mean": 0.02, "median": 0.01,
         "p95": 0.3}], "retrieval": {"unified": steps}}))
    page = seconds_page(tmp_path, ["mine", "absent"])
    assert "12.3 ms" in page and "0.988 ms" in page and "1.23 s" in page and "canopy" in page and "search" in page
    assert "No seconds were measured" in seconds_page(tmp_path, ["absent"])
    report = report_of(mixed(60), tmp_path / "answers").files
    assert 'src="../../.canopy/timings/seconds.html"' in report["report.html"]
    assert "frame-src 'self' file:" in report["report.html"]
