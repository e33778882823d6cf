"""What an item gives for every question: the words of its leaves in the forms that features need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from canopy.encoder.words import item_words
from canopy.hierarchy.leaves import Leaves
from canopy.items import Item, Modality
from canopy.scoring.metric import answer_words
from canopy.scoring.stems import FUNCTION_WORDS, stem

_CAPITAL = re.compile(r"\b[A-Z][\w'-]+")
_DIGIT, _YEAR = re.compile(r"\d"), re.compile(r"\b(1[5-9]|20)\d\d\b")
_BRACKETS = re.compile(r"\(.*?\)")


@dataclass(frozen=True, eq=False)
class ItemWords:
    """One item's words, leaf by leaf.

    Attributes
    ----------
    name : str
        The title's words, brackets left out, joined by blanks: as another item would mention it.
    title : tuple of str
        Stems of ``name``.
    head_stems : frozenset of str
        Stems that come with every region: the title's; of a table also its section's.
    stems : tuple of Counter
        Stems of each leaf.
    lines : tuple of str
        Words of each leaf, joined by blanks, with one at either end.
    capitals : tuple of frozenset of str
        Words of each leaf that begin with a capital, in lower case.
    digits, years : ndarray of bool, shape (leaves,)
        Whether a leaf holds a digit, and a year.
    tokens : ndarray of float64, shape (leaves,)
        Length of each leaf without the head.
    head : int
        Tokens that are shown once with every region.
    own_head : bool
        Whether the text begins with its title, so that a region from its start needs none.
    """

    modality: Modality
    name: str
    title: tuple[str, ...]
    head_stems: frozenset[str]
    stems: tuple[Counter[str], ...]
    lines: tuple[str, ...]
    capitals: tuple[frozenset[str], ...]
    digits: np.ndarray
    years: np.ndarray
    tokens: np.ndarray
    head: int
    own_head: bool

    def __len__(self) -> int:
        return len(self.stems)

    @cached_property
    def whole(self) -> str:
        """All lines in one, to look a name up in the item at once; no match runs over a leaf's end."""
        return "\n".join(self.lines)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Words in each leaf, int64."""
        return np.array([sum(c.values()) for c in self.stems], dtype=np.int64)


def read_words(item: Item, leaves: Leaves, count_tokens: Callable[[Sequence[str]], np.ndarray]) -> ItemWords:
    """Read an item's leaves.

    Parameters
    ----------
    count_tokens : callable
        Texts to lengths (`NodeEncoder.count_tokens`).
    """
    once, each = item_words(item, leaves)
    title = item.title.strip()
    head = once if once or item.modality != "text" else f"{title}:" if title else ""
    counts = np.asarray(count_tokens([head, *each]))
    words = [answer_words(text) for text in each]
    name = answer_words(_BRACKETS.sub("", item.title))
    return ItemWords(
        item.modality, " ".join(name), tuple(stem(w) for w in name if w not in FUNCTION_WORDS),
        frozenset(map(stem, answer_words(f"{item.title} {once}"))),
        tuple(Counter(map(stem, w)) for w in words), tuple(f" {' '.join(w)} " for w in words),
        tuple(frozenset(w.lower() for w in _CAPITAL.findall(text)) for text in each),
        np.array([bool(_DIGIT.search(text)) for text in each], dtype=bool),
        np.array([bool(_YEAR.search(text)) for text in each], dtype=bool),
        counts[1:].astype(np.float64), int(counts[0]) if head else 0,
        bool(item.modality == "text" and title and item.text.strip().startswith(title)))
