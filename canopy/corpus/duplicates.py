"""Near-duplicates among texts: MinHash finds candidates, the exact share of common word triples decides.

This likeness is wide, for the split: a leak between training and test is one under another title or with another
figure too. What the corpus folds into one item is narrow; `canopy.corpus.equality` holds that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from canopy.corpus.groups import Groups
from canopy.corpus.minhash import MinHashIndex, normalise, shingles, signature, similarity

if TYPE_CHECKING:
    from canopy.items import Item

THRESHOLD = 0.9  # Jaccard similarity from which two texts are taken to say the same


class Pair(NamedTuple):
    """Two ids whose texts say the same, ``a`` first in the input, and their similarity (1: equal once normalised)."""

    a: str
    b: str
    similarity: float


def near_duplicates(texts: Mapping[str, str], threshold: float = THRESHOLD) -> list[Pair]:
    """Pairs that connect every text with the others that say the same, in the order of the input.

    Copies (equal once normalised) are each paired with the first of them, and texts that other pairs connect already
    are not compared again: thousands of copies of one paragraph give thousands of pairs, not millions.

    Parameters
    ----------
    texts : mapping of id to text
    threshold : float
        The least Jaccard similarity over word triples, above 0 and up to 1.
    """
    return list(_pairs(texts, threshold))


def near_duplicate_groups(texts: Mapping[str, str], threshold: float = THRESHOLD) -> list[list[str]]:
    """Groups of two or more ids that pairs of near-duplicates connect, each and all in the order of the input."""
    connected = Groups[str]()
    for pair in _pairs(texts, threshold):
        connected.join(pair.a, pair.b)
    groups: dict[str, list[str]] = {}
    for i in texts:
        groups.setdefault(connected.root(i), []).append(i)
    return [ids for ids in groups.values() if len(ids) > 1]


def comparable(item: Item) -> str:
    """What of an item is compared for the split: a text's words, a table's cells; a media file's digest.

    Title, section and caption are left out, so that the same evidence under another heading counts as the same.
    """
    if item.modality == "text":
        return item.text
    if item.modality == "table":
        return " ".join(" ".join(cells) for cells in (item.header, *item.rows))
    return item.media_sha256


def _pairs(texts: Mapping[str, str], threshold: float) -> Iterator[Pair]:
    first: dict[str, str] = {}
    index, marks, connected = MinHashIndex(threshold), {}, Groups[str]()
    for name, text in texts.items():
        normal = normalise(text)
        if not normal:
            continue
        if (copy := first.setdefault(normal, name)) != name:
            yield Pair(copy, name, 1.0)
            continue
        if threshold >= 1:
            continue
        marks[name] = shingles(normal)
        minhash = signature(marks[name])
        for other in index.candidates(minhash):
            if connected.root(other) == connected.root(name):
                continue
            alike = similarity(marks[other], marks[name])
            if alike >= threshold:
                connected.join(other, name)
                yield Pair(other, name, alike)
        index.add(name, minhash)
