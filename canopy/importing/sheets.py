"""Spreadsheets (.csv, .tsv, .xlsx) to tables, row by row, so that a huge file costs no more memory than a small one."""

from __future__ import annotations

import csv
import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, TextIO

from canopy.importing.archives import check_office_file
from canopy.importing.blocks import Block, Document, TableBlock, one_line
from canopy.importing.decoding import find_encoding
from canopy.importing.tables import is_number, looks_like_header
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import MAX_CELLS

_LOOK_AHEAD = 50
_MAX_LINE = 16 << 20
_DEFAULT_NAME = re.compile(r"(?:Sheet|Table|Tabelle|Feuil|Hoja|Foglio|Blad|Arkusz|Planilha|Лист|工作表) ?\d*")
# Above this, a workbook is not opened a second time for its merged cells and formulas, which takes memory.
_SMALL = 16 << 20
MAX_SHEET_ROWS = 1_048_576


def read_csv(path: Path) -> Document:
    """A .csv or .tsv file as one table; its delimiter is the one that gives the most even rows.

    Unusable, once the bound is reached, where it has more than ``MAX_CELLS`` cells, or is broken.
    """
    document = Document(())
    document.blocks = table_blocks(csv_rows(path, document.notes))
    return document


def csv_rows(path: Path, notes: list[str]) -> Iterator[list[str]]:
    """The rows of a .csv or .tsv file as they stand. Unusable where it cannot be read to its end."""
    encoding = find_encoding(path)
    if encoding.note:
        notes.append(encoding.note)
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        start = f.read(64 << 10)
        f.seek(0)
        delimiter = "\t" if path.suffix.lower() == ".tsv" else find_delimiter(start)
        if start.lstrip("\ufeff").startswith("sep=") and len(start) > 4:  # Excel's own mark
            delimiter = start.lstrip("\ufeff")[4]
            f.readline()
        try:
            yield from csv.reader(_lines(f), delimiter=delimiter)
        except csv.Error as e:
            raise Unusable(f"not a table that can be read: {e}; a quotation mark that is never closed?") from None
        except UnicodeDecodeError as e:
            raise Unusable(f"looks like {encoding.name}, but not all of it is: {str(e)[:120]}") from None


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise Unusable(f"a line of more than {_MAX_LINE:,} characters: not a table of rows")
        yield line.replace("\x00", "")


def find_delimiter(sample: str) -> str:
    """Comma, semicolon, tab or bar: the one by which most of the first rows have the same number of cells, more than one."""
    best, chosen = (0.0, 0), ","
    lines = sample.splitlines()[:_LOOK_AHEAD + 1]
    lines = lines[:-1] if len(lines) > 1 and len(sample) == 64 << 10 else lines
    for delimiter in (",", ";", "\t", "|"):
        try:
            widths = Counter(len(r) for r in csv.reader(lines, delimiter=delimiter) if r)
        except csv.Error:
            continue
        width, rows = max(widths.items(), key=lambda w: (w[0] > 1, w[1], w[0]), default=(1, 0))
        if width > 1 and (rows / widths.total(), width) > best:
            best, chosen = (rows / widths.total(), width), delimiter
    return chosen


def table_blocks(rows: Iterable[Sequence[str]], title: str = "") -> Iterator[Block]:
    """A sheet's rows as tables.

    Leading rows with one filled cell (above wider ones) are a title. Where an empty row is followed by one that again looks like a
    header with numbers below it, or by such a title, a new table begins; other empty rows are passed over.
    """
    source = _Rows(rows)
    while source.more():
        titles = [title] if title else []
        while (head := source.peek_filled()) and _is_title(head, source.peek(_LOOK_AHEAD)):
            titles.append("".join(source.next()))
            source.more()
        if not head:
            yield TableBlock(("",), [(". ".join(titles),)])
            return
        header: tuple[str, ...] = ()
        if len(head) > 1 and looks_like_header(_trim(head[0]), head[1:6]):
            header = tuple(_trim(source.next()))
        yield TableBlock(header, source.until_next_table(len(header)), ". ".join(titles))


def _is_title(block: Sequence[Sequence[str]], ahead: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of a block (rows up to an empty one) stands above a table: a single cell, with wider rows to come."""
    if _filled(block[0]) != 1:
        return False
    widest = max(map(_filled, block))
    return widest > 1 or (len(block) <= 3 and any(_filled(r) > 1 for r in ahead))


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
        self._ahead += islice(self._rows, max(0, count - len(self._ahead)))
        return self._ahead[:count]

    def peek_filled(self) -> list[list[str]]:
        """The rows that come next, up to the first that is empty."""
        return list(takewhile(any, self.peek(_LOOK_AHEAD)))

    def next(self) -> list[str]:
        row = self._ahead.pop(0) if self._ahead else next(self._rows)
        self._cells += len(_trim(row))
        if self._cells > MAX_CELLS:
            raise Unusable(f"more than {MAX_CELLS:,} cells: split it, or leave out what nobody asks about")
        return row

    def more(self) -> bool:
        """Go on to the next row with words; False where there is none."""
        while (row := next(iter(self.peek(1)), None)) is not None:
            if any(row):
                return True
            self.next()
        return False

    def until_next_table(self, width: int) -> Iterator[tuple[str, ...]]:
        gap = False
        while self.peek(1):
            row = self._ahead[0]
            if not any(row):
                gap = True
            elif gap and self._begins_table():
                return
            else:
                gap = False
                cells = _trim(row)
                yield tuple(cells + [""] * (width - len(cells)))
            self.next()

    def _begins_table(self) -> bool:
        """Whether the row that comes next, after an empty one, begins another table."""
        ahead = list(takewhile(any, self.peek(8)))
        if len(ahead) < 2:
            return False
        if _filled(ahead[0]) == 1 and _filled(ahead[1]) > 1:
            return True
        return _filled(ahead[0]) > 1 and not any(map(is_number, filter(None, ahead[0]))) and any(is_number(c) for r in ahead[1:] for c in r)


def read_xlsx(path: Path) -> Document:
    """A workbook: each sheet's tables, values as they show (dates, shares), formulas by their stored result.

    A formula without a stored result shows itself, with a note. Cells merged over several columns or rows say the same in each. Charts
    and pictures are left out.

    Raises
    ------
    Unusable
        Where the file is broken, encrypted, would unpack to too much, or has more than ``MAX_CELLS`` cells.
    """
    document = Document(())
    document.blocks = (block for title, rows in workbook_rows(path, document.notes)
                       for block in table_blocks(rows, "" if _DEFAULT_NAME.fullmatch(title) else one_line(title)))
    return document


def workbook_rows(path: Path, notes: list[str]) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """The sheets of a workbook: title and rows, which must be read before the next sheet is asked for. Unusable as for `read_xlsx`."""
    import zipfile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    unpacked = check_office_file(path, "xl")
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        full = load_workbook(path) if unpacked <= _SMALL else None
    except (InvalidFileException, KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, SyntaxError) as e:
        raise Unusable(f"not a workbook that can be read: {type(e).__name__}: {str(e)[:120]}") from None
    if full is None:
        notes.append("a large workbook: merged cells count for their first place only, and formulas by their stored results")
    try:
        for sheet in book.worksheets:
            yield sheet.title, _sheet_rows(sheet, full[sheet.title] if full is not None and sheet.title in full.sheetnames else None, notes)
    finally:
        book.close()


def _sheet_rows(sheet: Any, full: Any, notes: list[str]) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong, and rows would be filled up to it
    copies = _merged(full)
    origins = {o: "" for row in copies.values() for o in row.values()}
    formulas, bare = _formulas(full), 0
    for y, row in enumerate(islice(sheet.iter_rows(), MAX_SHEET_ROWS), 1):
        cells = [shown_value(c.value, getattr(c, "number_format", "")) for c in row]
        for x, formula in formulas.get(y, {}).items():
            if x <= len(cells) and not cells[x - 1]:
                cells[x - 1], bare = formula, bare + 1
        for x, origin in sorted(copies.get(y, {}).items()):
            cells += [""] * (x - len(cells))
            if origin == (y, x):
                origins[origin] = cells[x - 1]
            cells[x - 1] = cells[x - 1] or origins[origin]
        yield cells
    if bare:
        notes.append(f"sheet {sheet.title!r}: {bare} formulas have no stored result and stand as they are; open and save the "
                     "file in a spreadsheet program")


def _merged(full: Any) -> dict[int, dict[int, tuple[int, int]]]:
    """Row -> column -> the cell whose value shows there, for merged cells; those across the whole sheet (titles) are left alone."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    left = 100_000
    for area in full.merged_cells.ranges if full is not None else ():
        columns, rows = area.max_col - area.min_col + 1, area.max_row - area.min_row + 1
        if columns * rows <= left and not 1 < full.max_column <= columns:
            left -= columns * rows
            for y in range(area.min_row, area.max_row + 1):
                found.setdefault(y, {}).update({x: (area.min_row, area.min_col) for x in range(area.min_col, area.max_col + 1)})
    return found


def _formulas(full: Any) -> dict[int, dict[int, str]]:
    """Row -> column -> formula as written; nothing of a sheet with a cell far out, which would have to be walked to."""
    found: dict[int, dict[int, str]] = {}
    if full is not None and full.max_row * full.max_column <= MAX_CELLS:
        for row in full.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    found.setdefault(cell.row, {})[cell.column] = str(getattr(cell.value, "text", cell.value))
    return found


def shown_value(value: Any, number_format: str = "") -> str:
    """A cell's value as a person sees it: whole numbers without a point, shares in per cent, dates in ISO form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    if isinstance(value, (int, float)) and "%" in str(number_format or ""):
        return f"{round(value * 100, 6):.10g}%"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)
