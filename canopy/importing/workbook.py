"""Excel workbooks to tables, row by row, with values as a person sees them."""

from __future__ import annotations

import datetime
import math
import re
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from canopy.importing.archives import check_office_file
from canopy.importing.blocks import Document, one_line
from canopy.importing.number_formats import show_number, show_text, show_time
from canopy.importing.sheets import table_blocks
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import MAX_CELLS

_DEFAULT_NAME = re.compile(r"(?:Sheet|Table|Tabelle|Feuil|Hoja|Foglio|Blad|Arkusz|Planilha|Лист|工作表) ?\d*")
# Above this, a workbook is not opened a second time for its merged cells and formulas, which takes memory.
_SMALL = 16 << 20
MAX_SHEET_ROWS = 1_048_576
_BROKEN = (KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, SyntaxError)


def read_xlsx(path: Path) -> Document:
    """A workbook: each sheet's tables, values as they show (dates, shares), formulas by their stored result.

    A formula without a stored result shows itself, with a note. Cells merged over several columns or rows say the same
    in each. Charts and pictures are left out.

    Raises
    ------
    Unusable
        If the file is broken, encrypted, would unpack to too much, or has more than ``MAX_CELLS`` cells.
    """
    document = Document(())
    document.blocks = (block for title, rows in workbook_rows(path, document.notes)
                       for block in table_blocks(rows, "" if _DEFAULT_NAME.fullmatch(title) else one_line(title)))
    return document


def workbook_rows(path: Path, notes: list[str]) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """The sheets of a workbook: title and rows, which must be read before the next sheet is asked for.

    Unusable as for `read_xlsx`.
    """
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    unpacked = check_office_file(path, "xl")
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        full = load_workbook(path) if unpacked <= _SMALL else None
    except (*_BROKEN, InvalidFileException) as e:
        raise Unusable(f"not a workbook that can be read: {type(e).__name__}: {str(e)[:120]}") from None
    if full is None:
        notes.append(
            "a large workbook: merged cells count for their first place only, and formulas by their stored results"
        )
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                notes.append(f"sheet {sheet.title!r} is hidden: left out")
                continue
            yield (
                sheet.title,
                _sheet_rows(
                    sheet, full[sheet.title] if full is not None and sheet.title in full.sheetnames else None, notes
                ),
            )
    finally:
        book.close()


def _sheet_rows(sheet: Any, full: Any, notes: list[str]) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong, and rows would be filled up to it
    copies = _merged(full)
    origins = {o: "" for row in copies.values() for o in row.values()}
    formulas, bare, left_out = _formulas(full), 0, 0
    hidden_rows, hidden_columns = _hidden(full)
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
        once = {copies[y][x] for x in copies.get(y, {}) if cells[x - 1]}
        if len(once) == 1 and all(x in copies[y] for x, cell in enumerate(cells, 1) if cell):
            words = next(filter(None, cells))  # a title or a note across several columns
            cells = [words if x == next(iter(once))[1] else "" for x in range(1, len(cells) + 1)]
        if y in hidden_rows:
            left_out += any(cells)
            continue
        yield [cell for x, cell in enumerate(cells, 1) if x not in hidden_columns]
    if left_out or hidden_columns:
        notes.append(
            f"sheet {sheet.title!r}: {left_out} hidden rows and {len(hidden_columns)} hidden columns are left out"
        )
    if bare:
        notes.append(
            f"sheet {sheet.title!r}: {bare} formulas have no stored result and stand as they are; open and save the "
            "file in a spreadsheet program"
        )


def _merged(full: Any) -> dict[int, dict[int, tuple[int, int]]]:
    """Row -> column -> the cell whose value shows there, for merged cells.

    Those across the whole sheet (titles) are left alone.
    """
    copies: dict[int, dict[int, tuple[int, int]]] = {}
    left = 100_000
    for area in full.merged_cells.ranges if full is not None else ():
        columns, rows = area.max_col - area.min_col + 1, area.max_row - area.min_row + 1
        if columns * rows <= left and not 1 < full.max_column <= columns:
            left -= columns * rows
            for y in range(area.min_row, area.max_row + 1):
                copies.setdefault(y, {}).update(
                    {x: (area.min_row, area.min_col) for x in range(area.min_col, area.max_col + 1)}
                )
    return copies


def _hidden(full: Any) -> tuple[set[int], set[int]]:
    """Numbers of the hidden rows and columns of a sheet."""
    if full is None:
        return set(), set()
    rows = {number for number, row in full.row_dimensions.items() if row.hidden}
    columns = {x for column in full.column_dimensions.values() if column.hidden
               for x in range(column.min or 1, min(column.max or 1, full.max_column) + 1)}
    return rows, columns


def _formulas(full: Any) -> dict[int, dict[int, str]]:
    """Row -> column -> formula as written; nothing of a sheet with a cell far out, which would have to be walked to."""
    formulas: dict[int, dict[int, str]] = {}
    if full is not None and full.max_row * full.max_column <= MAX_CELLS:
        for row in full.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    formulas.setdefault(cell.row, {})[cell.column] = str(getattr(cell.value, "text", cell.value))
    return formulas


def shown_value(value: Any, number_format: str = "") -> str:
    """A cell's value as a person sees it: numbers, dates and texts in their format."""
    code = str(number_format or "General")
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    if isinstance(value, (int, float)):
        return show_number(value, code)
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return show_time(value, code)
    return show_text(str(value), code)
