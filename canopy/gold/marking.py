"""What the page of examples shows of one item, by modality: its gold, and notes of what is left out of a long item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from canopy.hierarchy.leaves import Leaves
from canopy.items import Cue, Item
from canopy.pages import plural

UNITS = {"text": "sentence", "table": "row", "video": "segment", "image": "image"}
# Up to so many fragments all are shown; otherwise the first ones and those around gold.
_ALL = {"text": 40, "table": 24, "video": 12}
_AROUND, _FIRST = 2, 2
_LONGEST, _EDGE = 1_200, 300  # characters of a text, and of each of its ends if it is longer
_COLUMNS, _BLOCKS = 40, 600


@dataclass(frozen=True, slots=True)
class Gap:
    """So many units that are left out."""

    count: int
    noun: str

    @property
    def unit(self) -> str:
        """What is left out, in the plural unless it is one."""
        return plural(self.count, self.noun)


Words = tuple["str | Gap", ...]  # a text, or the two ends of a long one around a gap
_Shown = TypeVar("_Shown")


@dataclass(frozen=True, slots=True)
class Marked:
    """An item, its fragments, which of them are gold, and the annotated spans in its own unit."""

    item: Item
    leaves: Leaves
    gold: frozenset[int]
    spans: tuple[tuple[float, float], ...]

    def unit(self, count: int) -> str:
        """What fragments are called."""
        return plural(count, UNITS[self.item.modality])


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: whether it is gold, and its parts, each with whether its characters were annotated."""

    gold: bool
    parts: tuple[tuple[bool, Words], ...]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: its number from 0 without the header, whether it is gold, and its cells."""

    number: int
    gold: bool
    cells: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class MarkedTable:
    """A table's rows under its column names; ``more`` columns are left out."""

    header: tuple[Words, ...]
    rows: tuple[TableRow | Gap, ...]
    more: Gap | None

    @property
    def width(self) -> int:
        """Columns of the page's table."""
        return len(self.header) + 1 + (self.more is not None)


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a timeline, in percent of its length."""

    left: float
    width: float
    kind: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment: its time, whether it is gold, and what is said and read in it; empty if nothing is."""

    time: str
    gold: bool
    spoken: Words
    read: Words


@dataclass(frozen=True, slots=True)
class MarkedVideo:
    """A timeline of the segments with the annotated times under it, then the words in gold segments and beside them."""

    caption: Words
    count: int
    gold: int
    end: str
    blocks: tuple[Block, ...]
    times: tuple[Block, ...]
    annotated: str
    segments: tuple[Segment | Gap, ...]


def window(count: int, gold: Iterable[int], all_up_to: int) -> list[tuple[int, int]]:
    """Ranges ``[lo, hi)`` of fragments to show: all of a short item; otherwise the first ones and those around gold."""
    if count <= all_up_to:
        return [(0, count)]
    numbers = set(range(min(_FIRST, count)))
    for g in gold:
        numbers.update(range(max(0, g - _AROUND), min(count, g + _AROUND + 1)))
    ranges: list[tuple[int, int]] = []
    for i in sorted(numbers):
        if ranges and ranges[-1][1] == i:
            ranges[-1] = (ranges[-1][0], i + 1)
        else:
            ranges.append((i, i + 1))
    return ranges


def cut_words(text: str) -> Words:
    """A text; the middle of a long one is left out, with a note of how much."""
    if len(text) <= _LONGEST:
        return (text,)
    return text[:_EDGE], Gap(len(text) - 2 * _EDGE, "character"), text[-_EDGE:]


def _windowed(m: Marked, show: Callable[[int], _Shown]) -> tuple[_Shown | Gap, ...]:
    """Fragments of the item's window, with a gap for each stretch between."""
    parts: list[_Shown | Gap] = []
    position, unit, count, most = 0, UNITS[m.item.modality], m.leaves.count, _ALL[m.item.modality]
    # An item that is gold from end to end is shown by its beginning: there is nothing to look for in it.
    gold = m.gold if len(m.gold) < count or count <= most else frozenset(range(most))
    for lo, hi in window(count, gold, most):
        if lo > position:
            parts.append(Gap(lo - position, unit))
        parts += map(show, range(lo, hi))
        position = hi
    return (*parts, Gap(count - position, unit)) if position < count else tuple(parts)


def mark_text(m: Marked) -> tuple[Sentence | Gap, ...]:
    """Sentences, and in the gold ones the annotated characters."""
    def show(i: int) -> Sentence:
        lo, hi = (int(x) for x in m.leaves.span(i, i + 1))
        cuts = sorted({lo, hi, *(int(min(max(x, lo), hi)) for s in m.spans for x in s)})
        parts = []
        for a, b in zip(cuts, cuts[1:], strict=False):
            inside = any(s <= a and b <= e for s, e in m.spans)
            parts.append((inside and i in m.gold, cut_words(m.item.text[a:b])))
        return Sentence(i in m.gold, tuple(parts))

    return _windowed(m, show)


def mark_table(m: Marked) -> MarkedTable:
    """The rows under their column names."""
    width = max([len(m.item.header), *(len(r) for r in m.item.rows)], default=0)
    columns, more = min(width, _COLUMNS), width - _COLUMNS

    def cells(row: Sequence[str]) -> tuple[Words, ...]:
        return tuple(map(cut_words, [*row, *[""] * (columns - len(row))][:columns]))

    def show(i: int) -> TableRow:
        return TableRow(i, i in m.gold, cells(m.item.rows[i] if i < len(m.item.rows) else ()))

    return MarkedTable(cells(m.item.header), _windowed(m, show), Gap(more, "column") if more > 0 else None)


def clock(seconds: float) -> str:
    """Seconds as ``m:ss`` or ``h:mm:ss``."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def clock_span(start: float, end: float) -> str:
    """A span of time; one inside a single second with tenths, an instant as one time."""
    if end <= start:
        return clock(start)
    if clock(start) != clock(end):
        return f"{clock(start)}–{clock(end)}"
    return f"{clock(start)}.{int(start % 1 * 10)}–{clock(end)}.{int(end % 1 * 10)}"


def mark_video(m: Marked) -> MarkedVideo:
    """The timeline and the words. Of a video with very many segments the timeline shows the gold ones alone."""
    end = m.leaves.bounds[-1] or 1.0
    count = m.leaves.count
    numbers = [i for i in range(count) if i in m.gold or count <= _BLOCKS]
    blocks = tuple(_block(m.leaves.span(i, i + 1), end, "segment gold" if i in m.gold else "segment") for i in numbers)
    times = tuple(_block(s, end, "time") for s in m.spans)
    annotated = ", ".join(clock_span(a, b) for a, b in m.spans)

    def show(i: int) -> Segment:
        a, b = m.leaves.span(i, i + 1)
        spoken, read = (_words_between(cues, a, b) for cues in (m.item.cues, m.item.screen))
        return Segment(f"{clock(a)}–{clock(b)}", i in m.gold, spoken, read)

    caption = cut_words(m.item.caption) if m.item.caption.strip() else ()
    return MarkedVideo(caption, count, len(m.gold), clock(end), blocks, times, annotated, _windowed(m, show))


def _block(span: tuple[float, float], end: float, kind: str) -> Block:
    return Block(100 * span[0] / end, 100 * (span[1] - span[0]) / end, kind)


def _words_between(cues: Sequence[Cue], start: float, end: float) -> Words:
    text = " ".join(c.text for c in cues if start <= c.start < end)
    return cut_words(text) if text.strip() else ()
