"""Questions with what they retrieve, as forests whose gold leaves are known: what the leaf scorer is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.answers.gold import AnswerGold
from canopy.embeddings.store import NodeStore
from canopy.encoder.base import NodeEncoder
from canopy.leaf_scorer.forest import RetrievedForest, join_retrieved
from canopy.leaf_scorer.words import ItemWords, read_words
from canopy.pipelines.tools import Library


@dataclass(frozen=True, slots=True)
class GoldForest:
    """A question's retrieved items, and which leaves are gold.

    Attributes
    ----------
    alternatives : tuple of (ndarray of int64, int)
        Of each gold alternative: its leaves in the forest, and how many it has in all.
    """

    question_id: str
    forest: RetrievedForest
    alternatives: tuple[tuple[np.ndarray, int], ...]

    @property
    def gold(self) -> np.ndarray:
        """Whether a leaf is gold under any alternative, bool, shape (leaves,)."""
        gold = np.zeros(len(self.forest.leaf), dtype=bool)
        for leaves, _ in self.alternatives:
            gold[leaves] = True
        return gold

    def recall(self, kept: np.ndarray) -> np.ndarray:
        """Gold recall of the best alternative, for kept leaves (bool, shape (leaves, choices)): shape (choices,)."""
        shares = [kept[leaves].sum(axis=0) / count for leaves, count in self.alternatives]
        return np.asarray(np.max(shares, axis=0))


class ForestReader:
    """Joins retrieved items into forests; the words of an item are read once.

    Parameters
    ----------
    store : NodeStore
        Node vectors of the encoder whose scores the leaf scorer reads.
    """

    def __init__(self, library: Library, store: NodeStore, encoder: NodeEncoder) -> None:
        self._library, self._store, self._encoder = library, store, encoder
        self._words: dict[str, ItemWords] = {}

    def read(self, question: str, query: np.ndarray, items: Sequence[str], dense: Sequence[float] | None = None,
             lexical: Sequence[float] | None = None) -> RetrievedForest:
        """The forest of a question's retrieved items.

        Parameters
        ----------
        query : ndarray, shape (dimension,)
            The question's unit vector.
        items : sequence of str
            Item ids, best first.
        """
        stored = [i if i in self._store else self._library.representative(i) for i in items]
        return join_retrieved(question, [self._words_of(i) for i in items], [self._store.tree(i) for i in stored],
                              self._store.scores(stored, query), dense, lexical)

    def mark(self, question_id: str, items: Sequence[str], forest: RetrievedForest, gold: AnswerGold) -> GoldForest:
        """The forest with its gold leaves, as the answers' gold has them."""
        first = dict(zip(items, forest.layout.fragments.tolist(), strict=False))
        groups = gold.fragments.get(question_id, {})
        return GoldForest(question_id, forest, tuple(
            (np.array(sorted(first[i] + n for i, n in group if i in first), dtype=np.int64), len(group))
            for group in groups.values()))

    def _words_of(self, item_id: str) -> ItemWords:
        words = self._words.get(item_id)
        if words is None:
            words = self._words[item_id] = read_words(self._library.item(item_id), self._library.leaves(item_id),
                                                      self._encoder.count_tokens)
        return words
