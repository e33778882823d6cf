"""What the words of retrieved items have to do with a question and with one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.leaf_scorer.stems import Rarity, asked_stems
from canopy.leaf_scorer.words import ItemWords
from canopy.scoring.metric import answer_words

USUAL_WORDS = 25  # words of a usual sentence or row, which BM25 of leaves takes as the mean length
LEAST_NAME = 4  # letters; shorter titles occur in texts by chance


@dataclass(frozen=True, slots=True)
class Matches:
    """Words that leaves and items share with the question, weighted by rarity.

    Attributes
    ----------
    leaves : ndarray of float64, shape (asked words, leaves)
        Occurrences of each asked stem in each leaf.
    head : ndarray of bool, shape (asked words, items)
        Whether an asked stem is in an item's head, which comes with every region.
    weights : ndarray of float64, shape (asked words,)
        The share of each stem in the question's idf; sums to 1.
    idf : ndarray of float64, shape (asked words,)
    owner : ndarray of int64, shape (leaves,)
    words : ndarray of int64, shape (leaves,)
        Length of each leaf in words.
    """

    leaves: np.ndarray
    head: np.ndarray
    weights: np.ndarray
    idf: np.ndarray
    owner: np.ndarray
    words: np.ndarray

    def bm25(self) -> np.ndarray:
        """BM25 of each leaf."""
        length = 1.2 * (0.25 + 0.75 * self.words / USUAL_WORDS)
        return np.asarray(self.idf @ (self.leaves * 2.2 / (self.leaves + length)))

    def overlap(self) -> np.ndarray:
        """Share of the question's idf in each leaf."""
        return np.asarray(self.weights @ (self.leaves > 0))

    def overlap_with_head(self) -> np.ndarray:
        """Share of the question's idf in each leaf together with its item's head."""
        return np.asarray(self.weights @ ((self.leaves > 0) | self.head[:, self.owner]))

    def rarest(self) -> np.ndarray:
        """idf of the rarest asked word in each leaf; 0 if it has none."""
        return np.asarray((self.idf[:, None] * (self.leaves > 0)).max(axis=0, initial=0.0))

    def title(self) -> np.ndarray:
        """Share of the question's idf in each item's head."""
        return np.asarray(self.weights @ self.head)

    def item(self) -> np.ndarray:
        """Share of the question's idf anywhere in each item."""
        inside = self.head.copy()
        hits = self.leaves > 0
        for word in range(len(inside)):
            inside[word, self.owner[hits[word]]] = True
        return np.asarray(self.weights @ inside)


def match_words(question: str, items: Sequence[ItemWords], rarity: Rarity) -> Matches:
    """Match a question's content words with the leaves of items."""
    content = asked_stems(question)
    idf = np.array([rarity.idf(w) for w in content], dtype=np.float64)
    leaves = np.array([[c.get(w, 0) for i in items for c in i.stems] for w in content], dtype=np.float64)
    head = np.array([[w in i.head_stems for i in items] for w in content], dtype=bool)
    sizes = [len(i) for i in items]
    words = np.concatenate([i.lengths for i in items]) if items else np.zeros(0, dtype=np.int64)
    return Matches(leaves.reshape(len(content), sum(sizes)), head.reshape(len(content), len(items)),
                   idf / (idf.sum() or 1.0), idf, np.repeat(np.arange(len(sizes)), sizes), words)


def match_titles(question: str, items: Sequence[ItemWords]) -> tuple[np.ndarray, np.ndarray]:
    """Share of each title's words that the question asks for, and whether it quotes the title; shape (items,) each."""
    question_line = f" {' '.join(answer_words(question))} "
    content = frozenset(asked_stems(question))
    share, quoted = np.zeros(len(items)), np.zeros(len(items))
    for n, item in enumerate(items):
        share[n] = sum(w in content for w in item.title) / len(item.title) if item.title else 0.0
        quoted[n] = bool(item.name) and f" {item.name} " in question_line
    return share, quoted


@dataclass(frozen=True, slots=True)
class Links:
    """Which leaves name which other items by their titles.

    Attributes
    ----------
    leaves, items : ndarray of int64, shape (links,)
        A leaf, and the item whose title stands in it.
    new : ndarray of bool, shape (links,)
        Whether the question does not quote that title itself.
    """

    leaves: np.ndarray
    items: np.ndarray
    new: np.ndarray


def match_links(question: str, items: Sequence[ItemWords]) -> Links:
    """Find the titles of items in the leaves of the others."""
    question_line = f" {' '.join(answer_words(question))} "
    first = np.concatenate([[0], np.cumsum([len(i) for i in items])]).astype(int).tolist()
    links: list[tuple[int, int, bool]] = []
    for n, item in enumerate(items):
        if len(item.name) < LEAST_NAME:
            continue
        key = f" {item.name} "
        new = key not in question_line
        for other, base in zip(items, first, strict=False):
            if other is item or other.name == item.name or key not in other.whole:
                continue
            links += [(base + leaf, n, new) for leaf, line in enumerate(other.lines) if key in line]
    columns = np.array(links, dtype=np.int64).reshape(-1, 3)
    return Links(columns[:, 0], columns[:, 1], columns[:, 2].astype(bool))
