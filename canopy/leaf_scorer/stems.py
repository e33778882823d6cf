"""Stems of texts and questions, and how rare each is in a corpus."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from canopy.items import Item
from canopy.scoring.metric import answer_words
from canopy.scoring.stems import content_stems, stem


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [stem(w) for w in answer_words(text)]


def asked_stems(text: str) -> list[str]:
    """The stems of a question without function words, each once; all of them if nothing else is there."""
    return content_stems(answer_words(text)) or list(dict.fromkeys(stems(text)))


@dataclass(frozen=True, slots=True)
class Rarity:
    """In how many of a corpus's items each stem occurs.

    Attributes
    ----------
    counts : mapping
        Stem to items with it. A stem that is not there is in none.
    items : int
        Items of the corpus.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    items: int = 0

    @classmethod
    def of(cls, items: Iterable[Item]) -> Rarity:
        """Count a corpus."""
        counts: Counter[str] = Counter()
        number = 0
        for item in items:
            number += 1
            counts.update(set(stems(" ".join(item.texts()))))
        return cls(counts, number)

    def common(self, least: int) -> Rarity:
        """The same without stems that fewer than ``least`` items have: a table that holds no rare word."""
        return Rarity({w: n for w, n in sorted(self.counts.items()) if n >= least}, self.items)

    def idf(self, word: str) -> float:
        """Inverse document frequency of a stem, as BM25 has it; 1 for each where there is no corpus."""
        if not self.items:
            return 1.0
        n = self.counts.get(word, 0)
        return math.log(1 + (self.items - n + 0.5) / (n + 0.5))
