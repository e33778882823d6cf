"""MultiModalQA's rules: list EM and F1, number words read as numbers, answers aligned one to one (the paper's code, after DROP's)."""

from __future__ import annotations

import re

from canopy.evaluation.official.base import Support, details_of
from canopy.evaluation.official.numbers import is_float, list_scores, tidy
from canopy.items import Question

PRIMARY = ("em", "f1")
RULES = ("List EM and F1: answers normalised as DROP does with number words as numbers, aligned by the Hungarian method. A reader's reply to a question with "
         "several answers is cut at semicolons and line breaks, else at commas.")
_WORDS = {w: float(n) for n, w in enumerate(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"])}
_WORDS |= {w: 10.0 * n for n, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)}
_WORDS |= {"hundred": 100.0, "thousand": 1000.0, "million": 1e6, "billion": 1e9}


def normalise_number(text: str) -> str:
    """A number, in digits or as a word, as Python writes its float; other text as it is."""
    if is_float(text):
        return str(float(text))
    return str(_WORDS[text]) if text in _WORDS else text


def normalise(text: str) -> str:
    """One answer, cut at spaces and hyphens, token by token."""
    return tidy(re.split(r" |-", text), normalise_number, is_float)


def split_reply(reply: str, several: bool) -> list[str]:
    """The answers in a reply."""
    parts = [p.strip() for p in re.split(r"[;\n]", reply)]
    if several and len(parts) == 1:
        parts = [p.strip() for p in re.split(r",| and ", reply)]
    return [p for p in parts if p] if several else [reply.strip()] if reply.strip() else []


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1`` of the list of answers."""
    several = details_of(question).get("list") == "true"
    predicted = [normalise(p) for p in split_reply(prediction, several)]
    gold = [normalise(a) for a in (question.answers if several else question.answers[:1])]
    if not predicted or not gold:
        return {"em": 0.0, "f1": 0.0}
    em, f1 = list_scores(predicted, gold, is_float)
    return {"em": em, "f1": f1}
