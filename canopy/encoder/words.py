"""The words of a region: what a text encoder reads of it, and what a reader of the evidence is given."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from canopy.hierarchy.leaves import Leaves
from canopy.items import Cue, Item

CONTEXT = -1


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an item's words and the fragment it belongs to; ``CONTEXT`` belongs to every region of the item."""

    text: str
    fragment: int


def _join(*parts: str) -> str:
    return ". ".join(p.strip() for p in parts if p and p.strip())


def item_pieces(item: Item, leaves: Leaves) -> list[list[Piece]]:
    """An item's words as sequences that are encoded together, each cut into pieces by fragment.

    Text: one sequence, the title then the sentences, verbatim. Table: one sequence a row, title and section (pooled
    with their row: as context of the whole table they would outweigh it) then ``column is cell`` clauses, so that
    headers are part of every node's content at every level. Video: one sequence, title and caption then each
    segment's subtitles and the words read off its frames. Image: title, caption and the words read off it.
    """
    if item.modality == "text":
        title = [Piece(_join(item.title) + ". ", CONTEXT)] if item.title.strip() else []
        bounds = leaves.bounds
        return [title + [Piece(item.text[int(bounds[i]):int(bounds[i + 1])], i) for i in range(leaves.count)]]
    if item.modality == "table":
        head = _join(item.title, item.section)
        return [[Piece(head + ". " if head else "", r), Piece(row_words(item, r), r)] for r in range(leaves.count)]
    if item.modality == "video":
        head = _join(item.title, item.caption)
        segments = [Piece(segment_words(item, *leaves.span(i, i + 1)) + " ", i) for i in range(leaves.count)]
        return [([Piece(head + ". ", CONTEXT)] if head else []) + segments]
    return [[Piece(_join(item.title, item.caption, item.words), 0)]]


def row_words(item: Item, row: int) -> str:
    """One table row as ``column is cell`` clauses; an empty cell is left out, a cell without a column stands alone.

    Clauses read like a sentence, which is what the encoder knows: on OTT-QA's tables f_theta decided 43.9% of the
    nodes as the gold asks with them and 40.6% with ``column: cell | column: cell`` (tables alone, 114 steps; f0:
    33.3% and 29.8%).
    """
    if row >= len(item.rows):
        return "; ".join(h for h in item.header if h.strip())
    clauses = []
    for column, cell in enumerate(item.rows[row]):
        if cell.strip():
            name = item.header[column] if column < len(item.header) else ""
            clauses.append(f"{name} is {cell}" if name.strip() else cell)
    return "; ".join(clauses)


def segment_words(item: Item, start: float, end: float) -> str:
    """The words of ``[start, end)`` seconds.

    They are the subtitles that begin there (a cue belongs to the segment in which it begins) and then, after "On
    screen:", what was read off its frames (a text belongs to every segment during which it was seen).
    """
    first = bisect_left(item.cues, start, key=_begins)
    spoken = " ".join(c.text for c in item.cues[first:bisect_left(item.cues, end, first, key=_begins)])
    seen = "; ".join(c.text for c in item.screen[:bisect_left(item.screen, end, key=_begins)] if c.end >= start)
    return " ".join(x for x in (spoken, f"On screen: {seen}." if seen else "") if x)


def _begins(cue: Cue) -> float:
    return cue.start


def region_text(item: Item, leaves: Leaves, lo: int, hi: int) -> str:
    """A region's own words: what a ``separate`` encoder reads and what a reader of the evidence gets.

    A text region is the verbatim substring; a table region repeats title, section and column names once, then its rows.
    """
    if item.modality == "text":
        a, b = leaves.span(lo, hi)
        return item.text[int(a):int(b)].strip()
    if item.modality == "table":
        head = [_join(item.title, item.section)] if _join(item.title, item.section) else []
        return "\n".join(head + [row_words(item, r) for r in range(lo, hi)])
    if item.modality == "video":
        a, b = leaves.span(lo, hi)
        return _join(item.title, item.caption, segment_words(item, a, b))
    return _join(item.title, item.caption, item.words)


def item_words(item: Item, leaves: Leaves) -> tuple[str, list[str]]:
    """What a reader is given of an item: words that come once with whatever is kept, and each fragment's own words."""
    if item.modality == "table":
        return region_text(item, leaves, 0, 0), [row_words(item, r) for r in range(leaves.count)]
    if item.modality == "video":
        segments = [segment_words(item, *leaves.span(i, i + 1)) for i in range(leaves.count)]
        return region_text(item, leaves, 0, 0), segments
    return "", [region_text(item, leaves, i, i + 1) for i in range(leaves.count)]
