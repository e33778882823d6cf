"""Near-duplicates among texts: MinHash finds candidates, the exact share of common word triples decides."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from canopy.items import Item

THRESHOLD = 0.9  # Jaccard similarity from which two texts are taken to say the same
_WIDTH, _PERMUTATIONS, _SEED, _MISSED = 3, 128, 13, 1e-3
_WORD = re.compile(r"\w+")


class Pair(NamedTuple):
    """Two ids whose texts say the same, ``a`` the one that comes first in the input, and how alike they are (1: equal once normalised)."""

    a: str
    b: str
    similarity: float


def normalise(text: str) -> str:
    """The words of a text, compatible forms and case folded, joined by single blanks: what two copies have in common."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def shingles(normal: str) -> np.ndarray:
    """Numbers of the word triples of a normalised text, sorted and distinct (uint32); of all its words together where there are fewer.

    A text without words has none, and is a duplicate of nothing.
    """
    words = normal.split()
    parts = [" ".join(words[i:i + _WIDTH]) for i in range(max(1, len(words) - _WIDTH + 1))] if words else []
    return np.unique(np.array([zlib.crc32(p.encode("utf-8", "surrogatepass")) for p in parts], dtype=np.uint32))


def similarity(a: np.ndarray, b: np.ndarray) -> float:
    """Jaccard similarity of two sets of shingles: common ones as a share of all; 0 where both are empty."""
    common = len(np.intersect1d(a, b, assume_unique=True))
    return common / (len(a) + len(b) - common) if common else 0.0


def rows_a_band(threshold: float) -> int:
    """The widest band of the MinHash index that misses a pair at the threshold with a chance under one in a thousand."""
    fitting = [r for r in range(1, _PERMUTATIONS + 1) if (1 - threshold**r) ** (_PERMUTATIONS // r) <= _MISSED]
    return max(fitting, default=1)


def signature(marks: np.ndarray) -> Any:
    """The MinHash (datasketch) of a text's shingles; the same on every machine."""
    from datasketch import MinHash

    made = MinHash(num_perm=_PERMUTATIONS, seed=_SEED, hashfunc=int)
    made.update_batch(marks.tolist())
    return made


def near_duplicates(texts: Mapping[str, str], threshold: float = THRESHOLD) -> list[Pair]:
    """Pairs that connect every text with the others that say the same, in the order of the input.

    Copies (equal once normalised) are each paired with the first of them, and texts that other pairs connect already are not
    compared again: thousands of copies of one paragraph give thousands of pairs, not millions.

    Parameters
    ----------
    texts : mapping of id to text
    threshold : float
        The least Jaccard similarity over word triples, above 0 and up to 1.
    """
    return list(_pairs(texts, threshold))


def near_duplicate_groups(texts: Mapping[str, str], threshold: float = THRESHOLD) -> list[list[str]]:
    """Groups of two or more ids that pairs of near-duplicates connect, each and all in the order of the input."""
    roots: dict[str, str] = {}
    for pair in _pairs(texts, threshold):
        roots[_root(roots, pair.b)] = _root(roots, pair.a)
    groups: dict[str, list[str]] = {}
    for i in texts:
        groups.setdefault(_root(roots, i), []).append(i)
    return [ids for ids in groups.values() if len(ids) > 1]


def comparable(item: Item) -> str:
    """What of an item is compared: a text's words, a table's cells; of images and videos the digest of the file, so only copies match."""
    if item.modality == "text":
        return item.text
    if item.modality == "table":
        return " ".join(" ".join(cells) for cells in (item.header, *item.rows))
    return item.media_sha256


def _pairs(texts: Mapping[str, str], threshold: float) -> Iterator[Pair]:
    first: dict[str, str] = {}
    index, marks, roots = None, {}, {}
    for name, text in texts.items():
        normal = normalise(text)
        if not normal:
            continue
        if (copy := first.setdefault(normal, name)) != name:
            yield Pair(copy, name, 1.0)
            continue
        if threshold >= 1:
            continue
        if index is None:
            from datasketch import MinHashLSH

            rows = rows_a_band(threshold)
            index, order = MinHashLSH(num_perm=_PERMUTATIONS, params=(_PERMUTATIONS // rows, rows)), {}
        marks[name], order[name] = shingles(normal), len(order)
        hashed = signature(marks[name])
        for other in sorted(index.query(hashed), key=order.__getitem__):
            if _root(roots, other) == _root(roots, name):
                continue
            alike = similarity(marks[other], marks[name])
            if alike >= threshold:
                roots[_root(roots, name)] = _root(roots, other)
                yield Pair(other, name, alike)
        index.insert(name, hashed, check_duplication=False)


def _root(roots: dict[str, str], name: str) -> str:
    while (above := roots.get(name, name)) != name:
        roots[name] = name = roots.get(above, above)
    return name
