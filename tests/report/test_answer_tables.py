"""The tables of answers, each number recomputed from the rows in another way."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canopy.errors import DataError
from canopy.report.answered import read_answered
from canopy.report.build import answer_sections
from canopy.report.choices import main_systems
from canopy.report.groups import CANOPY, VANILLA, build_views
from canopy.report.markdown import section_markdown, table_markdown
from canopy.report.page import section_html, table_html
from canopy.report.paper import PUBLISHED, find_published
from canopy.report.results import NOBODY, Settings
from canopy.report.systems_table import systems_table
from canopy.report.tables.compression import compression_section
from canopy.report.tables.cost import cost_table, notes_table
from canopy.report.tables.not_run import missing_table, unfilled_table
from canopy.report.tables.options import judge, options_table, winners
from canopy.report.values import to_csv
from canopy.scoring.bootstrap import Interval, Paired, paired_bootstrap, ratio_intervals
from tests.report.made_up_answers import MODEL, PLAIN, make_answered, write_answers

SETTINGS = Settings(200, 13, 0.95)


def pick(rows: list[dict[str, Any]], system: str, corpus_scope: str = "unified",
         variant: str = "") -> list[dict[str, Any]]:
    cell = (system, corpus_scope, variant)
    mine = [r for r in rows if (r["system"], r["corpus_scope"], r["variant"]) == cell]
    return sorted(mine, key=lambda r: r["question_id"])


def same(a: Interval | None, b: Interval) -> bool:
    return a is not None and np.allclose([a.estimate, a.low, a.high], [b.estimate, b.low, b.high], equal_nan=True)


def test_means_differences_and_changes_are_those_of_the_rows(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a")
    view = build_views([answered], SETTINGS)[0]
    table = systems_table(view, "main", "Main", main_systems, VANILLA, beside=("duplicate_share",))
    told: Mapping[str, dict[str, Any]] = {r["system"]: r for r in table.rows}
    assert list(told) == ["no-retrieval", "vanilla", "universal-rag", "canopy", "canopy-lookahead", "canopy-routed"]
    mine, whole = pick(rows, "canopy"), pick(rows, "vanilla")
    em, other = (np.array([r["em"] for r in of]) for of in (mine, whole))
    assert same(told["canopy"]["em"], ratio_intervals([(em, np.ones(len(em)))], 200, 13, 0.95)[0])
    assert same(told["canopy"]["difference"], paired_bootstrap(em, other, 200, 13, 0.95))
    kept = [r["answer_in_evidence"] for r in mine if r["answer_in_evidence"] is not None]
    assert told["canopy"]["answer_in_evidence"].estimate == pytest.approx(sum(kept) / len(kept))
    assert len(kept) == len(mine) - 1
    ours, theirs = (sum(r["tokens"] for r in of) for of in (mine, whole))
    assert told["canopy"]["change_tokens"].estimate == pytest.approx(ours / theirs - 1)
    later = sum(r["follow_up_retrieved"] for r in mine)
    assert told["canopy"]["duplicate_share"].estimate == pytest.approx(sum(r["duplicates"] for r in mine) / later)
    spent = {r["system"]: r for r in cost_table(view).rows}
    assert spent["canopy"]["pruned"].estimate == pytest.approx(7 / 8)
    assert spent["canopy"]["kept_share"].estimate == pytest.approx(np.mean([r["tokens"] for r in mine]) / 1000)
    assert told["vanilla"].get("difference") is None and "calls" not in {c.key for c in table.columns}


def test_one_resampling_serves_all_systems() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(40), rng.random(40)
    b[:5] = np.nan
    pairs = {n: (np.nan_to_num(x), np.isfinite(x).astype(float)) for n, x in (("a", a), ("b", b))}
    both = Paired(pairs, 300, 7, 0.9)
    assert same(both.value("a"), ratio_intervals([pairs["a"]], 300, 7, 0.9)[0])
    assert same(both.difference("a", "b"), paired_bootstrap(a, b, 300, 7, 0.9))
    twice = Paired({"a": pairs["a"], "2a": (2 * pairs["a"][0], pairs["a"][1])}, 300, 7)
    assert twice.change("2a", "a").low == pytest.approx(1) and twice.change("2a", "a").high == pytest.approx(1)
    nothing = Paired({"a": (np.zeros(0), np.zeros(0))}, 100, 7)
    assert math.isnan(nothing.value("a").estimate) and "b" not in nothing


def test_seeds_are_averaged_and_never_counted_twice(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a", seeds=(1, 2), questions=5, systems=("vanilla", "canopy"))
    group = build_views([answered], SETTINGS)[0].groups[0]
    assert group.questions == 5
    assert group.value(CANOPY, "em").estimate == pytest.approx(np.mean([r["em"] for r in pick(rows, "canopy")]))
    noted = notes_table(build_views([answered], SETTINGS)[0]).rows
    assert [(r["system"], r["note"], r["count"]) for r in noted] == [("canopy", "stopped <early>", 10)]


def test_corpora_and_readers_have_tables_of_their_own(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a", readers=(PLAIN, MODEL),
                                   systems=("vanilla", "canopy", "canopy-lookahead", "canopy-no-projection",
                                            "gold-item"))
    views = build_views([answered], SETTINGS)
    sections = answer_sections(views)
    assert [(v.reader, v.corpus_scope) for v in views] == [(r, s) for r in ("extractive", "qwen")
                                                           for s in ("unified", "own", "gold")]
    keys = [t.key for s in sections for t in s.tables]
    assert len(keys) == len(set(keys))
    for part in sections:
        for t in part.tables:
            assert set(t.about) == {"read by", "corpus"}, t.key
            lines = list(csv.DictReader(io.StringIO(to_csv(t))))
            assert {line["corpus"] for line in lines} == {t.about["corpus"]}
            assert ({line["read_by"]
                    for line in lines} == {t.about["read by"]})
    assert "LLM-free" in views[0].about["read by"]
    assert "Qwen3-VL-8B" in views[3].about["read by"]
    assert "LLM-free" not in views[3].about["read by"]
    own = systems_table(views[1], "main", "Main", main_systems, VANILLA)
    vanilla = [r["em"] for r in pick(rows, "vanilla", "own") if r["reader"] == "extractive"]
    assert own.rows[0]["em"].estimate == pytest.approx(np.mean(vanilla))
    first = [c.key for c in systems_table(views[3], "main", "Main", main_systems, VANILLA).columns]
    assert first.index("em") < first.index("gold_recall") and "calls" in {c.key for c in cost_table(views[3]).columns}
    plain = [c.key for c in own.columns]
    assert plain.index("gold_recall") < plain.index("em"), "measures that need no reader lead"


def test_a_benchmarks_only_corpus_is_told_once(tmp_path: Path) -> None:
    answered, _ = make_answered(tmp_path / "a", own_is_unified=True)
    assert [v.corpus_scope for v in build_views([answered], SETTINGS)] == ["unified", "gold"]


def test_the_best_is_signed_and_so_is_what_cannot_be_told_from_it(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a", questions=30)
    view = build_views([answered], SETTINGS)[0]
    table = systems_table(view, "main", "Main", main_systems, VANILLA)
    values = {r["system"]: r["em"].estimate for r in table.rows}
    best = max(values, key=lambda s: values[s])
    signs = {r["system"]: r.get("_mark_em") for r in table.rows}
    assert {s for s, sign in signs.items() if sign == "★"} == {s for s in values if values[s] == values[best]}
    for system, sign in signs.items():
        if values[system] != values[best]:
            d = paired_bootstrap(*(np.array([r["em"] for r in pick(rows, s)]) for s in (system, best)), 200, 13, 0.95)
            assert sign == ("≈" if d.low <= 0 <= d.high else None)
    assert "★" in table_html(table) and "★" in table_markdown(table) and "not told apart" in table_markdown(table)
    gold = next(v for v in build_views([answered], SETTINGS) if v.corpus_scope == "gold")
    selection = next(t for s in answer_sections([gold]) if s.key == "selection" for t in s.tables)
    assert all("_mark_em" not in r for r in selection.rows
               if r["system"] in ("gold-item", "gold-span")), "oracles do not compete"


def test_the_papers_figures_stand_beside_ours_and_never_among_them(tmp_path: Path) -> None:
    few = ("no-retrieval", "vanilla", "canopy", "canopy-routed", "canopy-f0")
    hotpot, _ = make_answered(tmp_path / "a", "my hotpot", adapter="hotpotqa", systems=few)
    other, _ = make_answered(tmp_path / "b", "starter", adapter="starter", seed=2, systems=few)
    sections = answer_sections(build_views([hotpot, other], SETTINGS))
    main = {t.about["corpus"]: t for s in sections if s.key == "main" for t in s.tables}
    unified, own = main["unified corpus"], main["the benchmark's own corpus"]
    rows = {(r["benchmark"], r["system"]): r for r in unified.rows}
    assert rows["my hotpot", "canopy"]["paper_em"] == 0.496
    assert (rows["my hotpot",
                "canopy"]["paper_tokens"] == 1816)
    assert rows["my hotpot", "vanilla"]["paper_f1"] == 0.497
    assert not any(k.startswith("paper") for r in unified.rows for k in r
                   if r["benchmark"] != "my hotpot"), "another benchmark, and a mean over others, have none"
    assert not any(k.startswith("paper") for r in own.rows for k in r), "the paper's are of the unified corpus"
    page = table_html(unified)
    assert page.count("49.6%") == 1 and 'class="n paper"><span>49.6%' in page and "the paper: EM" in page
    lines = list(csv.DictReader(io.StringIO(to_csv(unified))))
    assert {line["paper_em"] for line in lines if line["system"] == "canopy"} == {"0.496", ""}
    assert all(line["em"] != "0.496" for line in lines)
    for part in sections:
        for t in part.tables:
            for r in t.rows:
                assert all(isinstance(v, Interval) or v is None for k, v in r.items()
                           if k in ("em", "f1", "gold_recall", "tokens", "difference")), "ours all have intervals"


def test_means_weigh_benchmarks_alike_and_need_all_of_them(tmp_path: Path) -> None:
    a, rows_a = make_answered(tmp_path / "a", "a", questions=8, systems=("vanilla", "canopy", "canopy-routed"))
    b, rows_b = make_answered(tmp_path / "b", "b", adapter="lvbench", primary=("accuracy",), questions=20, seed=4,
                              systems=("vanilla", "canopy"))
    view = build_views([a, b], SETTINGS)[0]
    mean = {r["system"]: r for r in systems_table(view, "main", "Main", main_systems, VANILLA, mean=True).rows
            if r["benchmark"] == "mean of 2 benchmarks"}
    assert set(mean) == {"vanilla", "canopy"}
    expected = {s: (np.mean([r["em"] for r in pick(rows_a, s)]) + np.mean([r["accuracy"] for r in pick(rows_b, s)])) / 2
                for s in mean}
    assert mean["canopy"]["em"].estimate == pytest.approx(expected["canopy"])
    assert mean["canopy"]["difference"].estimate == pytest.approx(expected["canopy"] - expected["vanilla"])
    difference = mean["canopy"]["difference"]
    assert difference.low <= difference.estimate <= difference.high


UP, DOWN, OPEN = Interval(.1, .05, .2), Interval(-.1, -.2, -.05), Interval(0, -.1, .1)
MORE, LESS = Interval(.3, .2, .4), Interval(-.3, -.4, -.2)


@pytest.mark.parametrize(("quality", "tokens", "verdict"), [
    ([UP, OPEN], LESS, "wins"), ([UP, None], OPEN, "wins"), ([UP, OPEN], MORE, "better, for more tokens"),
    ([OPEN, OPEN], LESS, "wins: fewer tokens"),
    ([OPEN], MORE, "more tokens, nothing shown for them"), ([OPEN], None, "no difference shown"),
    ([DOWN, OPEN], LESS, "cheaper, but worse"), ([DOWN], OPEN, "loses"),
    ([UP, DOWN], LESS, "trade-off"), ([None, None], None, "no difference shown")])
def test_options_are_judged_by_intervals_alone(quality: list[Interval | None], tokens: Interval | None,
                                               verdict: str) -> None:
    assert judge(quality, tokens) == verdict


def test_options_are_those_that_ran_and_are_no_component(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a")
    view = build_views([answered], SETTINGS)[0]
    table = options_table(view)
    assert [r["system"] for r in table.rows] == ["canopy-lookahead", "canopy-exclude-seen"]
    for r in table.rows:
        d = paired_bootstrap(*(np.array([x["gold_recall"] for x in pick(rows, s)]) for s in (r["system"], "canopy")),
                             200, 13, 0.95)
        assert same(r["difference_gold_recall"], d)
        assert r["verdict"] == judge([r["difference"], r["difference_gold_recall"], r["difference_answer_in_evidence"]],
                                     r["change_tokens"])
    names = []
    for r in table.rows:
        if r["verdict"].startswith("wins"):
            names.append(r["system"].removeprefix("canopy-") + (" (fewer tokens)" if r["verdict"] != "wins" else ""))
    assert winners(view) == ({"made <up>": names} if names else {})


def test_a_system_that_rewrites_its_evidence_has_no_gold_recall(tmp_path: Path) -> None:
    answered, _ = make_answered(tmp_path / "a")
    group = build_views([answered], SETTINGS)[0].groups[0]
    assert (group.value(("recomp-abstractive", ""),
                       "gold_recall") is None)
    assert (group.difference(("recomp-abstractive", ""), CANOPY,
                            "gold_recall") is None)
    assert group.value(("recomp-abstractive", ""), "em") is not None


def test_what_did_not_run_is_told_with_why(tmp_path: Path) -> None:
    a, _ = make_answered(tmp_path / "a", "a", missing={"ircot": "needs a server: set <it>"},
                         systems=("vanilla", "canopy"))
    b, _ = make_answered(tmp_path / "b", "b", missing={"ircot": "needs a server: set <it>"},
                         systems=("vanilla", "canopy"))
    (row,) = missing_table([a, b]).rows
    assert row["system"] == "ircot" and row["benchmarks"] == "a, b" and row["why"] == "needs a server: set <it>"
    assert "set &lt;it&gt;" in table_html(missing_table([a]))
    left = {r["place"]: r["why"] for r in unfilled_table(["main", "components"], [a]).rows}
    assert "store.branchings" in left["Table 9"] and "Table 2" not in left and "answers.sweep_k" in left["Table 10"]


def test_sizes_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    answered, _ = make_answered(tmp_path / "a")
    sections = {s.key: s for s in answer_sections(build_views([answered], SETTINGS))}
    systems = {key: [r["system"] for r in sections[key].tables[0].rows] for key in ("by-k", "sensitivity")}
    by_k = ["canopy", "canopy k=5", "canopy k=20", "vanilla", "vanilla k=5", "vanilla k=20"]
    assert systems == {"by-k": by_k, "sensitivity": ["canopy", "canopy k=5", "canopy k=20", "canopy R=1"]}
    compressed = [r["system"] for r in sections["compressors"].tables[0].rows]
    assert compressed[-3:] == ["flat-leaf-share", "flat-leaf-share budget=0.1", "flat-leaf-share budget=0.5"]
    assert "canopy k=5" not in compressed
    assert "aks M=4" in compressed
    assert "branching" not in sections and sections["by-k"].figures


def test_out_of_domain_is_a_table_of_its_own_that_tells_what_was_trained_on(tmp_path: Path) -> None:
    a, _ = make_answered(tmp_path / "a", "mine", adapter="two_wiki", systems=("vanilla", "canopy"),
                         corpus_scopes=("unified",))
    sections = {s.key: s for s in answer_sections(build_views([a], SETTINGS))}
    assert "main" not in sections and "trained on questions of mine too" in section_markdown(sections["out-of-domain"])
    row = next(r for r in sections["out-of-domain"].tables[0].rows if r["system"] == "canopy")
    assert (row["paper_em"], row["paper_f1"]) == (0.51, 0.602)
    a.trained = False
    sections = {s.key: s for s in answer_sections(build_views([a], SETTINGS))}
    assert "trained on questions" not in section_markdown(sections["out-of-domain"])


@pytest.mark.parametrize("systems", [(), ("vanilla",), ("no-retrieval", "canopy"), ("gold-item",)])
def test_few_systems_and_no_questions_make_no_trouble(tmp_path: Path, systems: tuple[str, ...]) -> None:
    for questions in (0, 1, 3):
        answered, _ = make_answered(tmp_path / str(questions), questions=questions, systems=systems)
        for part in answer_sections(build_views([answered], SETTINGS)):
            assert "nan" not in section_markdown(part).lower().replace("nanosec", "")


def test_answers_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert read_answered(tmp_path / "none", "x") is None
    write_answers(tmp_path / "a", questions=1, systems=("vanilla",))
    (tmp_path / "a" / "answers.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match="canopy evaluate"):
        read_answered(tmp_path / "a", "x")
    (tmp_path / "a" / "systems.json").write_text("{")
    with pytest.raises(DataError, match="canopy evaluate"):
        read_answered(tmp_path / "a", "x")


def test_the_papers_main_table_is_the_papers() -> None:
    expected = {"no-retrieval": 20.4, "vanilla": 32.9, "universal-rag": 32.1, "ircot": 32.7, "canopy": 39.4,
                "canopy-routed": 38.3}
    for system, mean in expected.items():
        values = [find_published(("Table 1",), b, system) for b in ("NQ", "HotpotQA", "OTT-QA", "MMQA", "LVBench")]
        given = np.mean([100 * v.get("em", v.get("accuracy", 0)) for v in values])
        assert given == pytest.approx(mean, abs=0.06), "the rows must give the means that it prints"
    assert all(0 <= p.value <= 1 for p in PUBLISHED if p.measure != "tokens")
    assert (find_published(("Table 1",),
                          "HotpotQA",
                          "canopy-lookahead") == {})


def test_compression_alone_is_shown_as_it_was_summarised(tmp_path: Path) -> None:
    write_answers(tmp_path / "a", systems=("vanilla",), questions=2)
    curves = [{"corpus_scope": "own", "compressor": c, "scorer": "f_theta", "size": size, "questions": 2,
               **{k: v for m, x in (("tokens", 100.0 * (size or 1)), ("gold_recall", 0.5), (
        "answer_in_evidence", None)) for k, v in ((m, x), (f"{m}_low", x), (f"{m}_high", x))}} for c,
        sizes in (("canopy", (None,)), ("flat-leaf", (1.0, 2.0))) for size in sizes]
    equal = [{"corpus_scope": "own", "reference": "canopy", "compressor": "flat-leaf", "scorer": "f_theta",
              "measure": "gold_recall", "questions": 2, "tokens": 100.0, "ours": 0.5,
              "theirs": 0.25, "difference": 0.25, "low": 0.1, "high": 0.4, "reached": True}]
    equal.append({**equal[0], "compressor": "flat-all", "reached": False})
    (tmp_path / "a" / "compression.json").write_text(json.dumps({"curves": curves, "equal_tokens": equal}))
    answered = read_answered(tmp_path / "a", "x <y>")
    assert answered is not None
    part = compression_section([answered])
    assert part is not None
    assert "+25.0" in section_html(part)
    assert "[+10.0, +40.0]" in section_markdown(part)
    assert (part.tables[0].about == {"read by": NOBODY,
                 "corpus": "the benchmark's own corpus"})
    assert [r["reached"] for r in part.tables[0].rows] == ["", "no"]
    assert [d.name for d in part.figures] == ["compression-own-x_y_"] and "<y>" not in section_html(part)
    answered.compression = None
    assert compression_section([answered]) is None
