"""Where the words of a PDF page stand, made into reading order: columns, lines, paragraphs, headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import TypedDict

from canopy.importing.blocks import Block, Heading, Paragraph

# A gutter between two columns: at least so wide (points), with words on both sides in so many lines and in so large a
# share of them.
GUTTER, GUTTER_LINES, GUTTER_SHARE = 8.0, 8, 0.6
# A line this much larger than the page's usual type, and no longer than that, is a heading.
HEADING_SIZE, HEADING_CHARS = 1.15, 150
_GLYPH = re.compile(r"\(cid:\d+\)")  # what pdfminer writes for a sign that the file gives no character for
_HYPHEN = re.compile(r"([^\W\d_]+)[-\u2010\u00ad]$")


class Word(TypedDict):
    """A word of a page: its box in points from the page's upper left corner, and the size of its type."""

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its words, its box in points from the page's upper left corner, and the size of its type."""

    text: str
    top: float
    bottom: float
    x0: float
    x1: float
    size: float


def page_lines(words: Sequence[Word], width: float) -> list[Line]:
    """Words (as pdfplumber gives them) to lines in reading order; of a page with two columns, the left one first.

    Full-width lines (a title, a figure's caption) part a page into bands: within a band the left column is read before
    the right one. More than two columns, and text set around pictures, come in the order of their lines.
    """
    rows = _rows(words)
    gutter = _gutter(rows, width)
    if gutter is None:
        return [_line(r) for r in rows]
    lines: list[Line] = []
    for crossing, band in groupby(rows, key=lambda r: _crosses(r, gutter)):
        row = list(band)
        if crossing:
            lines += [_line(r) for r in row]
            continue
        for side in (False, True):
            parts = ([w for w in r if ((w["x0"] + w["x1"]) / 2 > gutter) == side] for r in row)
            lines += [_line(p) for p in parts if p]
    return lines


def _rows(words: Iterable[Word]) -> list[list[Word]]:
    """Words that stand side by side, from top to bottom, each row from left to right."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda w: ((w["top"] + w["bottom"]) / 2, w["x0"])):
        middle = (word["top"] + word["bottom"]) / 2
        if rows and rows[-1][0]["top"] <= middle <= rows[-1][0]["bottom"]:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(r, key=lambda w: w["x0"]) for r in rows]


def _crosses(row: Sequence[Word], x: float) -> bool:
    return any(w["x0"] < x + GUTTER / 2 and w["x1"] > x - GUTTER / 2 for w in row)


def _gutter(rows: Sequence[Sequence[Word]], width: float) -> float | None:
    """The x between two columns, near the page's middle; None if the page has one column."""
    best, gutters = 0, None
    for x in range(int(width * 0.4), int(width * 0.6), 2):
        clear = [r for r in rows if not _crosses(r, x)]
        both = sum(r[0]["x1"] < x < r[-1]["x0"] for r in clear)
        if both > best and both >= GUTTER_LINES and both >= GUTTER_SHARE * len(rows):
            best, gutters = both, float(x)
    return gutters


def _line(words: Sequence[Word]) -> Line:
    sizes = Counter[float]()
    for w in words:
        sizes[round(float(w.get("size") or w["bottom"] - w["top"]), 1)] += len(w["text"])
    return Line(
        shown_signs(" ".join(w["text"] for w in words)),
        min(w["top"] for w in words),
        max(w["bottom"] for w in words),
        words[0]["x0"],
        max(w["x1"] for w in words),
        sizes.most_common(1)[0][0],
    )


def shown_signs(text: str) -> str:
    """Text whose signs without a character are shown: a bullet at the beginning, otherwise a replacement character."""
    return _GLYPH.sub("\ufffd", re.sub(r"^\s*\(cid:\d+\)(?=\s)", "\u2022", text))


def running_lines(pages: Sequence[Sequence[Line]]) -> set[tuple[str, int]]:
    """Headers and footers.

    Lines that say the same (digits aside) at the same height on more than half of at least four pages.
    """
    if len(pages) < 4:
        return set()
    seen = Counter(key for lines in pages for key in {running_key(line) for line in lines})
    return {key for key, n in seen.items() if n * 2 > len(pages)}


def running_key(line: Line) -> tuple[str, int]:
    """What makes two lines the same header or footer."""
    return re.sub(r"\d+", "0", line.text), round(line.top / 4)


def body_size(pages: Iterable[Sequence[Line]]) -> float:
    """The size of type that most characters have."""
    sizes = Counter[float]()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def heading_levels(pages: Iterable[Sequence[Line]], body: float) -> dict[float, int]:
    """Sizes of headings to levels, the largest being 1; at most six."""
    sizes = sorted({line.size for lines in pages for line in lines if line.size >= body * HEADING_SIZE}, reverse=True)
    return {size: min(n, 6) for n, size in enumerate(sizes, 1)}


def page_blocks(
    lines: Sequence[Line], levels: dict[float, int], known: set[str], place: str
) -> list[tuple[float, Block]]:
    """Lines to headings and paragraphs, each with its top.

    A paragraph ends where the next line stands further off than lines do, starts a new column, or is of another size;
    lines of a heading's size that follow one another are one heading.

    Parameters
    ----------
    known : set of str
        The document's words: a word cut by a hyphen at a line's end is joined where it occurs whole, else keeps its
        hyphen.
    """
    groups: list[list[Line]] = []
    gaps = [b.top - a.bottom for a, b in pairwise(lines) if 0 <= b.top - a.bottom < 3 * (a.bottom - a.top)]
    usual = median(gaps) if gaps else 0.0
    for line in lines:
        last = groups[-1][-1] if groups else None
        apart = last is None or line.top < last.top or levels.get(line.size) != levels.get(last.size) or (
            line.top - last.bottom > usual + 0.45 * (line.bottom - line.top))
        if apart:
            groups.append([])
        groups[-1].append(line)
    blocks: list[tuple[float, Block]] = []
    for group in groups:
        text = join_lines([line.text for line in group], known)
        level = levels.get(group[0].size)
        heading = level is not None and len(text) <= HEADING_CHARS and any(c.isalpha() for c in text)
        blocks.append((group[0].top, Heading(level or 1, text) if heading else Paragraph(text, place)))
    return blocks


def join_lines(lines: Sequence[str], known: set[str]) -> str:
    """The lines of a paragraph as running text."""
    text = lines[0] if lines else ""
    for line in lines[1:]:
        cut = _HYPHEN.search(text)
        after = re.match(r"[^\W\d_]+", line)
        if cut and after and line[0].islower():
            whole = (cut[1] + after[0]).lower() in known
            text = (text[:-1] if whole else text) + line
        else:
            text = f"{text} {line}"
    return text
