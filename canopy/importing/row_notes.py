"""Rows of a CSV file that are not like the others: named by their line, so that filled cells surprise nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

_NAMED_LINES = 5
_LONG_CELL_LINES = 100


class LineReader(Protocol):
    """What `csv.reader` gives: rows, and the number of the line that the last one ended on."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...


@dataclass(slots=True)
class _Lines:
    """Lines of one kind: how many, and the first of them."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.first) < _NAMED_LINES:
            self.first.append(line)

    def __str__(self) -> str:
        more = f" and {self.count - len(self.first)} more" if self.count > len(self.first) else ""
        return f"line{'s' if self.count > 1 else ''} {', '.join(map(str, self.first))}{more}"


def noted_rows(reader: LineReader, notes: list[str], above: int = 0) -> Iterator[list[str]]:
    """The rows as they are; at the end a note on those with fewer or more cells than their table's first row.

    Titles and remarks (a single cell) are not counted. A table ends at an empty line.

    Parameters
    ----------
    above : int
        Lines of the file before the reader's first.
    """
    short, long = _Lines(), _Lines()
    width = before = 0
    row: list[str] = []
    for row in reader:
        line, lines = before + 1 + above, reader.line_num - before
        before = reader.line_num
        if lines > _LONG_CELL_LINES:
            notes.append(f"line {line}: a row of {lines} lines; a quotation mark that is never closed?")
        cells = len(row)
        while cells > width and not row[cells - 1].strip():
            cells -= 1
        filled = sum(1 for cell in row if cell.strip())
        if not filled:
            width = 0
        elif width and cells > width:
            long.add(line)
        elif width and cells < width and (filled > 1 or cells > 1):
            short.add(line)
        width = width or (len(row) if filled > 1 else 0)
        yield row
    if row and row[-1].endswith(("\n", "\r")):
        notes.append(f"the last row, up to line {before + above}, ends inside a quotation mark: its lines are one cell")
    if short.count:
        notes.append(f"{short}: fewer cells than the table's first row; filled with empty cells")
    if long.count:
        notes.append(f"{long}: more cells than the table's first row; columns without a name hold them")
