"""Which items that hold a question's answer are about the question."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from canopy.items import Item
from canopy.scoring.metric import answer_words
from canopy.scoring.stems import content_stems, stem

_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w'-]*|\b\w*\d\w*")
NAME_WEIGHT = 2.0  # a name says more of what a question is about than another word as rare


@dataclass(frozen=True, slots=True)
class Rule:
    """How much of a question an item must cover.

    Attributes
    ----------
    floor : float
        Least share of the question's content words, by idf and with names counting `NAME_WEIGHT` times, that the item
        has, its answer's own words aside.
    overlap : float
        Least share of what the best candidate has.
    """

    floor: float
    overlap: float


class Coverage:
    """Where the words of all questions occur in a corpus.

    Parameters
    ----------
    questions : mapping
        Question to its content words and their weights in it, as `ask` gives them.
    """

    def __init__(self, questions: Iterable[Mapping[str, float]]) -> None:
        self._postings: dict[str, array[int]] = {w: array("I") for words in questions for w in words}
        self._sorted: dict[str, np.ndarray] = {}
        self._items = 0

    def add(self, item: Item) -> None:
        """Take in the next item."""
        for word in {stem(w) for w in item_words(item)} & self._postings.keys():
            self._postings[word].append(self._items)
        self._items += 1

    def shares(self, words: Mapping[str, float], candidates: Sequence[int]) -> np.ndarray:
        """The share of a question that each candidate covers, float64, shape (candidates,).

        A word that no item has counts as the rarest there can be. A question without content words is covered by any.
        """
        numbers = np.asarray(candidates, dtype=np.int64)
        covered, total = np.zeros(len(numbers)), 0.0
        for word, weight in sorted(words.items()):
            items = self._sorted.get(word)
            if items is None:
                items = self._sorted[word] = np.frombuffer(self._postings[word], dtype=np.uint32).astype(np.int64)
            value = weight * math.log((self._items + 1) / (len(items) + 0.5))
            total += value
            if len(items):
                at = np.minimum(np.searchsorted(items, numbers), len(items) - 1)
                covered += value * (items[at] == numbers)
        return covered / total if total > 0 else np.ones(len(numbers))

    def choose(self, words: Mapping[str, float], candidates: Sequence[int], rule: Rule) -> list[int]:
        """The candidates that cover a question by a rule, in their order."""
        if not candidates:
            return []
        shares = self.shares(words, candidates)
        least = max(rule.floor, rule.overlap * float(shares.max()))
        return [n for n, share in zip(candidates, shares.tolist(), strict=True) if share >= least - 1e-12]


def ask(question: str, answers: Iterable[str]) -> dict[str, float]:
    """A question's content words (stems) with their weights, without the words of its answers."""
    own = {stem(w) for a in answers for w in answer_words(a)}
    names = {stem(w) for n in _NAME.findall(question) for w in answer_words(n)}
    words = content_stems(answer_words(question))
    return {w: NAME_WEIGHT if w in names else 1.0 for w in words if w not in own}


def item_words(item: Item) -> set[str]:
    """All words of an item, wherever they stand in it."""
    return {w for text in item.texts() for w in answer_words(text)}
