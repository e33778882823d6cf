"""One question's retrieved items as a forest: words, trees, node scores and what retrieval said of each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.hierarchy.tree import Tree
from canopy.leaf_scorer.words import ItemWords
from canopy.selection.forest import PricedForest, price_forest
from canopy.selection.layout import Layout, join_layout


@dataclass(frozen=True, slots=True)
class RetrievedForest:
    """A question with what it retrieved, best item first.

    Attributes
    ----------
    scores : ndarray, shape (nodes,)
        Similarity of each node to the question.
    dense : ndarray of float64, shape (items,)
        Similarity of each whole item to the question.
    lexical : ndarray of float64, shape (items,)
        BM25 score of each item as a share of the best in the corpus; NaN where no such search was made.
    leaf : ndarray of int64, shape (leaves,)
        The node of each leaf.
    owner : ndarray of int64, shape (leaves,)
        The item of each leaf.
    """

    question: str
    items: tuple[ItemWords, ...]
    layout: Layout
    scores: np.ndarray
    dense: np.ndarray
    lexical: np.ndarray
    leaf: np.ndarray
    owner: np.ndarray

    @property
    def tokens(self) -> np.ndarray:
        """Length of each leaf without its item's head, float64."""
        return np.concatenate([i.tokens for i in self.items]) if self.items else np.zeros(0)

    @property
    def heads(self) -> np.ndarray:
        """Tokens that are shown with every region of an item, float64."""
        return np.array([i.head for i in self.items], dtype=np.float64)

    def price(self, probabilities: np.ndarray) -> PricedForest:
        """The forest with what each node gives and costs."""
        return price_forest(self.layout, probabilities, self.tokens, self.heads,
                            np.array([i.own_head for i in self.items], dtype=bool))


def join_retrieved(question: str, items: Sequence[ItemWords], trees: Sequence[Tree], scores: Sequence[np.ndarray],
                   dense: Sequence[float] | None = None, lexical: Sequence[float] | None = None) -> RetrievedForest:
    """Join what a question retrieved.

    Parameters
    ----------
    scores : sequence of ndarray
        Node scores of each item.
    dense, lexical : sequence of float, optional
        What the searches said of each item. Unless given, an item's dense score is its root's and there is no other.

    Raises
    ------
    ValueError
        If a tree has not a leaf for each of its item's words, or a score is missing.
    """
    layout = join_layout(list(trees))
    sizes = [len(i) for i in items]
    if np.diff(layout.fragments).tolist() != sizes or [len(s) for s in scores] != np.diff(layout.nodes).tolist():
        raise ValueError("trees, words and scores are not of the same items")
    joined = np.concatenate([np.asarray(s, dtype=np.float64) for s in scores]) if scores else np.zeros(0)
    forest = layout.forest
    single = np.flatnonzero(forest.hi - forest.lo == 1)
    leaf = np.zeros(int(layout.fragments[-1]), dtype=np.int64)
    leaf[layout.fragments[layout.owner[single]] + forest.lo[single]] = single
    roots = joined[layout.nodes[:-1]]
    return RetrievedForest(
        question, tuple(items), layout, joined, roots if dense is None else np.asarray(dense, dtype=np.float64),
        np.full(len(sizes), np.nan) if lexical is None else np.asarray(lexical, dtype=np.float64), leaf,
        np.repeat(np.arange(len(sizes)), sizes))
