"""What stands beside the values of a sheet: merged and hidden cells, struck-out words, formulas, remarks, charts."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.importing.tables import is_number
from canopy.ingest.tables import MAX_CELLS

_NAMED_PLACES = 10
_DRAWING = re.compile(r"xl/drawings/drawing\d*\.xml")
_MAX_COPIES = 100_000
Place = tuple[int, int]


@dataclass(slots=True)
class SheetMarks:
    """Marks of one sheet; rows and columns count from 1.

    Parameters
    ----------
    copies : dict
        Row -> column -> the cell whose value shows there, for merged cells.
    formulas : dict
        Row -> column -> formula as written.
    struck : dict
        Row -> column -> what is left of a cell's words without those that are struck out.
    """

    copies: dict[int, dict[int, Place]] = field(default_factory=dict)
    formulas: dict[int, dict[int, str]] = field(default_factory=dict)
    struck: dict[int, dict[int, str]] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    filtered: bool = False
    remarks: list[Place] = field(default_factory=list)
    charts: int = 0
    pictures: int = 0


def read_marks(sheet: Any) -> SheetMarks:
    """The marks of an openpyxl worksheet that is read in full; none of a sheet with a cell far out, which would have to
    be walked to."""
    marks = SheetMarks(_merged(sheet), charts=len(sheet._charts), pictures=len(sheet._images))
    marks.hidden_rows = {n for n, row in sheet.row_dimensions.items() if row.hidden or row.height == 0}
    marks.hidden_columns = {
        x for column in sheet.column_dimensions.values() if column.hidden or column.width == 0
        for x in range(column.min or 1, min(column.max or 1, sheet.max_column) + 1)}
    marks.filtered = bool(sheet.auto_filter.filterColumn) or any(
        t.autoFilter is not None and t.autoFilter.filterColumn for t in sheet.tables.values())
    if sheet.max_row * sheet.max_column > MAX_CELLS:
        return marks
    struck_fonts = {n for n, font in enumerate(sheet.parent._fonts) if font.strike}
    for row in sheet.iter_rows():
        for cell in row:
            if cell.data_type == "f":
                formula = str(getattr(cell.value, "text", cell.value))
                marks.formulas.setdefault(cell.row, {})[cell.column] = formula
            if cell.value is not None and (rest := _without_struck(cell, struck_fonts)) is not None:
                marks.struck.setdefault(cell.row, {})[cell.column] = rest
            if getattr(cell, "comment", None) is not None:
                marks.remarks.append((cell.row, cell.column))
    return marks


def text_boxes(path: Path) -> list[str]:
    """The words of a workbook's text boxes, which lie over its cells; only the first of many and of long ones."""
    from lxml import etree

    boxes: list[str] = []
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with zipfile.ZipFile(path) as archive:
        for name in sorted(n for n in archive.namelist() if _DRAWING.fullmatch(n)):
            try:
                root = etree.fromstring(archive.read(name), parser)
            except etree.XMLSyntaxError:
                continue  # openpyxl reads no such drawing either
            for body in root.iter("{*}txBody"):
                words = " ".join("".join(t.text or "" for t in p.iter("{*}t")) for p in body.iter("{*}p"))
                boxes += [" ".join(words.split())[:200]] if words.strip() else []
    return boxes[:_NAMED_PLACES] + ([f"{len(boxes) - _NAMED_PLACES} more"] if len(boxes) > _NAMED_PLACES else [])


def _without_struck(cell: Any, struck_fonts: Collection[int]) -> str | None:
    """A cell's words less those that are struck out; None if none are."""
    from openpyxl.cell.rich_text import CellRichText, TextBlock

    whole = cell.has_style and cell._style.fontId in struck_fonts
    if not isinstance(cell.value, CellRichText):
        return "" if whole else None
    struck = [bool(p.font.strike) if isinstance(p, TextBlock) else whole for p in cell.value]
    if not any(struck):
        return None
    return "".join(str(p) for p, out in zip(cell.value, struck, strict=True) if not out)


def _merged(sheet: Any) -> dict[int, dict[int, Place]]:
    """Where merged cells show which cell's value.

    Those across the whole sheet (titles) are left alone.
    """
    copies: dict[int, dict[int, Place]] = {}
    left = _MAX_COPIES
    for area in sheet.merged_cells.ranges:
        columns, rows = area.max_col - area.min_col + 1, area.max_row - area.min_row + 1
        if columns * rows > left or 1 < sheet.max_column <= columns:
            continue
        left -= columns * rows
        for y in range(area.min_row, area.max_row + 1):
            copies.setdefault(y, {}).update(
                {x: (area.min_row, area.min_col) for x in range(area.min_col, area.max_col + 1)})
    return copies


def fill_merged(cells: list[str], copies: Mapping[int, Place], y: int, origins: dict[Place, str]) -> list[str]:
    """A row with the words of merged cells where they show.

    The name of a row of values (``Total``) stands once, and so do the words of a row that is one such cell.

    Parameters
    ----------
    origins : dict
        The words of merged cells so far; this row's are added.
    """
    for x, origin in sorted(copies.items()):
        cells += [""] * (x - len(cells))
        if origin == (y, x):
            origins[origin] = cells[x - 1]
        cells[x - 1] = cells[x - 1] or origins.get(origin, "")
    first = next((x for x, cell in enumerate(cells, 1) if cell), 0)
    name = [x for x in copies if copies[x] == copies.get(first)]
    if len(name) > 1 and any(is_number(cell) for x, cell in enumerate(cells, 1) if x not in name):
        for x in name:
            cells[x - 1] = cells[x - 1] if x == first else ""  # the name of a row of values
    once = {copies[x] for x in copies if cells[x - 1]}
    if len(once) == 1 and all(x in copies for x, cell in enumerate(cells, 1) if cell):
        (top, left), words = next(iter(once)), next(filter(None, cells))  # a title or a note across several places
        return [words if (y, x) == (top, left) else "" for x in range(1, len(cells) + 1)]
    return cells


def describe_marks(title: str, marks: SheetMarks, left_out: SheetPlaces) -> Iterator[str]:
    """Notes on what of a sheet is left out, each with its place."""
    name = f"sheet {title!r}"
    letters = [_letter(x) for x in sorted(left_out.columns)]
    why = "hidden or filtered-out " if marks.filtered else "hidden "
    kinds = [f"{n} {kind}{'s' if n > 1 else ''}" for n, kind in
             ((marks.charts, "chart"), (marks.pictures, "picture")) if n]
    for what, places in (
        (f"{why}row", left_out.rows), ("hidden column", letters),
        ("struck-out text of cell", _addresses(left_out.struck)), ("comment on cell", _addresses(marks.remarks)),
        ("value whose format shows nothing in cell", _addresses(left_out.blank)),
    ):
        if places:
            yield f"{name}: left out: {_name(what, places)}"
    if kinds:
        yield f"{name}: left out: {' and '.join(kinds)}"
    if left_out.formulas:
        yield (f"{name}: formulas without a stored result stand as they are: "
               f"{_name('cell', _addresses(left_out.formulas))}; open and save the file in a spreadsheet program")


@dataclass(slots=True)
class SheetPlaces:
    """Where something of a sheet was left out, or stands otherwise than a person sees it."""

    rows: list[int] = field(default_factory=list)
    columns: set[int] = field(default_factory=set)
    struck: list[Place] = field(default_factory=list)
    blank: list[Place] = field(default_factory=list)
    formulas: list[Place] = field(default_factory=list)


def _letter(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


def _addresses(places: Iterable[Place]) -> list[str]:
    return [f"{_letter(x)}{y}" for y, x in places]


def _name(kind: str, places: Sequence[int] | Sequence[str]) -> str:
    """``rows 3, 7-9``; only the first of many."""
    numbers = [p for p in places if isinstance(p, int)]
    names = _ranges(numbers) if numbers else [str(p) for p in places]
    more = f", ... ({len(places)})" if len(names) > _NAMED_PLACES else ""
    return f"{kind}{'' if len(places) == 1 else 's'} {', '.join(names[:_NAMED_PLACES])}{more}"


def _ranges(numbers: Iterable[int]) -> list[str]:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
