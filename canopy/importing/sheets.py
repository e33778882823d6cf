"""Rows of a sheet to tables: which row is a title, which the header, and where another table begins."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile

from canopy.importing.blocks import Block, TableBlock, one_line
from canopy.importing.tables import is_number, join_headers, looks_like_header
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import MAX_CELLS

LOOK_AHEAD = 50
_RULE = re.compile(r"[-=+*_~|]{3,}")


def table_blocks(rows: Iterable[Sequence[str]], title: str = "") -> Iterator[Block]:
    """A sheet's rows as tables.

    Leading rows with one filled cell (above wider ones) are a title. Where an empty row is followed by one that again
    looks like a header with numbers below it, or by such a title, a new table begins; other empty rows are passed over.
    """
    source = _Rows(rows)
    if title and not source.more():
        yield TableBlock(("",), [(title,)])
    while source.more():
        titles = [title] if title else []
        while (head := source.peek_filled()) and _is_title(head, source.peek(LOOK_AHEAD)):
            titles.append(strip_marks("".join(source.next())))
            source.more()
        if not head:
            yield TableBlock(("",), [(". ".join(filter(None, titles)),)])
            return
        below = head[1:6] or source.peek_below(len(_trim(head[0])))
        header: tuple[str, ...] = ()
        if below and looks_like_header(_trim(head[0]), below):
            header = tuple(_trim(source.next()))
            if len(head) > 1 and (joint := join_headers(head[0], below)):
                header = joint
                source.next()
        body = source.until_next_table(len(header))
        yield TableBlock(header, body, ". ".join(filter(None, titles)))
        deque(body, maxlen=0)  # rows that the caller left unread do not begin the next table


def split_columns(rows: Iterable[Sequence[str]]) -> Iterator[Iterable[Sequence[str]]]:
    """The rows of each table that stands beside another on a sheet, with at least one empty column between them.

    Each needs a header over two columns or more, and values below it whose first column names the rows. Otherwise an
    empty column is a gap in one table.
    """
    source = iter(rows)
    ahead = [[one_line(c) for c in row] for row in islice(source, LOOK_AHEAD)]
    if len(_column_parts(ahead)) < 2:
        yield chain(ahead, source)
        return
    grid = ahead + [[one_line(c) for c in row] for row in source]
    for start, end in _column_parts(grid) or [(0, max(map(len, grid)))]:
        yield [row[start:end] for row in grid]


def _column_parts(grid: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The columns of each table of a grid; none or one if it is not several beside each other."""
    filled = sorted({x for row in grid for x, cell in enumerate(row) if cell})
    if not filled:
        return []
    starts = [x for n, x in enumerate(filled) if not n or x > filled[n - 1] + 1]
    parts = [(start, end) for start, end in zip(starts, [*starts[1:], filled[-1] + 1], strict=True)]
    return parts if all(_is_table([row[start:end] for row in grid]) for start, end in parts) else []


def _is_table(grid: Sequence[Sequence[str]]) -> bool:
    """Whether rows are a header of two columns or more over rows that begin with a name."""
    rows = [_trim(row) for row in grid if any(row)]
    while rows and _filled(rows[0]) == 1:
        rows = rows[1:]
    if len(rows) < 2 or not all(map(is_name, rows[0])) or len(rows[0]) < 2:
        return False
    names = [row[0] for row in rows[1:] if row and row[0]]
    return any(is_number(c) for row in rows[1:] for c in row) and 2 * sum(map(is_name, names)) > len(names)


def is_name(cell: str) -> bool:
    """Whether a cell holds words and no number."""
    return bool(cell) and not is_number(cell)


def _is_title(block: Sequence[Sequence[str]], ahead: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of a block (rows up to an empty one) stands above a table.

    A single cell, with wider rows to come.
    """
    if _filled(block[0]) != 1:
        return False
    if len(_trim(block[0])) == 2 and not block[0][0] and any(row[0] for row in block[1:]):
        return False  # the one column of a table whose rows have names or numbers
    widest = max(map(_filled, block))
    return widest > 1 or (len(block) <= 3 and any(_filled(r) > 1 for r in ahead))


def strip_marks(line: str) -> str:
    """A title without what marks it as a comment or draws a line."""
    return re.sub(r"^(?:[#%!;]+|//+|--+(?=\s))\s*", "", line.strip()).strip("-=*~_# \t")


def _filled(row: Sequence[str]) -> int:
    return sum(bool(c) for c in row)


def _trim(row: Sequence[str]) -> list[str]:
    cells = list(row)
    while cells and not cells[-1]:
        cells.pop()
    return cells


class _Rows:
    """Rows with their cells cleaned, and a look ahead at those that come; counts the cells that there are."""

    def __init__(self, rows: Iterable[Sequence[str]]) -> None:
        self._rows = ([one_line(c) for c in r] for r in rows)
        self._ahead: list[list[str]] = []
        self._cells = 0

    def peek(self, count: int) -> list[list[str]]:
        """The rows that come next, at most ``count``, without going on."""
        self._ahead += islice(self._rows, max(0, count - len(self._ahead)))
        return self._ahead[:count]

    def peek_filled(self) -> list[list[str]]:
        """The rows that come next, up to the first that is empty."""
        return list(takewhile(any, self.peek(LOOK_AHEAD)))

    def peek_below(self, width: int) -> list[list[str]]:
        """The rows below a first one that an empty row follows, if they are as wide as it: rows with gaps between."""
        rows = list(filter(any, self.peek(LOOK_AHEAD)[1:]))[:5]
        return rows if all(len(_trim(row)) == width for row in rows) else []

    def next(self) -> list[str]:
        """Go on by one row; StopIteration after the last, Unusable if the sheet has too many cells."""
        row = self._ahead.pop(0) if self._ahead else next(self._rows)
        self._cells += len(_trim(row))
        if self._cells > MAX_CELLS:
            raise Unusable(f"more than {MAX_CELLS:,} cells: split it, or leave out what nobody asks about")
        return row

    def more(self) -> bool:
        """Go on to the next row with words; False if there is none."""
        while (row := next(iter(self.peek(1)), None)) is not None:
            if any(row):
                return True
            self.next()
        return False

    def until_next_table(self, width: int) -> Iterator[tuple[str, ...]]:
        """Go on to the next table; gives this one's rows, filled up to ``width`` cells, without the empty ones."""
        gap = False
        while self.peek(1):
            row = self._ahead[0]
            if not any(row):
                gap = True
            elif all(_RULE.fullmatch(cell) for cell in row if cell):
                pass  # a drawn line
            elif gap and self._begins_table():
                return
            else:
                gap = False
                cells = _trim(row)
                yield tuple(cells + [""] * (width - len(cells)))
            self.next()

    def _begins_table(self) -> bool:
        """Whether the row that comes next, after an empty one, begins another table."""
        ahead = self.peek_filled()
        titles = list(takewhile(lambda row: _filled(row) == 1, ahead))
        if titles:
            # A note may stand below a table; a title has a table below it, of which it may be an empty row away.
            below = ahead[len(titles):] or list(takewhile(any, self.peek(LOOK_AHEAD)[len(titles) + 1:]))
            return len(below) > 1 and looks_like_header(_trim(below[0]), below[1:6])
        return len(ahead) > 1 and not any(map(is_number, filter(None, ahead[0]))) and any(
            is_number(c) for r in ahead[1:8] for c in r)
