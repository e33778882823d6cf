"""Lists in a language model's replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.llm.answer_text import clean_list


@pytest.mark.parametrize(("reply", "answers"), [
    ("Lyon\nTurin\nBasel", ["Lyon", "Turin", "Basel"]),
    ("Answer:\n1. Lyon\n2. Turin\n\nExplanation: both lie on a river.", ["Lyon", "Turin"]),
    ("- Lyon\n- Turin\n\n- Basel\n\nThese are the cities.", ["Lyon", "Turin", "Basel"]),
    ('```json\n["Lyon", "Turin", 3]\n```', ["Lyon", "Turin", "3"]),
    ('{"answers": ["Lyon"]}', ["Lyon"]), ('{"answer": "Lyon"}', ["Lyon"]), ('["Lyon', ['["Lyon']),
    ("<think>Turin\nBasel</think>Lyon; Turin", ["Lyon", "Turin"]),
    ("Let me see.\nThe answers are: Lyon\nTurin", ["Lyon", "Turin"]),
    ("The cities are:\n* **Lyon**\n* \"Turin\"", ["Lyon", "Turin"]),
    ("(1) 12 May 1911\n(2) 13 June", ["12 May 1911", "13 June"]),
    ("1. FC Union\n3. Liga", ["FC Union", "3. Liga"]),
    ("$(9.8) million\n$12.5 million", ["$(9.8) million", "$12.5 million"]),
    ("Lyon\nThe text says that Lyon lies there.", ["Lyon"]), ("Lyon\n\nIt lies in France", ["Lyon"]),
    ("Lyon\nLyon\nTurin", ["Lyon", "Turin"]), ("", []), ("```\n```", []), ("Answer:", [])])
def test_each_line_is_an_answer_and_what_stands_around_is_left_out(reply: str, answers: list[str]) -> None:
    assert clean_list(reply) == "; ".join(answers)


@given(st.lists(st.text("abcxyz", min_size=2, max_size=8), min_size=1, max_size=6, unique=True),
       st.sampled_from(["{}", "- {}", "* {}", "{n}. {}", "{n}) {}"]), st.sampled_from(["", "Answer: ", "Answers:\n"]))
def test_plain_words_come_through_in_any_list(words: list[str], form: str, lead: str) -> None:
    reply = lead + "\n".join(form.format(w, n=n) for n, w in enumerate(words, 1))
    assert clean_list(reply) == "; ".join(words)


@given(st.text(max_size=80))
def test_any_reply_gives_some_text(reply: str) -> None:
    assert isinstance(clean_list(reply), str)
