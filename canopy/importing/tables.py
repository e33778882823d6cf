"""Grids of cells to tables: spans filled in, empty lines out, and which rows are the header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canopy.importing.blocks import TableBlock, one_line
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import MAX_CELLS

_NUMBER = re.compile(r"[\s$€£¥%()+\-−–.,'’\d/:]*\d[\s$€£¥%()+\-−–.,'’\d/:]*(?:[eE][+-]?\d+)?")
_NO_VALUE = re.compile(r"[-\u2013\u2014.?]+|n\.?/?a\.?|none|null|nan|unknown|missing", re.I)
_YEAR = re.compile(r"(?:18|19|20|21)\d\d")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the columns and rows it spans (HTML's rules: at least 1; 0 rows means down to the end)."""

    text: str
    columns: int = 1
    rows: int = 1


def expand_spans(lines: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Rows of cells as a rectangle: a cell's text stands in every place it spans, so that each row says all it means.

    A cell across the whole width (a group's title) stands once. Unusable if the rectangle would be larger than
    ``MAX_CELLS``.
    """
    grid: list[dict[int, str]] = [{} for _ in lines]
    alone: set[int] = set()
    size = 0
    for r, line in enumerate(lines):
        at = 0
        for cell in line:
            while at in grid[r]:
                at += 1
            down = len(lines) - r if cell.rows == 0 else min(max(1, cell.rows), len(lines) - r)
            across = min(max(1, cell.columns), 1000)
            size += down * across
            if size > MAX_CELLS:
                raise Unusable(f"a table of more than {MAX_CELLS:,} cells")
            for y in range(r, r + down):
                for x in range(at, at + across):
                    grid[y].setdefault(x, cell.text)
            at += across
        if len(line) == 1 and line[0].columns > 1 and len(grid[r]) == min(line[0].columns, 1000):
            alone.add(r)
    width = max((max(g, default=-1) + 1 for g in grid), default=0)
    if width * len(grid) > MAX_CELLS:
        raise Unusable(f"a table of more than {MAX_CELLS:,} cells")
    return [[grid[r].get(x, "") if r not in alone or x == 0 else "" for x in range(width)] for r in range(len(grid))]


def is_number(text: str) -> bool:
    """Whether a cell holds a number, an amount, a share, a date or a time in digits."""
    return bool(_NUMBER.fullmatch(text.strip()))


def looks_like_header(first: Sequence[str], below: Iterable[Sequence[str]]) -> bool:
    """Whether a table's first row names its columns.

    It does unless it looks like the rows below it: a row with numbers in it is data, except that years may be names of
    columns whose values are no years. Where all is words the first row is taken as the header, as people write tables.
    """
    filled = [c for c in first if c.strip()]
    if not filled or len(filled) * 2 < len(first):
        return False
    numeric = [i for i, c in enumerate(first) if is_number(c)]
    if not numeric:
        return True
    sample = list(below)
    years = all(_YEAR.fullmatch(first[i].strip()) for i in numeric)
    return years and bool(sample) and len(numeric) < len(filled) + (len(numeric) > 1) and not any(
        i < len(row) and _YEAR.fullmatch(row[i].strip()) for row in sample for i in numeric)


def merge_header(lines: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Several header rows as one.

    Each column's names from top to bottom, a repeated one once (``2019``, ``Q1`` -> ``2019 Q1``).
    """
    return tuple(" ".join(dict.fromkeys(c for c in column if c)) for column in zip(*lines, strict=True))


def join_headers(first: Sequence[str], below: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header of two rows that a table has on top: groups of columns, or names with units below them.

    A group stands over its columns: in the first of them, or in each (a merged cell). Empty if the second row is a row
    of values, or nothing below it shows that it is none.
    """
    width = max(map(len, (first, *below[:2])))
    upper, lower = ([*row, *[""] * (width - len(row))] for row in (first, below[0]))
    groups = [cell if x == 0 or cell != upper[x - 1] else "" for x, cell in enumerate(upper)]
    words = [x for x in range(width) if lower[x]]
    if sum(map(bool, groups)) < 2 or len(words) < 2:
        return ()
    if any((is_number(lower[x]) and not _YEAR.fullmatch(lower[x])) or _NO_VALUE.fullmatch(lower[x]) for x in words):
        return ()
    values = {x: [row[x] for row in below[1:] if x < len(row) and row[x]] for x in range(width)}
    numeric = [x for x in words if x and values[x] and all(map(is_number, values[x]))]
    if 2 * len(numeric) <= len([x for x in words if x]) or any(
            _YEAR.fullmatch(lower[x]) and any(map(_YEAR.fullmatch, values[x])) for x in words):
        return ()
    if all(groups):  # names with units below them, where nothing stands below the name of the rows
        return () if lower[0] or not upper[0] else merge_header([upper, lower])
    if not any(lower[x] and not groups[x] for x in range(1, width)):
        return ()
    for x in range(1, width):
        upper[x] = upper[x] or (upper[x - 1] if lower[x] else "")
    return merge_header([upper, lower])


def normalise_table(
    lines: Iterable[Sequence[str | None]], header_rows: int | None = None, caption: str = "", place: str = ""
) -> TableBlock | None:
    """A grid as a table: rectangular, cells on one line, without empty rows and columns, header apart.

    Leading rows with a single filled cell, above wider ones, are a title and join the caption.

    Parameters
    ----------
    header_rows : int, optional
        How many of the given rows are the header, if the document says so; otherwise the first row is looked at.

    Returns
    -------
    TableBlock or None
        None if no cell has words. Where there would be a header alone, it is the only row.

    Raises
    ------
    Unusable
        If the rectangle would be larger than ``MAX_CELLS``.
    """
    grid = [[one_line(c or "") for c in line] for line in lines]
    marked = [bool(header_rows) and i < (header_rows or 0) for i in range(len(grid))]
    kept = [(line, m) for line, m in zip(grid, marked, strict=True) if any(line)]
    if not kept:
        return None
    width = max(len(line) for line, _ in kept)
    if width * len(kept) > MAX_CELLS:
        raise Unusable(f"a table of {len(kept)} rows and {width} columns; at most {MAX_CELLS:,} cells")
    full = [line + [""] * (width - len(line)) for line, _ in kept]
    columns = [x for x in range(width) if any(line[x] for line in full)]
    full = [[line[x] for x in columns] for line in full]
    heads = sum(m for _, m in kept)
    titles = [caption] if caption.strip() else []
    while len(columns) > 1 and len(full) > 2 and heads < len(full) and sum(map(bool, full[0])) == 1:
        titles.append("".join(full[0]))
        full, heads = full[1:], max(0, heads - 1)
    if header_rows is None:
        heads = int(len(full) > 1 and looks_like_header(full[0], full[1:6]))
    if heads >= len(full):
        heads = 0
    header = merge_header(full[:heads]) if heads else ("",) * len(columns)
    return TableBlock(header, [tuple(line) for line in full[heads:]], ". ".join(titles), place)
