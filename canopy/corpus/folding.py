"""Folds items that repeat one another into the first: several benchmarks share many paragraphs.

Items are taken in order (benchmarks as params.yaml lists them, then file order) and compared with representatives
only, so a representative is never folded later, groups never merge, and a benchmark added at the end changes nothing
before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from canopy.corpus.folds import Fold
from canopy.corpus.minhash import MinHashIndex, normalise, shingles, signature, similarity
from canopy.digests import text_key
from canopy.items import Item

MIN_WORDS = 8  # shorter texts and tables fold only if they are equal
_NEGATIONS = frozenset(("no", "not", "n", "nor", "neither", "never", "none", "nothing", "without", "cannot", "except"))


def fold_items(items: Iterable[Item], *, exact: bool = True, threshold: float = 0.9) -> Iterator[Fold]:
    """The items that an earlier one stands for, in order; the others are representatives.

    Only items of one modality fold. Exact: equal content digests. Near: see ``_Words``; images and videos by the
    digest of their file, and one without a file is never folded. An item equal to one that was folded goes where that
    one went.

    Parameters
    ----------
    exact : bool
        Whether to fold items of equal content.
    threshold : float
        The least Jaccard similarity of near-duplicates' word triples, up to 1; 0 folds no near-duplicates.
    """
    seen: dict[tuple[str, bytes], Fold | str] = {}
    words = {m: _Words(threshold) for m in ("text", "table")}
    media: dict[tuple[str, str], str] = {}
    for item in items:
        pictured = item.modality in ("image", "video")
        content = (item.modality, bytes.fromhex(item.content_digest()))
        earlier = seen.get(content) if exact and (item.media_sha256 or not pictured) else None
        if isinstance(earlier, Fold):
            yield Fold(item.id, earlier.representative, earlier.kind, earlier.similarity)
            continue
        if earlier is not None:
            yield Fold(item.id, earlier, "exact", 1.0)
            continue
        representative, alike = item.id, 1.0
        if threshold and pictured and item.media_sha256:
            representative = media.setdefault((item.modality, item.media_sha256), item.id)
        elif threshold and not pictured:
            representative, alike = words[item.modality].place(item)
        if representative == item.id:
            seen[content] = item.id
        else:
            fold = Fold(item.id, representative, "near", alike)
            seen[content] = fold
            yield fold


class _Words:
    """Representatives of one modality by their words.

    Two items are near-duplicates if their words are equal (case, punctuation and spacing aside), or if one is
    the other with words added, none of them a number or a negation, and the Jaccard similarity of their word triples
    reaches the threshold. Of a text its words alone count: redirects give one article many titles. Of a table title,
    section and column names count too, and no two titles or sections may differ.

    Similarity alone does not do: of the pairs at or above 0.9 in slices of HotpotQA, MuSiQue, OTT-QA, HybridQA and
    TAT-QA whose words are not equal, seven of ten have a word replaced by another: "Men's freestyle 84 kg" and "96
    kg", Oro and Peketon County. They are about different things, as are two tables of one form with other figures.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._placed: dict[bytes, tuple[str, float]] = {}
        self._representatives: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._index = MinHashIndex(threshold)

    def place(self, item: Item) -> tuple[str, float]:
        """The item's representative, with its similarity.

        It is the most similar one that says the same, and the first of those; the item itself if none says the same.
        """
        heads = () if item.modality == "text" else (normalise(item.title), normalise(item.section))
        body = item.text if item.modality == "text" else " ".join((*item.header, *(c for r in item.rows for c in r)))
        normal = " ".join(w for w in (*heads, normalise(body)) if w)
        if normal.count(" ") + 1 < MIN_WORDS:
            return item.id, 1.0
        key = text_key(normal)
        if key not in self._placed:
            self._placed[key] = self._nearest(item.id, normal, heads) if self._threshold < 1 else (item.id, 1.0)
        return self._placed[key]

    def _nearest(self, name: str, normal: str, heads: tuple[str, ...]) -> tuple[str, float]:
        marks = shingles(normal)
        minhash = signature(marks)
        best: tuple[str, float] | None = None
        for other in self._index.candidates(minhash):
            words, other_heads = self._representatives[other]
            alike = similarity(marks, shingles(words))
            if alike < self._threshold or (best is not None and alike <= best[1]):
                continue
            if any(a and b and a != b for a, b in zip(heads, other_heads, strict=True)):
                continue
            if adds_nothing_but_words(normal.split(), words.split()):
                best = other, alike
        if best is None:
            self._representatives[name] = normal, heads
            self._index.add(name, minhash)
        return best or (name, 1.0)


def adds_nothing_but_words(a: list[str], b: list[str]) -> bool:
    """Whether the longer list is the shorter one with words put in, none of them with a digit and none a negation."""
    short, long = sorted((a, b), key=len)
    rest = iter(long)
    if not all(w in rest for w in short):
        return False
    added = Counter(long) - Counter(short)
    return not any(w in _NEGATIONS or any(c.isdigit() for c in w) for w in added)
