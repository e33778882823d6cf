import json
import re

import numpy as np
import pandas as pd
import pytest

from canopy.config import Evaluation
from canopy.evaluation.cases import Words
from canopy.evaluation.measurement import measure
from canopy.evaluation.systems import TUNED
from canopy.report.build import build_report
from canopy.report.cases.page import CasePage
from canopy.report.results import Results, Settings
from tests.digits import long_numbers, visible
from tests.evaluation.made_up import make_cases, make_gold, make_scores
from tests.report.made_up_answers import MODEL, PLAIN, make_answered

TABLES = ("decisions", "regions", "systems", "levels", "retrieval")


def _results(name="made <up>", seed=5, questions=30):
    cases, _, _ = make_cases(seed, questions=questions)
    rng = np.random.default_rng(seed)
    n = cases.layout.pairs
    words = Words(rng.integers(0, 4, n), rng.integers(1, 9, int(cases.layout.fragments[-1])),
                  cases.layout.fragments[:-1],
                  cases.layout.fragments[:-1] + 1, cases.pair_question)
    scores = {s: make_scores(cases, k, levels=50) for k, s in enumerate(("f0-one-pass", "f0-separate", TUNED))}
    tables = measure(cases, words, scores, Evaluation())
    tables.retrieval = [{"question_id": q, "k": k, "recall": float(rng.random() < k / 20), "rank": None}
                        for q in cases.questions for k in (1, 5, 20)]
    return Results(name, **{t: pd.DataFrame(getattr(tables, t)) for t in TABLES},
                   splits=pd.DataFrame(make_gold(seed, questions=questions)[1]),
                   benchmark_summary={"metrics": {"read": 31.0, "mapped": 28.0, "fallback": 1.0, "waiting": 1.0,
                                                  "quarantined": 1.0}},
                   gold_summary={"metrics": {"located": 40.0, "located_text": 40.0}, "tables": {
                       "coverage": [{"of": "text", "located": 40, "whole item": 3, "none": 0, "pseudo": 2}],
                       "expected": [{"what": "dev questions", "published": 7405, "source": "the release",
                                     "found": 30}]}},
                   split_summary={"metrics": {"questions_moved": 2.0}, "notes": [
                       "2 questions of made <up> changed side because they share gold with other: q1 (test to train)."],
                       "tables": {"shared": [{"with": "other", "gold items": 3, "questions": 0, "hang together": 5,
                                              "moved": 2}]}},
                   examples="../gold_spans/made%20up/examples.html")


CURVE = pd.DataFrame({"step": range(1, 41), "loss": np.linspace(3, 1, 40), "learning_rate": 1e-4})
TRAINING = {"base": "all-MiniLM-L6-v2", "mode": "one_pass", "training": {"rank": 8, "batch": 16}}


@pytest.fixture(scope="module")
def report():
    return build_report([_results()], TRAINING, CURVE, Settings(200, 13, 0.95))


@pytest.fixture(scope="module")
def files(report):
    return report.files


def test_the_page_needs_nothing_from_outside_and_escapes_what_it_shows(files):
    page = files["report.html"]
    assert "made &lt;up&gt;" in page and "made <up>" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    urls = set(re.findall(r"""(?:src|href)=["']([^"']*)""", page))
    assert all(u.startswith("#") or u in ("data:,", "../gold_spans/made%20up/examples.html") for u in urls), urls
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) <= namespaces
    assert "<script" not in page and "@import" not in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert anchor in ids


def test_the_same_input_gives_the_same_bytes(files):
    assert build_report([_results()], TRAINING, CURVE, Settings(200, 13, 0.95)).files == files


def test_metrics_hold_every_system_and_the_differences(files):
    told = json.loads(files["metrics.json"])["made <up>"]
    assert {"f0-one-pass", "f0-separate", "f_theta", "flat-leaf-m1", "any-level-m4", "whole-item",
            "gold-span"} <= set(told)
    for d in told["difference"].values():
        assert d["low"] <= d["value"] <= d["high"] and d["baseline"] in ("f0-one-pass", "f0-separate")
    best = max(told["f0-one-pass"]["decision_accuracy"], told["f0-separate"]["decision_accuracy"])
    gain = told["f_theta"]["decision_accuracy"] - best
    assert told["difference"]["decision_accuracy"]["value"] == pytest.approx(gain, abs=2e-6)
    assert told["whole-item"]["gold_recall"] == 1 and "decision_accuracy" not in told["whole-item"]
    assert set(told["retrieval"]) == {"recall_at_1", "recall_at_5", "recall_at_20"}


def test_rows_to_print_name_the_better_mode_first(report):
    rows = report.rows
    assert [r["system"] for r in rows][1] == TUNED and rows[0]["system"].startswith("f0-")
    assert "[" in rows[1]["decision accuracy"] and "%" in rows[0]["gold recall"]


def test_figures_are_files_of_their_own_and_the_tables_are_plain_csv(files):
    assert {"figures/decisions.svg", "figures/training.svg", "tables/selectors.csv", "report.md"} <= set(files)
    assert not [n for n in files if not re.fullmatch(r"[\w./-]+", n)], "a benchmark's name must be safe in a file name"
    lines = files["tables/selectors.csv"].splitlines()
    assert lines[0].startswith("read_by,corpus,benchmark,system,decision_accuracy,decision_accuracy_low")
    assert len(lines) == 1 + 11
    assert all(t.startswith("<?xml") and "</svg>" in t for n, t in files.items() if n.endswith(".svg"))


CORPUS = {"tables": {"items": [{"benchmark": "a", "modality": "text", "read": 9, "exact duplicates": 1,
                                "near duplicates": 2, "searched": 6}],
                     "folded": [{"benchmark": "a", "into": "b <i>", "exact": 1, "near": 2}]}}


def test_data_is_told_with_what_was_expected_and_where_examples_are():
    files = build_report([_results()], {"instances": 900.0}, None, Settings(100, 13, 0.95), CORPUS).files
    data = files["report.md"].split("## Data")[1].split("\n## ")[0]
    assert "| made <up> | 31 | 28 | 1 | 1 | 1 |" in data
    assert "add up" not in data
    assert "| text | 40 | 3 | 0 | 2 |" in data
    assert "| dev questions | 7,405 | the release | 30 |" in data
    assert "| training instances | 18,575 | the paper | 900 |" in data
    assert "| a | b <i> | 1 | 2 |" in data
    assert "[made <up>](../gold_spans/made%20up/examples.html)" in data
    assert "located text" not in data
    assert "b &lt;i&gt;" in files["report.html"]
    assert 'href="../gold_spans/made%20up/examples.html"' in files["report.html"]
    assert files["tables/folded.csv"] == "benchmark,into,exact,near\na,b <i>,1,2\n"
    assert files["tables/shared-gold.csv"].splitlines()[1] == "made <up>,other,3,0,5,2"
    moved = "2 questions of made &lt;up&gt; changed side because they share gold with other: q1 (test to train)."
    assert moved in files["report.html"] and "| questions moved | 2 |" in data
    short = _results()
    short.benchmark_summary["metrics"]["waiting"] = 0.0
    assert "do not add up for made <up>" in build_report([short], {}, None, Settings(100, 13, 0.95)).files["report.md"]


def test_a_benchmark_with_nothing_to_measure_is_told_not_dropped():
    empty = Results("bare", **{t: pd.DataFrame() for t in TABLES},
                    splits=pd.DataFrame(columns=["question_id", "split", "component"]),
                    benchmark_summary={"metrics": {"read": 3.0}})
    files = build_report([empty], {}, None, Settings(100, 1, 0.95)).files
    assert "bare" in files["report.html"] and json.loads(files["metrics.json"]) == {}


def _with_answers(folder, readers=(PLAIN,), **given):
    answered, _ = make_answered(folder, readers=readers, missing={"ircot": "needs <a server>"}, **given)
    return build_report([_results()], TRAINING, CURVE, Settings(200, 13, 0.95), CORPUS, [answered], [], {},
                        CasePage({}, 2, 30.0, {})).files


SMALL = {"systems": ("no-retrieval", "vanilla", "canopy", "canopy-exclude-seen"), "corpus_scopes": ("unified",)}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Every system, in every corpus."""
    return _with_answers(tmp_path_factory.mktemp("full"))


def _parts(page):
    return re.findall(r'<h2 id="([^"]+)"', page)


def test_answers_come_after_the_summary_and_what_was_not_run_is_last(full, tmp_path):
    files = full
    parts = _parts(files["report.html"])
    assert (parts[:3] == ["summary", "run",
                         "main"])
    assert parts[-1] == "not-run"
    assert parts.index("cost") < parts.index("quality") < parts.index("data") < parts.index("limits")
    assert {"cases.html", "tables/main-unified.csv", "tables/options-gold.csv", "figures/tokens-unified-made_up_.svg",
            "tables/not-run.csv"} <= set(files)
    assert "<a server>" not in files["report.html"] and "needs &lt;a server&gt;" in files["report.html"]
    first, second = (_with_answers(tmp_path / name, **SMALL) for name in ("a", "b"))
    assert first == second, "the same answers give the same bytes"
    told = json.loads(files["metrics.json"])["made <up>"]["answers"]
    assert set(told) == {"unified", "own", "gold"}
    assert ({"em", "f1", "gold_recall",
            "tokens"} <= set(told["unified"]["canopy"]))
    assert "canopy-exclude-seen" not in told["unified"]


def test_who_read_stands_on_every_table_of_answers(full, tmp_path):
    files = _with_answers(tmp_path / "a", (PLAIN, MODEL), **SMALL)
    for name, text in files.items():
        if name.startswith("tables/") and text.startswith("read_by"):
            readers = {line.split(",")[0] for line in text.splitlines()[1:]}
            assert len(readers) == 1, name
    second = files["tables/main-unified-reader2.csv"].splitlines()[1]
    assert second.startswith('"Qwen3-VL-8B, over an OpenAI-compatible server",unified corpus')
    assert "extractive reader &lt;LLM-free&gt;" in files["report.html"]
    assert "extractive reader <LLM-free>" not in re.sub(r"<svg.*?</svg>", "", files["report.html"], flags=re.S)
    assert "No language model took part" not in files["report.html"]
    assert "No language model took part" in full["report.html"]
    model = _with_answers(tmp_path / "c", (MODEL,), **SMALL)
    assert "LLM-free roles read" not in model["report.md"] and "LLM calls" in model["report.md"]


def test_without_answers_the_report_says_how_to_get_them(files):
    assert "canopy evaluate" in files["report.md"].split("## Answers")[1].split("\n## ")[0]
    assert "cases.html" not in files
    assert _parts(files["report.html"])[-1] == "not-run" and "hierarchy.branching" in files["report.md"]


def test_the_papers_own_figures_are_set_apart(files):
    cited = re.findall(r'<aside class="box cite">.*?</aside>', files["report.html"], flags=re.S)
    outside = re.sub(r'<aside class="box cite">.*?</aside>', "", files["report.html"], flags=re.S)
    assert len(cited) > 3
    assert all("not this run" in c
               for c in cited)
    assert "InternVL3.5-8B" not in outside
    assert "class=us" not in "".join(cited)
    quoted = [line for line in files["report.md"].splitlines() if "InternVL3.5-8B" in line]
    assert quoted and all(line.startswith(">") for line in quoted)


def test_every_anchor_and_id_of_a_full_page_holds(full):
    page = full["report.html"]
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) and all(a in ids
                                             for a in re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', page))
    assert page.count("<details") == page.count("</details>")
    assert page.count("<section") == page.count("</section>")
    assert "<script" not in page


@pytest.mark.parametrize("questions", [1, 2, 3])
def test_very_few_questions_still_give_a_report(questions):
    files = build_report([_results("tiny", seed=questions, questions=questions)], TRAINING, CURVE[:1],
                         Settings(100, 1, 0.95)).files
    assert "Fewer than 200 test questions in tiny" in files["report.md"] and "nan" not in files["metrics.json"].lower()


def test_items_without_decisions_and_words_are_reported_without_figures_that_need_them():
    r = _results("pictures", seed=2, questions=4)
    r.decisions = r.decisions.iloc[:0]
    for c in ("decisions", "decisions_held", "kept_tokens", "whole_tokens"):
        r.systems[c] = 0
    files = build_report([r], {}, None, Settings(100, 1, 0.95)).files
    assert "no decision could be measured" in files["report.html"] and "figures/tradeoff-pictures.svg" not in files


def test_no_number_that_people_read_is_long(full):
    training = {**TRAINING, "loss_first": 1.2345678901234567, "share": {"deep": 1 / 3},
                "values": "[0.3333333333333333]"}
    files = {**full, **build_report([_results()], training, CURVE, Settings(200, 13, 0.95)).files}
    for name in ("report.html", "report.md", "cases.html"):
        if name in files:
            assert long_numbers(visible(files[name])) == [], name
    for name, text in files.items():
        if name.startswith("figures/"):
            assert long_numbers(visible(text)) == [], name
