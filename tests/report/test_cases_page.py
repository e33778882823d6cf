"""The page of cases and the case studies: which questions, what is drawn of them, and that nothing of it can break the
page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.corpus.folds import Folds
from canopy.hierarchy.tree import build_tree
from canopy.items import Item, Question, write_items, write_questions
from canopy.refinement import refine
from canopy.report.cases.choice import Choice, choose, find_studies
from canopy.report.cases.forest import judged_nodes
from canopy.report.cases.model import DRAWN, FINDS, LOSES, Case
from canopy.report.cases.page import CasePage
from canopy.report.cases.reading import read_case_items, read_cases
from canopy.report.markdown import section_markdown
from canopy.report.page import section_html
from canopy.report.tables.table_13_14_case_studies import case_sections
from canopy.selection.layout import lay_out
from canopy.selection.outcomes import judge
from tests.report.made_up_answers import make_answered

SCRIPT = "<script>alert(1)</script>"


@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 99), st.sampled_from(["parent", "lookahead"]))
def test_the_forest_is_what_the_rule_did(count: int, branching: int, seed: int, rule: str) -> None:
    tree = build_tree(count, branching)
    scores = (np.random.default_rng(seed).integers(0, 6, len(tree)) / 6).astype(np.float32)
    kept = refine(tree, scores, rule=rule)
    nodes = judged_nodes(count, branching, [(int(tree.lo[n]), int(tree.hi[n])) for n in np.flatnonzero(kept)])
    found = {(n.lo, n.hi): n for n in nodes}
    assert len(found) == len(nodes)
    regions = {(int(tree.lo[n]), int(tree.hi[n])) for n in np.flatnonzero(kept)}
    assert {k for k, n in found.items() if n.state == "kept"} == regions
    place = {(int(lo), int(hi)): int(d) for lo, hi, d in zip(tree.lo, tree.hi, tree.depth, strict=True)}
    assert all(place[k] == n.depth for k, n in found.items())
    if rule == "parent":
        told = judge(lay_out([count], branching), scores)
        counts = [int(x.sum()) for x in (told.kept, told.split, told.dropped)]
        assert [sum(n.state == s for n in nodes) for s in ("kept", "split", "dropped")] == counts


def test_regions_that_are_no_nodes_are_taken_apart() -> None:
    states = {(n.lo, n.hi): n.state for n in judged_nodes(8, 2, [(1, 4)])}
    assert states[0, 8] == states[0, 4] == states[0, 2] == "split"
    assert (states[1, 2] == states[2,
                                  4] == "kept")
    assert (states[4,
                  8] == states[0, 1] == "dropped")
    assert [n.state for n in judged_nodes(5, 2, [])] == ["dropped"]


def _cases(tmp_path: Path, questions: int = 6, **given: Any) -> tuple[list[Case], dict[str, Item]]:
    answered, _ = make_answered(tmp_path / "answers", "made <up>", questions=questions, **given)
    names = [f"q{n}" for n in range(questions)]
    write_questions(tmp_path / "benchmark" / "questions.parquet",
                    [Question(q, "b", f"{SCRIPT} {q} \u202egnp.exe?", ("<b>yes</b>",), details=(("A", "<u>one</u>"),))
                     for q in names])
    text = "One is here. Two is <em>here</em>. Three & four. Five \x07 is gold. Six ends it."
    items = [Item(f"i{q}", "b", "text", f"<h1>{q}</h1>", text=text) for q in names]
    write_items(tmp_path / "corpus" / "items.parquet", items)
    (tmp_path / "gold").mkdir()
    pq.write_table(pa.table({"question_id": names, "item_id": [f"i{q}" for q in names],
                             "fragments": [[3, 4]] * questions}), tmp_path / "gold" / "gold.parquet")
    chosen = choose(answered, names, 3, 13)
    cases = read_cases(tmp_path / "answers", tmp_path / "benchmark", tmp_path / "gold", answered, chosen, Folds())
    return cases, read_case_items(tmp_path / "corpus", [], cases)


def test_nothing_that_is_shown_can_break_the_page(tmp_path: Path) -> None:
    cases, items = _cases(tmp_path)
    page = CasePage(items, 2, 30.0, {}).render(cases)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<h1>q" not in page
    assert "<em>here" not in page
    assert "\x07" not in page
    assert "\u202e" not in page
    assert "said <b>anew" not in page and "rewritten" in page and "<u>?" not in page and "<i>canopy" not in page
    addresses = {"data:,", "report.html", *(f"#case{n}" for n in range(1, 20))}
    assert set(re.findall(r"""(?:src|href)=["']([^"']*)""", page)) <= addresses
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) and all(a in ids for a in re.findall(r'href="#([^"]+)"', page))
    assert page == CasePage(items, 2, 30.0, {}).render(cases)
    assert "1 of 2 gold sentences kept" in page
    assert "gone: the item is not" not in page, "only what is new in a round has a forest"
    assert "LLM-free" in page and "unified corpus" in page
    assert page.count("<section") == page.count("</section>")
    assert page.count("<details") == page.count("</details>")
    assert page.count("<article") == page.count("</article>")


def test_cases_are_drawn_by_the_seed_and_studies_come_first(tmp_path: Path) -> None:
    answered, rows = make_answered(tmp_path / "a", questions=40, seed=3)
    ids = [f"q{n}" for n in range(40)]
    chosen = choose(answered, ids, 5, 13)
    assert chosen == choose(answered, list(reversed(ids)), 5, 13)
    assert ({c.question_id for c in chosen} != {c.question_id
                                               for c in choose(answered, ids, 5, 14)})
    studies = {c.why: c.question_id for c in chosen if c.why != DRAWN}
    assert studies == {v: k for k, v in ((q, w) for w,
                                         q in find_studies(answered, 13).items())} and set(studies) == {FINDS, LOSES}
    by = {(r["system"], r["question_id"]): r for r in rows if r["corpus_scope"] == "unified" and not r["variant"]}
    q = studies[FINDS]
    assert by["canopy", q]["rounds"] > 1
    assert (by["canopy", q]["gold_items_found"] > by["canopy-no-iteration",
                                                    q]["gold_items_found"])
    assert by["canopy", q]["em"] == 1
    q = studies[LOSES]
    assert by["canopy", q]["gold_recall"] < by["vanilla", q]["gold_recall"]
    assert (by["canopy",
              q]["gold_items_found"] == by["canopy", q]["gold_items"])
    assert by["canopy", q]["em"] < by["vanilla", q]["em"]


def test_the_studies_of_the_report_say_who_read_and_what_happened(tmp_path: Path) -> None:
    cases, items = _cases(tmp_path, 40)
    sections = case_sections(cases, items)
    assert [s.key for s in sections] == ["cases", "case-1", "case-2"]
    assert ([s.places
            for s in sections[1:]] == [("Table 13",),
                                       ("Table 14",)])
    for s in sections[1:]:
        assert "<script" not in section_html(s)
        assert "extractive reader <LLM-free>" in section_markdown(s)
        assert [t.key.rpartition("-")[2] for t in s.tables] == ["rounds", "answers"]
        assert s.tables[0].rows[0]["kept"].endswith(": 1, 4")
    assert case_sections([], {}) == []
    lone = case_sections([c for c in cases if c.why != FINDS], items)
    assert "No question of this run shows it." in section_markdown(lone[1])


@pytest.mark.parametrize("given", [{"systems": ("vanilla",)}, {"systems": ("canopy",)}, {"corpus_scopes": ("gold",)},
                                   {"questions": 0}, {"systems": ()}])
def test_missing_systems_and_settings_leave_less_and_no_trouble(tmp_path: Path, given: dict[str, Any]) -> None:
    cases, items = _cases(tmp_path, **given)
    page = CasePage({} if given.get("systems") == ("canopy",) else items, 2, 30.0, {}).render(cases)
    assert "<main>" in page and case_sections(cases, items) is not None
    assert ("nothing to show" in page) == (not cases)


def test_gold_of_a_folded_item_is_marked_on_its_representative(tmp_path: Path) -> None:
    answered, _ = make_answered(tmp_path / "answers", questions=1)
    write_questions(tmp_path / "questions.parquet", [Question("q0", "b", "?")])
    pq.write_table(pa.table({"question_id": ["q0", "q0"], "item_id": ["copy", "close"], "fragments": [[1], [2]]}),
                   tmp_path / "gold.parquet")
    (case,) = read_cases(tmp_path / "answers", tmp_path, tmp_path, answered, [Choice("q0")],
                         Folds(exact={"copy": "iq0"}, near={"close": "other"}))
    assert case.gold == {"iq0": frozenset({1})}


def test_a_long_item_is_cut_short_but_never_its_gold(tmp_path: Path) -> None:
    item = Item("iq0", "b", "table", "t", header=("n",), rows=tuple((f"row {n} end",) for n in range(3000)))
    answered, _ = make_answered(tmp_path / "a", questions=1, systems=("canopy",))
    write_questions(tmp_path / "questions.parquet", [Question("q0", "b", "?")])
    pq.write_table(pa.table({"question_id": ["q0"], "item_id": ["iq0"], "fragments": [[2900]]}),
                   tmp_path / "gold.parquet")
    (case,) = read_cases(tmp_path / "a", tmp_path, tmp_path, answered, [Choice("q0")], Folds())
    for step in case.answers[0].steps:
        step["kept"] = [{"item_id": "iq0", "lo": 0, "hi": 2500, "score": 0.5, "depth": 1}]
    page = CasePage({"iq0": item}, 2, 30.0, {}).render([case])
    assert "2,460" not in page
    assert "[2460 rows kept, not shown]" in page
    assert "[400 rows dropped]" in page
    assert "row 2900 end" in page
    assert "row 2901 end" not in page
    assert len(page) < 60_000
