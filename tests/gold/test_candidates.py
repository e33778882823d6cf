"""Which items that hold an answer are about the question."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.gold.candidates import NAME_WEIGHT, Coverage, Rule, ask, item_words
from canopy.gold.pseudo import describe, locate_answers
from canopy.items import Item, Question
from canopy.scoring.stems import stem

WORDS = ("pump", "valve", "leith", "brno", "failed", "failing", "the")


def text(name: str, words: str) -> Item:
    return Item(name, "t", "text", text=words)


def question(name: str, words: str, *answers: str) -> Question:
    return Question(name, "t", words, answers)


def located(questions: list[Question], items: list[Item], **options: int) -> tuple[dict[str, list[str]], Counter[str]]:
    counts: Counter[str] = Counter()
    chosen: dict[str, list[str]] = {}
    for a in locate_answers(questions, [], items, counts=counts, **options):
        chosen.setdefault(a.question_id, []).append(a.item_id)
    return chosen, counts


def test_an_answer_in_an_item_about_something_else_is_no_evidence() -> None:
    film = text("film", "The film with the pilot opened on July 10, 2017 in three cinemas.")
    other = [text(f"i{n}", f"A town of number {n} has a ship and a mill.") for n in range(9)]
    ask_crash = question("q", "when did the military plane crash in mississippi", "July 10, 2017")
    chosen, counts = located([ask_crash], [film, *other])
    assert not chosen and counts["uncovered"] == 1
    assert "1 whose answer occurs only in items about something else" in describe(counts, [])[0]
    page = text("page", "A military plane crashed in Mississippi on July 10, 2017.")
    assert located([ask_crash], [film, page, *other])[0] == {"q": ["page"]}


def test_the_limit_counts_items_that_the_question_has_narrowed() -> None:
    tickets = [text(f"t{n}", f"Ticket A{n:04d}: the pump in Leith failed. Kim Frost repaired it.") for n in range(300)]
    asked = [question(f"q{n}", f"Who repaired the pump of ticket A{n:04d}?", "Kim Frost") for n in (0, 17, 299)]
    chosen, counts = located(asked, tickets)
    assert chosen == {"q0": ["t0"], "q17": ["t17"], "q299": ["t299"]} and counts["located"] == 3
    vague = question("q", "Who repaired the pump in Leith?", "Kim Frost")
    assert located([vague], tickets)[1]["common"] == 1
    assert len(located([vague], tickets[:10])[0]["q"]) == 10
    assert not located([vague], tickets[:11])[0] and len(located([vague], tickets[:11], limit=11)[0]["q"]) == 11


def test_names_count_more_and_the_answer_does_not_count() -> None:
    weights = ask("Which mill in Leith did Ada Orr buy in 1911?", ["Bonnington Mill"])
    assert weights == {"leith": NAME_WEIGHT, "ada": NAME_WEIGHT, "orr": NAME_WEIGHT, "buy": 1.0, "1911": NAME_WEIGHT}
    assert ask("What is it?", []) == {} and ask("Ships sank", []) == {"ship": 1.0, "sank": 1.0}


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=8),
       st.dictionaries(st.sampled_from([stem(w) for w in WORDS] + ["absent"]), st.sampled_from([1.0, 2.0])))
def test_shares_are_those_of_a_plain_count(texts: list[list[str]], weights: dict[str, float]) -> None:
    items = [text(str(n), " ".join(words)) for n, words in enumerate(texts)]
    coverage = Coverage([weights])
    for item in items:
        coverage.add(item)
    stems = [{stem(w) for w in item_words(i)} for i in items]
    value = {w: x * math.log((len(items) + 1) / (sum(w in s for s in stems) + 0.5)) for w, x in weights.items()}
    total = sum(value.values())
    expected = [sum(v for w, v in value.items() if w in s) / total if total > 0 else 1.0 for s in stems]
    assert coverage.shares(weights, range(len(items))).tolist() == pytest.approx(expected)
    chosen = coverage.choose(weights, list(range(len(items))), Rule(0.3, 0.7))
    assert chosen == [n for n, x in enumerate(expected) if x >= max(0.3, 0.7 * max(expected)) - 1e-9]
