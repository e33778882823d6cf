"""Folds items that repeat one another into the first: copies, and in benchmarks that ask for it near-duplicates.

Items are taken in order (benchmarks as params.yaml lists them, then file order) and compared with representatives
only, so a representative is never folded later, groups never merge, and a benchmark added at the end changes nothing
before it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from canopy.config import FOLDINGS, Folding
from canopy.corpus.equality import as_read, figures, has_figure, item_as_read, words_of
from canopy.corpus.folds import Fold
from canopy.corpus.minhash import MinHashIndex, shingles, signature, similarity
from canopy.digests import text_key
from canopy.items import Item

MIN_WORDS = 8  # shorter texts and tables are no near-duplicates of anything
_NEGATIONS = frozenset((
    "no", "not", "n", "t", "non", "nor", "neither", "never", "none", "nothing", "nobody", "without", "cannot", "except",
    "unless", "hardly", "barely", "minus"))
_NUMBERS = frozenset((
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty",
    "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million", "billion", "trillion", "dozen",
    "half", "quarter", "third", "double", "twice", "percent", "per"))


def fold_items(items: Iterable[Item], *, exact: bool = True, threshold: float = 0.9,
               foldings: Mapping[str, Folding] | None = None) -> Iterator[Fold]:
    """The items that an earlier one stands for, in order; the others are representatives.

    Only items of one modality fold, and an image or video without a file never does. Exact: equal content digests.
    Equal: a reader cannot tell them apart, title, headings and captions included (see `as_read`). Near: see
    ``_Copies``.

    Parameters
    ----------
    exact : bool
        Whether to fold items that are exact or equal.
    threshold : float
        The least Jaccard similarity of near-duplicates' word triples, up to 1; 0 folds no near-duplicates.
    foldings : mapping, optional
        What each benchmark asks for by name; "equal" of one that is not in it. Two items are near-duplicates only if
        the benchmarks of both ask for that.
    """
    foldings = foldings or {}
    equals: dict[tuple[str, bytes], tuple[str, str]] = {}
    copies = _Copies(threshold)
    for item in items:
        pictured = item.modality in ("image", "video")
        key = (item.modality, bytes.fromhex(item_as_read(item).content_digest()))
        if exact and key in equals and (item.media_sha256 or not pictured):
            representative, digest = equals[key]
            yield Fold(item.id, representative, "exact" if digest == item.content_digest() else "equal", 1.0)
            continue
        folding = foldings.get(item.benchmark, "equal")
        representative, alike = item.id, 1.0
        if threshold and folding != "equal" and not pictured:
            representative, alike = copies.place(item, folding)
        if representative == item.id:
            equals.setdefault(key, (item.id, item.content_digest()))
        else:
            yield Fold(item.id, representative, "near", alike)


class _Copies:
    """Representatives among the items of benchmarks that ask for near-duplicates.

    Near-duplicate texts have the same title and section, the same figures and signs, and the same words (punctuation
    and spacing aside); or one is the other with words added, none of them a number or a negation and none beside a
    figure, and the Jaccard similarity of their word triples reaches the threshold. Texts whose words are the same may
    have different titles if both benchmarks ask for "redirects". Near-duplicate tables have the same title, section,
    caption and shape, and the same words in every cell; a cell with a figure or sign in it is the same as read.

    Similarity alone does not do: of the pairs at or above 0.9 in slices of HotpotQA, MuSiQue, OTT-QA, HybridQA and
    TAT-QA whose words are not equal, seven of ten have a word replaced by another: "Men's freestyle 84 kg" and "96
    kg", Oro and Peketon County. They are about different things, as are two tables of one form with other figures.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._placed: dict[bytes, tuple[str, float]] = {}
        self._same: dict[bytes, str] = {}
        self._untitled: dict[bytes, str] = {}
        self._texts: dict[str, tuple[str, bytes]] = {}
        self._index = MinHashIndex(threshold)

    def place(self, item: Item, folding: Folding) -> tuple[str, float]:
        """The item's representative, with its similarity.

        That is the first one with the same words, otherwise the most similar one with words added, and the first of
        those; the item itself if there is none.
        """
        words = words_of(item.text if item.modality == "text" else " ".join(_cells(item)))
        if words.count(" ") + 1 < MIN_WORDS:
            return item.id, 1.0
        body = [item.modality, words, figures(item.text)] if item.modality == "text" else [
            item.modality, len(item.header), [as_read(c) if has_figure(c) else words_of(c) for c in _cells(item)]]
        heads = [[words_of(h), figures(h)] for h in (item.title, item.section, item.caption)]
        titled, untitled = _key([body, heads]), _key([body, heads[1:]])
        once = titled + folding.encode()
        if once not in self._placed:  # an item equal to one that was folded goes where that one went
            self._placed[once] = self._nearest(item, folding, words, (titled, untitled), _key([body[2], heads]))
        return self._placed[once]

    def _nearest(self, item: Item, folding: Folding, words: str, keys: tuple[bytes, bytes],
                 rest: bytes) -> tuple[str, float]:
        titled, untitled = keys
        redirected = folding == FOLDINGS[-1] and item.modality == "text"
        same = self._same.get(titled) or (self._untitled.get(untitled) if redirected else None)
        if same:
            return same, 1.0
        best = self._with_words_added(item.id, words, rest) if item.modality == "text" and self._threshold < 1 else None
        if best is None:
            self._same[titled] = item.id
            if redirected:
                self._untitled[untitled] = item.id
        return best or (item.id, 1.0)

    def _with_words_added(self, name: str, words: str, rest: bytes) -> tuple[str, float] | None:
        """The most similar representative with the same ``rest`` (title, section, figures); otherwise add this one."""
        marks = shingles(words)
        minhash = signature(marks)
        best: tuple[str, float] | None = None
        for other in self._index.candidates(minhash):
            its_words, its_rest = self._texts[other]
            if its_rest != rest:
                continue
            alike = similarity(marks, shingles(its_words))
            if alike < self._threshold or (best is not None and alike <= best[1]):
                continue
            if adds_nothing_but_words(words.split(), its_words.split()):
                best = other, alike
        if best is None:
            self._texts[name] = words, rest
            self._index.add(name, minhash)
        return best


def _cells(table: Item) -> list[str]:
    return [*table.header, *(cell for row in table.rows for cell in row)]


def _key(value: object) -> bytes:
    return text_key(json.dumps(value, ensure_ascii=False))


def adds_nothing_but_words(a: list[str], b: list[str]) -> bool:
    """Whether the longer list is the shorter one with words put in, none of them a number and none a negation."""
    short, long = sorted((a, b), key=len)
    rest = iter(long)
    if not all(w in rest for w in short):
        return False
    added = {w.casefold() for w in Counter(long) - Counter(short)}
    return not any(w in _NEGATIONS or w in _NUMBERS or any(c.isnumeric() for c in w) for w in added)
