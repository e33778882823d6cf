"""Excel workbooks to tables, row by row, with values as a person sees them."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
import warnings
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from canopy.importing.archives import check_office_file
from canopy.importing.blocks import Document, one_line
from canopy.importing.number_formats import show_number, show_text, show_time
from canopy.importing.sheet_marks import (
    Place,
    SheetMarks,
    SheetPlaces,
    describe_marks,
    fill_merged,
    read_marks,
    text_boxes,
)
from canopy.importing.sheets import split_columns, table_blocks
from canopy.ingest.sink import Unusable

DEFAULT_NAME = re.compile(r"(?:Sheet|Table|Tabelle|Feuil|Hoja|Foglio|Blad|Arkusz|Planilha|Лист|工作表) ?\d*")
# Above this, a workbook is not opened a second time for its merged cells and formulas, which takes memory.
_SMALL = 16 << 20
_BAD_DATE = re.compile(r"Cell (\w+) is marked as a date but the serial value (\S+) is outside the limits")
_MAX_FAULTS = 10
MAX_SHEET_ROWS = 1_048_576
_BROKEN = (KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, SyntaxError)


def read_xlsx(path: Path) -> Document:
    """A workbook: each sheet's tables, with every value in its number format, formulas by their stored result.

    A formula without a stored result shows itself. A cell merged over several rows says the same in each, and so does
    one over several columns, unless it is the name of a row. Hidden sheets, rows and columns, struck-out words,
    comments, charts and pictures are left out. Each of these has a note.

    Raises
    ------
    Unusable
        If the file is broken, encrypted, would unpack to too much, or has more than ``MAX_CELLS`` cells.
    """
    document = Document(())
    document.blocks = (block for title, rows in workbook_rows(path, document.notes) for part in split_columns(rows)
                       for block in table_blocks(part, "" if DEFAULT_NAME.fullmatch(title) else one_line(title)))
    return document


def workbook_rows(path: Path, notes: list[str]) -> Iterator[tuple[str, Iterator[list[str]]]]:
    """The sheets of a workbook: title and rows, which must be read before the next sheet is asked for.

    Unusable as for `read_xlsx`.
    """
    from openpyxl.utils.exceptions import InvalidFileException

    unpacked = check_office_file(path, "xl")
    broken = (*_BROKEN, InvalidFileException)
    try:
        book, charts, _ = _open_book(path, read_only=True)
    except broken as e:
        raise Unusable(f"not a workbook that can be read: {type(e).__name__}: {str(e)[:120]}") from None
    try:
        full = None
        if unpacked <= _SMALL:
            full, _, faults = _open_book(path, read_only=False)
            notes += faults
        why = "a large workbook"
    except broken:
        full, why = None, "a workbook that is damaged in part"
    if full is None:
        notes.append(f"{why}: merged cells count for their first place only, formulas by their stored results, and "
                     "hidden rows, hidden columns and struck-out text are not told from others")
    notes += [f"chart sheet {title!r} is left out" for title in charts]
    notes += [f"a text box is left out: {words!r}" for words in text_boxes(path)]
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                notes.append(f"sheet {sheet.title!r} is hidden: left out")
                continue
            whole = full[sheet.title] if full is not None and sheet.title in full.sheetnames else None
            yield sheet.title, _sheet_rows(sheet, read_marks(whole) if whole else SheetMarks(), notes)
    finally:
        book.close()


def _open_book(path: Path, *, read_only: bool) -> tuple[Any, list[str], list[str]]:
    """A workbook by openpyxl, the titles of its chart sheets, which openpyxl may stumble over, and faults of cells."""
    from openpyxl.reader.excel import ExcelReader

    charts: list[str] = []

    class Reader(ExcelReader):
        def read_chartsheet(self, sheet: Any, rel: Any) -> None:
            charts.append(sheet.name)

        def read_strings(self) -> None:
            with contextlib.suppress(KeyError):  # listed, but not there, in files whose cells hold their own strings
                super().read_strings()

    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        reader = Reader(path, read_only, False, read_only, False, not read_only)
        reader.read()
    # Others are on styles and extensions, which say nothing of the values.
    dates = [match for r in remarks if (match := _BAD_DATE.match(str(r.message)))]
    return reader.wb, charts, [f"cell {m[1]}: {m[2]} is no date, as which it is to show: it stands as #VALUE!"
                               for m in dates[:_MAX_FAULTS]]


def _quiet_rows(sheet: Any) -> Iterator[Any]:
    """The rows of a sheet; openpyxl's warnings are noted when the whole workbook is opened."""
    rows = islice(sheet.iter_rows(), MAX_SHEET_ROWS)
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = next(rows, None)
        if row is None:
            return
        yield row


def _sheet_rows(sheet: Any, marks: SheetMarks, notes: list[str]) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong, and rows would be filled up to it
    origins: dict[Place, str] = {}
    left_out = SheetPlaces()
    for y, row in enumerate(_quiet_rows(sheet), 1):
        cells = [shown_value(c.value, getattr(c, "number_format", "")) for c in row]
        bare = [x for x, c in enumerate(row, 1) if not cells[x - 1] and c.value not in (None, "")]
        formulas = []
        for x, formula in marks.formulas.get(y, {}).items():
            if x <= len(cells) and row[x - 1].value is None:
                cells[x - 1] = formula
                formulas.append(x)
        struck = [x for x in marks.struck.get(y, {}) if x <= len(cells) and cells[x - 1]]
        for x in struck:
            cells[x - 1] = marks.struck[y][x]
        cells = fill_merged(cells, marks.copies.get(y, {}), y, origins)
        if y in marks.hidden_rows:
            left_out.rows += [y] * any(cells)
            continue
        left_out.columns |= {x for x in marks.hidden_columns if x <= len(cells) and cells[x - 1]}
        for places, columns in ((left_out.struck, struck), (left_out.blank, bare), (left_out.formulas, formulas)):
            places += [(y, x) for x in columns if x not in marks.hidden_columns]
        yield [cell for x, cell in enumerate(cells, 1) if x not in marks.hidden_columns]
    notes += describe_marks(sheet.title, marks, left_out)


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
