"""Aligned bags of tokens with numbers as numbers.

What MultiModalQA's and TAT-QA's metrics, both from DROP's, have in common; and replies of several parts.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

import numpy as np

ARTICLES = re.compile(r"\b(a|an|the)\b")


def split_parts(reply: str) -> list[str]:
    """The parts of a reply, cut at line breaks and at semicolons before a space.

    As the readers' prompt asks for, and whatever the gold answer looks like.
    """
    return [p for p in (part.strip() for part in re.split(r";(?=\s|$)|\n", reply)) if p]


def may_be_one(answers: Sequence[str]) -> bool:
    """Whether a reply may also be read as one part: if a gold answer has a semicolon itself."""
    return any(";" in a for a in answers)


def is_float(text: str) -> bool:
    """Whether Python reads it as a number (DROP's ``_is_number``)."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def tidy(parts: Sequence[str], normalise_number: Callable[[str], str], is_number: Callable[[str], bool]) -> str:
    """DROP's normalisation, token by token.

    Lower case, no punctuation (numbers keep theirs), numbers made equal, no articles, one space.
    """
    out = []
    for part in parts:
        lowered = part.lower()
        bare = lowered if is_number(lowered) else "".join(c for c in lowered if c not in string.punctuation)
        words = " ".join(ARTICLES.sub(" ", normalise_number(bare)).split())
        if words:
            out.append(words)
    return " ".join(out)


def bag_f1(predicted: set[str], gold: set[str]) -> float:
    """F1 of two bags; an empty bag has precision, or recall, 1 (DROP)."""
    shared = len(gold & predicted)
    precision = shared / len(predicted) if predicted else 1.0
    recall = shared / len(gold) if gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision or recall else 0.0


def align_bags(predicted: Sequence[set[str]], gold: Sequence[set[str]], is_number: Callable[[str], bool]
               | None) -> np.ndarray:
    """Best one-to-one assignment of predicted to gold bags (Hungarian), F1 of each; unmatched ones score 0.

    Where ``is_number`` is given (DROP, MultiModalQA; TAT-QA took it out), two bags may only meet if they share a
    number, or the gold one has none.

    Returns
    -------
    ndarray, shape (max(len(predicted), len(gold)),)
    """
    from scipy.optimize import linear_sum_assignment

    scores = np.zeros((len(gold), len(predicted)))
    for g, a in enumerate(gold):
        numbers = {t for t in a if is_number(t)} if is_number else set()
        for p, b in enumerate(predicted):
            if not numbers or numbers & b:
                scores[g, p] = bag_f1(b, a)
    rows, columns = linear_sum_assignment(-scores)
    out = np.zeros(max(len(gold), len(predicted)))
    for row, column in zip(rows, columns, strict=True):
        out[row] = max(out[row], scores[row, column])
    return out


def list_scores(predicted: Sequence[str], gold: Sequence[str], is_number: Callable[[str], bool]
                | None = None) -> tuple[float, float]:
    """EM (same set of normalised answers, as many of them) and mean F1 of the aligned bags, rounded to two digits as
    published."""
    same = set(predicted) == set(gold) and len(predicted) == len(gold)
    aligned = align_bags([set(p.split()) for p in predicted], [set(g.split()) for g in gold], is_number)
    return float(same), float(np.round(aligned.mean(), 2)) if len(aligned) else 0.0
