"""MinHash candidates for near-duplicates: word triples, their exact similarity, an index of MinHash bands.

The MinHash and its index are those of the library datasketch (Broder 1997; Leskovec et al., Mining of Massive
Datasets, chapter 3).
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from datasketch import MinHash

_WIDTH, _PERMUTATIONS, _SEED = 3, 128, 13
_MOST_MISSED = 1e-3  # the chance of missing a pair at the threshold
_WORD = re.compile(r"\w+")


def normalise(text: str) -> str:
    """The words of a text, compatible forms and case folded, joined by single blanks: equal for two copies."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def shingles(normal: str) -> np.ndarray:
    """Numbers of the word triples of a normalised text, sorted and distinct (uint32).

    A text of fewer words gives the number of all its words together. One without words has none, and is a duplicate
    of nothing.
    """
    words = normal.split()
    parts = [" ".join(words[i:i + _WIDTH]) for i in range(max(1, len(words) - _WIDTH + 1))] if words else []
    return np.unique(np.array([zlib.crc32(p.encode("utf-8", "surrogatepass")) for p in parts], dtype=np.uint32))


def similarity(a: np.ndarray, b: np.ndarray) -> float:
    """Jaccard similarity of two sets of shingles: the common ones as a share of all; 0 if both are empty."""
    common = len(np.intersect1d(a, b, assume_unique=True))
    return common / (len(a) + len(b) - common) if common else 0.0


def rows_a_band(threshold: float) -> int:
    """The widest MinHash band that misses a pair at the threshold with a chance under one in a thousand."""
    fitting = [r for r in range(1, _PERMUTATIONS + 1) if (1 - threshold**r) ** (_PERMUTATIONS // r) <= _MOST_MISSED]
    return max(fitting, default=1)


def signature(marks: np.ndarray) -> MinHash:
    """The MinHash of a text's shingles; the same on every machine."""
    from datasketch import MinHash

    minhash = MinHash(num_perm=_PERMUTATIONS, seed=_SEED, hashfunc=int)
    minhash.update_batch(marks.tolist())
    return minhash


class MinHashIndex:
    """Finds texts whose Jaccard similarity with another may reach a threshold.

    Parameters
    ----------
    threshold : float
        The least similarity, above 0 and below 1.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._order: dict[str, int] = {}

    @cached_property
    def _bands(self) -> Any:
        """The index of datasketch, imported when the first text comes."""
        from datasketch import MinHashLSH

        rows = rows_a_band(self._threshold)
        return MinHashLSH(num_perm=_PERMUTATIONS, params=(_PERMUTATIONS // rows, rows))

    def candidates(self, minhash: MinHash) -> list[str]:
        """Names of the added texts that share a band with this one, in the order in which they were added."""
        return sorted(self._bands.query(minhash), key=self._order.__getitem__)

    def add(self, name: str, minhash: MinHash) -> None:
        """Add a text under a name that the index does not have yet."""
        self._order[name] = len(self._order)
        self._bands.insert(name, minhash, check_duplication=False)
