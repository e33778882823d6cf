"""What an official metric is, and the answer normalisation that most of them share (SQuAD's)."""

from __future__ import annotations

import importlib
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from canopy.items import Question

ARTICLE_WORDS = frozenset({"a", "an", "the"})  # of English


@dataclass(frozen=True, slots=True)
class Support:
    """Supporting facts, predicted and annotated, as sets of (item, fragment)."""

    predicted: frozenset[Hashable]
    gold: frozenset[Hashable]


def official_metric(name: str) -> ModuleType:
    """The module of this package with a benchmark's official rules.

    It has ``score(question, prediction, support=None) -> dict``, ``PRIMARY`` (the measures that tables show, first the
    one that systems are compared on) and ``RULES`` (a sentence on the rules and where they come from). A missing answer
    is scored as an empty prediction.
    """
    return importlib.import_module(f"canopy.scoring.{name}")


def score_answer(metric: Any, question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """One answer's scores by a benchmark's rules.

    None if no answer is published (blind tests, unanswerable questions), which is not the same as 0.
    """
    return metric.score(question, prediction, support) if any(a.strip() for a in question.answers) else {}


def details_of(question: Question) -> dict[str, str]:
    """A question's details as a mapping."""
    return dict(question.details)


def normalise_answer(text: str) -> str:
    """Lower case, without punctuation, articles and extra white space (SQuAD v1.1's ``normalize_answer``)."""
    lowered = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", lowered).split())


def answer_words(text: str) -> list[str]:
    """Words as answers are matched: case folded, compatibility forms joined, no punctuation or English articles."""
    return [w for w in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()) if w not in ARTICLE_WORDS]


def exact_match(prediction: str, truth: str) -> float:
    """1.0 if both are the same after normalising."""
    return float(normalise_answer(prediction) == normalise_answer(truth))


def precision_recall_f1(prediction: Sequence[str], truth: Sequence[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of a bag of tokens; all 0 if none is shared."""
    shared = sum((Counter(prediction) & Counter(truth)).values())
    if not shared:
        return 0.0, 0.0, 0.0
    p, r = shared / len(prediction), shared / len(truth)
    return p, r, 2 * p * r / (p + r)


def squad_f1(prediction: str, truth: str) -> float:
    """Token F1 as SQuAD v2 computes it: two empty answers agree, an empty and a full one do not."""
    a, b = normalise_answer(prediction).split(), normalise_answer(truth).split()
    return float(a == b) if not a or not b else precision_recall_f1(a, b)[2]


def best_over(measure: Callable[[str, str], float], prediction: str, truths: Iterable[str]) -> float:
    """The best score over accepted answers; 0 if there is none."""
    return max((measure(prediction, t) for t in truths), default=0.0)
