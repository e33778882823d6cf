"""MultiModalQA's rules.

List EM and F1, number words read as numbers, answers aligned one to one (the paper's code, after DROP's).
"""

from __future__ import annotations

import re

from canopy.items import Question
from canopy.scoring.metric import Support, details_of
from canopy.scoring.number_words import number_of
from canopy.scoring.numbers import is_float, list_scores, may_be_one, split_parts, tidy

PRIMARY = ("em", "f1")
RULES = ("List EM and F1: answers normalised as DROP does with number words as numbers, aligned by the Hungarian "
         "method. A reader's reply is a list where it has "
         "semicolons or line breaks, whether or not the gold answer is one.")


def normalise_number(text: str) -> str:
    """A number, in digits or as a word, as Python writes its float; other text as it is."""
    if is_float(text):
        return str(float(text))
    # A token may hold several words: it is cut at spaces and hyphens alone, not at no-break or thin spaces.
    value = number_of(text)
    return text if value is None else str(value)


def normalise(text: str) -> str:
    """One answer, cut at spaces and hyphens, token by token."""
    return tidy(re.split(r" |-", text), normalise_number, is_float)


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1`` of the list of answers; an empty prediction scores 0, as a missing one does officially."""
    gold = [normalise(a) for a in (question.answers if details_of(question).get("list") == "true"
                                   else question.answers[:1])]
    parts = split_parts(prediction)
    if not parts or not gold:
        return {"em": 0.0, "f1": 0.0}
    readings = [parts, [prediction]] if may_be_one(question.answers) else [parts]
    em, f1 = max(list_scores([normalise(p) for p in r], gold, is_float) for r in readings)
    return {"em": em, "f1": f1}
