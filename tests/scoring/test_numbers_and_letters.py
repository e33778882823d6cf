"""Number words, bracketed amounts and option letters in replies."""

from __future__ import annotations

import pytest

from canopy.items import Question
from canopy.scoring import multimodalqa, tat_qa
from canopy.scoring.number_words import number_of
from canopy.scoring.options import parse_option

OPTIONS = {"A": "a red car", "B": "blue sky", "C": "the sea"}


@pytest.mark.parametrize(("text", "number"), [
    ("twenty one", 21), ("Twenty-One", 21), ("one hundred and five", 105), ("two thousand three hundred twelve", 2312),
    ("nine point five", 9.5), ("apples", None), ("1911", 1911), ("two thousand thousand", None), ("million", 1e6),
    ("million one", None), ("one million two billion", None), ("point", 0), ("two point apples", 2)])
def test_number_words_as_word2number_reads_them(text: str, number: float | None) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u202f", "\u3000", "\t"])
def test_number_words_joined_by_an_odd_space_are_one_number(space: str) -> None:
    question = Question("q", "t", "How many?", ("21",), details=(("list", "false"),))
    assert multimodalqa.score(question, f"twenty{space}one") == {"em": 1.0, "f1": 1.0}


@pytest.mark.parametrize("reply", ["$(9.8) million", "$(9.8 million)", "(9.8) million", "$ (9.8) million",
                                   "-$9.8 million", "-9.8 million"])
def test_a_loss_in_brackets_before_or_around_its_scale(reply: str) -> None:
    question = Question("q", "t", "What is the change?", ("-9.8",),
                        details=(("answer_type", "arithmetic"), ("scale", "million")))
    assert tat_qa.score(question, reply)["em"] == 1.0
    assert tat_qa.score(question, reply.replace("9.8", "9.7"))["em"] == 0.0


@pytest.mark.parametrize(("reply", "letter"), [
    ("b", "B"), ("(c)", "C"), ("b.", "B"), ("The answer is b", "B"), ("option c.", "C"), ("b) blue", "B"),
    ("**a**", "A"),
    ("a cat", ""), ("a", "A"), ("(a) and (b)", ""), ("not b", ""), ("I see a bird", ""), ("The answer is a bird", ""),
    ("answer: d", ""), ("A red car", "A"), ("b or C? C", "C")])
def test_a_small_letter_counts_where_there_is_no_other_reading(reply: str, letter: str) -> None:
    assert parse_option(reply, OPTIONS) == letter
