"""Answers located in items: what is found, what is too common, and that annotated questions stay as they are."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.config import Config
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.pseudo import describe, locate_answers
from canopy.items import Annotation, Cue, Item, Question, write_table

TEXT = Item("x/t", "x", "text", title="Ilmen",
            text="The harbour of Ilmen was dredged in 1911. It cost 1,452 crowns. The Red Pier stands there.")
TABLE = Item("x/b", "x", "table", header=("Port", "Depth"), rows=(("Ilmen", "9 metres"), ("Orlo", "7 metres"),
                                                                  ("Red pier", "")))
VIDEO = Item("x/v", "x", "video", duration=60.0, cues=(Cue(0, 4, "They sail to the"), Cue(4, 9, "Amber Coast at dawn"),
                                                       Cue(50, 70, "and home")),
             screen=(Cue(20, 30, "Ferry timetable"),))
IMAGE = Item("x/i", "x", "image", caption="A lighthouse", words="NO ENTRY beyond this point")
ITEMS = [TEXT, TABLE, VIDEO, IMAGE]


def ask(*answers, question="What?", details=()):
    return Question("x/q", "x", question, answers, details=details)


def located(*questions, annotations=(), items=ITEMS, **kinds):
    counts = Counter()
    found = locate_answers(questions, annotations, items, counts=counts, **kinds)
    assert all(a.pseudo for a in found)
    return [(a.item_id, a.unit, a.spans, a.group) for a in found], {k: n for k, n in counts.items() if n}


def test_each_modality_by_its_own_unit():
    assert located(ask("1911"))[0] == [("x/t", "chars", ((36, 40),), 0)]
    assert located(ask("9 metres"))[0] == [("x/b", "rows", ((0, 1),), 0)]
    assert located(ask("Amber Coast"))[0] == [("x/v", "seconds", ((4, 9),), 0)]
    assert located(ask("the Amber"))[0] == [("x/v", "seconds", ((0, 9),), 0)]
    assert located(ask("ferry timetable"))[0] == [("x/v", "seconds", ((20, 30),), 0)]
    assert located(ask("and home"))[0] == [("x/v", "seconds", ((50, 60),), 0)]
    assert located(ask("no entry"))[0] == [("x/i", "item", (), 0)]


def test_as_written_wins_and_else_case_and_punctuation_do_not_count():
    assert [f[0] for f in located(ask("Red Pier"))[0]] == ["x/t"]
    assert [f[0] for f in located(ask("RED-PIER"))[0]] == ["x/t", "x/b"]
    assert located(ask("a lighthouse"))[0] == [("x/i", "item", (), 0)]


@pytest.mark.parametrize(("answer", "found"), [("1452", False), ("1 452", True), ("1,452", True), ("1.452", False),
                                               ("452", False), ("191", False), ("harb", False),
                                               ("of Ilmen was", True), ("dredged cost", False)])
def test_whole_words_and_whole_numbers(answer, found):
    assert bool(located(ask(answer), items=[TEXT])[0]) is found


def test_too_common_too_short_and_absent_are_counted():
    many = [Item(f"x/{n}", "x", "text", text=f"Ilmen again, {n}.") for n in range(4)]
    assert located(ask("Ilmen"), items=many, limit=3) == ([], {"common": 1})
    assert len(located(ask("Ilmen"), items=many, limit=4)[0]) == 4
    assert located(ask("yes"), ask("7"), ask("No."), ask("the"), ask("B")) == ([], {"short": 5})
    assert located(ask("Atlantis"), ask()) == ([], {"absent": 1, "unanswered": 1})


def test_items_that_share_little_with_the_question_are_left_out():
    right = Item("x/r", "x", "text", text="The old ferry to Orlo sank in 1911.")
    wrong = Item("x/w", "x", "text", text="Bread was dear in 1911.")
    other = [Item(f"x/{n}", "x", "text", text="Bread and ferry and old tales.") for n in range(3)]
    assert [f[0] for f in located(ask("1911", question="When did the ferry to Orlo sink?"),
                                  items=[wrong, right, *other])[0]] == ["x/r"]


def test_aliases_are_alternatives_and_parts_of_one_answer_are_not():
    assert [f[0] for f in located(ask("1911", "no entry"))[0]] == ["x/t"]  # as written, before the image's other case
    assert [(f[0], f[2]) for f in located(ask("Ilmen", "Orlo",
                                              details=(("answer_type",
                                                        "multi-span"),)))[0]] == [("x/b", ((0, 1), (1, 2)))]
    assert located(ask("Ilmen", "Atlantis", details=(("answer_type", "multi-span"),)))[1] == {"absent": 1}


def test_annotated_questions_are_not_touched():
    assert located(ask("1911"), annotations=[Annotation("x/q", "x/b", "item")]) == ([], {})


def test_pseudo_gold_stays_marked_in_the_gold_rows(tmp_path):
    questions = [Question("x/p", "x", "When?", ("1911",)), Question("x/a", "x", "Where?", ("there",))]
    annotations = [Annotation("x/a", "x/t", "chars", ((64, 90),))]
    annotations += locate_answers(questions, annotations, ITEMS)
    rows, lost = map_annotations(annotations, {i.id: i for i in ITEMS}, 30.0)
    assert {r["question_id"]: (r["pseudo"], r["fragments"]) for r in rows} == {"x/a": (False, [2]),
                                                                               "x/p": (True, [0])} and not lost
    assert write_table(tmp_path / "gold.parquet", rows, GOLD_SCHEMA)["pseudo"].to_pylist() == [False, True]


def test_what_is_said_about_it():
    found = locate_answers([ask("1911")], [], ITEMS, counts=(counts := Counter({"absent": 2, "short": 1})))
    assert describe(counts, found) == ["pseudo-gold: 1 questions have evidence where their answer occurs (1 items), "
                                       "found and not annotated; 2 whose answer "
                                       "occurs in no item, 1 whose answer is too short to look for (yes, no, a letter) "
                                       "have none."]
    assert describe(Counter(unanswered=3), []) == [] == describe(Counter(), [])


def test_it_can_be_switched_off():
    assert Config.model_validate({"benchmarks": {"x": {"adapter": "native", "path": "."}},
                                  "ingest": {"pseudo_gold": False}}).ingest.pseudo_gold is False


WORDS = st.lists(st.sampled_from(["red", "pier", "Ilmen", "1911", "the", "—", "é", "ß", "9,5"]),
                 max_size=12).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=3))
def test_what_is_found_holds_the_answer(texts, answers):
    items = {f"x/{n}": Item(f"x/{n}", "x", "text", text=t) for n, t in enumerate(texts)}
    for a in locate_answers([ask(*answers)], [], items.values()):
        text = items[a.item_id].text
        for start, end in a.spans:
            said = text[int(start):int(end)].casefold().split()
            assert any([w for w in x.casefold().split() if w not in ("the", "—")]
                       == [w for w in said if w not in ("the", "—")] for x in answers)
