"""Regions to words: their text, their exact span, and their length in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.compression.evidence import Fragment, ItemEvidence, Region
from canopy.encoder.base import NodeEncoder
from canopy.encoder.words import item_words
from canopy.hierarchy.leaves import Leaves
from canopy.items import Evidence, Item, Modality, Unit

UNITS: dict[Modality, Unit] = {"text": "chars", "table": "rows", "video": "seconds", "image": "item"}
DIGITS = 6  # of a score


@dataclass(frozen=True, slots=True)
class Selection:
    """What is kept of one item, ready to be written; ``fragments``: write every fragment too."""

    item: Item
    leaves: Leaves
    regions: Sequence[Evidence]
    fragments: bool = False
    retrieval_score: float | None = None


def write_evidence(selections: Sequence[Selection], encoder: NodeEncoder) -> list[ItemEvidence]:
    """Write what is kept of each item; all words are counted in one call."""
    words = [item_words(s.item, s.leaves) for s in selections]
    counts = encoder.count_tokens([text for head, each in words for text in (head, *each)])
    written, start = [], 0
    for selection, (head, each) in zip(selections, words, strict=True):
        written.append(_write_item(selection, head, each, counts[start:start + 1 + len(each)]))
        start += 1 + len(each)
    return written


def _write_item(selection: Selection, head: str, each: Sequence[str], tokens: np.ndarray) -> ItemEvidence:
    """One item; ``tokens`` are those of the head, then of each fragment."""
    item, leaves, retrieval = selection.item, selection.leaves, selection.retrieval_score
    covered = np.zeros(leaves.count, dtype=bool)
    regions = []
    for r in selection.regions:
        covered[r.lo:r.hi] = True
        span, text = region_words(item, leaves, r.lo, r.hi, each)
        length = int(tokens[1 + r.lo:1 + r.hi].sum())
        regions.append(Region((r.lo, r.hi), span, round(r.score, DIGITS), r.depth, length, text))
    fragments = None
    if selection.fragments:
        words = [region_words(item, leaves, i, i + 1, each) for i in range(leaves.count)]
        fragments = tuple(Fragment(span, text, bool(covered[i])) for i, (span, text) in enumerate(words))
    return ItemEvidence(
        item.id, item.modality, item.title, UNITS[item.modality], leaves.count, head,
        tokens_before=int(tokens.sum()), tokens_after=int(tokens[0] + tokens[1:][covered].sum()),
        retrieval_score=None if retrieval is None else round(retrieval, DIGITS),
        regions=tuple(regions), fragments=fragments)


def region_words(item: Item, leaves: Leaves, lo: int, hi: int,
                 each: Sequence[str]) -> tuple[tuple[float, float], str]:
    """A region's span and words; a text's span is narrowed to its words: ``text[start:end]`` is the region's text."""
    start, end = leaves.span(lo, hi)
    if item.modality != "text":
        return (start, end), "\n".join(t for t in each[lo:hi] if t)
    a, b = int(start), int(end)
    raw = item.text[a:b]
    a, b = a + len(raw) - len(raw.lstrip()), b - (len(raw) - len(raw.rstrip()))
    return ((a, b), item.text[a:b]) if a < b else ((int(start), int(start)), "")
