"""OpenDocument spreadsheets (.ods) to tables: they hold each cell's words as a person sees them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canopy.importing.archives import check_office_file
from canopy.importing.blocks import Document, one_line
from canopy.importing.sheet_marks import Place, SheetMarks, SheetPlaces, describe_marks, fill_merged
from canopy.importing.sheets import split_columns, table_blocks
from canopy.importing.workbook import DEFAULT_NAME
from canopy.ingest.sink import Unusable
from canopy.ingest.tables import MAX_CELLS

_OASIS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TABLE, _TEXT, _OFFICE, _STYLE, _DRAW = (_OASIS % name for name in ("table", "text", "office", "style", "drawing"))
_HIDDEN = ("collapse", "filter")
_GROUPS = tuple(f"{_TABLE}table-{name}" for name in (
    "rows", "header-rows", "row-group", "columns", "header-columns", "column-group"))
MAX_CONTENT = 64 << 20


def read_ods(path: Path) -> Document:
    """A spreadsheet of LibreOffice, Google or others: each sheet's tables, hidden and struck-out parts left out.

    Raises
    ------
    Unusable
        If the file is broken, encrypted, would unpack to too much, or has more than ``MAX_CELLS`` cells.
    """
    document, root = Document(()), _content(path)
    document.blocks = (block for title, rows in _sheets(root, document.notes) for part in split_columns(rows)
                       for block in table_blocks(part, "" if DEFAULT_NAME.fullmatch(title) else one_line(title)))
    return document


def _sheets(root: Any, notes: list[str]) -> Iterator[tuple[str, Iterator[list[str]]]]:
    styles = _Styles.of(root)
    for sheet in root.iter(f"{_TABLE}table"):
        title = sheet.get(f"{_TABLE}name", "")
        if sheet.get(f"{_TABLE}style-name", "") in styles.hidden:
            notes.append(f"sheet {title!r} is hidden: left out")
        else:
            yield title, _Sheet(sheet, styles).rows(title, notes)


def _content(path: Path) -> Any:
    from lxml import etree

    check_office_file(path, "META-INF")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "content.xml" not in names:
            raise Unusable("a ZIP archive, but without the content.xml of a spreadsheet")
        if b"encryption-data" in archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in names else False:
            raise Unusable("encrypted with a password: save it unprotected")
        if archive.getinfo("content.xml").file_size > MAX_CONTENT:
            raise Unusable(f"unpacks to more than {MAX_CONTENT >> 20} MiB: split it, or save it as .xlsx or .csv")
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        try:
            return etree.fromstring(archive.read("content.xml"), parser)
        except etree.XMLSyntaxError as e:
            raise Unusable(f"broken: {str(e)[:120]}") from None


@dataclass(slots=True)
class _Styles:
    """Names of the styles that hide a sheet or strike words out."""

    hidden: set[str] = field(default_factory=set)
    struck: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Any) -> _Styles:
        styles = cls()
        for style in root.iter(f"{_STYLE}style"):
            name = style.get(f"{_STYLE}name", "")
            for properties in style:
                if properties.get(f"{_TABLE}display") == "false":
                    styles.hidden.add(name)
                if properties.get(f"{_STYLE}text-line-through-style", "none") != "none":
                    styles.struck.add(name)
        return styles


def _children(element: Any, name: str) -> Iterator[Any]:
    """Rows or columns of a table, in groups or not."""
    for child in element:
        if child.tag == f"{_TABLE}{name}":
            yield child
        elif child.tag in _GROUPS:
            yield from _children(child, name)


class _Sheet:
    """A sheet at work: its rows as they show."""

    def __init__(self, sheet: Any, styles: _Styles) -> None:
        self._sheet, self._styles = sheet, styles
        self._marks, self._places = SheetMarks(), SheetPlaces()
        self._cells = 0
        x = 0
        for column in _children(sheet, "table-column"):
            count = int(column.get(f"{_TABLE}number-columns-repeated", "1"))
            if column.get(f"{_TABLE}visibility") in _HIDDEN:
                self._marks.hidden_columns |= set(range(x + 1, x + min(count, 1024) + 1))
            x += count
        objects = [frame[0].tag for frame in sheet.iter(f"{_DRAW}frame") if len(frame)]
        self._marks.charts = objects.count(f"{_DRAW}object")
        self._marks.pictures = objects.count(f"{_DRAW}image")

    def rows(self, title: str, notes: list[str]) -> Iterator[list[str]]:
        """The rows that show; the notes come with the last of them."""
        y, origins, hidden = 1, dict[Place, str](), self._marks.hidden_columns
        for row in _children(self._sheet, "table-row"):
            count = int(row.get(f"{_TABLE}number-rows-repeated", "1"))
            cells = fill_merged(self._read_row(row, y), self._marks.copies.get(y, {}), y, origins)
            repeats = count if any(cells) else 1
            self._cells += len(cells) * repeats
            if self._cells > MAX_CELLS:
                raise Unusable(f"more than {MAX_CELLS:,} cells: split it, or leave out what nobody asks about")
            if row.get(f"{_TABLE}visibility") in _HIDDEN:
                self._marks.filtered |= row.get(f"{_TABLE}visibility") == "filter"
                self._places.rows += range(y, y + repeats) if any(cells) else ()
            else:
                self._places.columns |= {x for x in hidden if x <= len(cells) and cells[x - 1]}
                for _ in range(repeats):
                    yield [cell for x, cell in enumerate(cells, 1) if x not in hidden]
            y += count
        notes += describe_marks(title, self._marks, self._places)

    def _read_row(self, row: Any, y: int) -> list[str]:
        cells: list[str] = []
        gap = 0  # empty cells count only before one with words: a row may end in a thousand of them
        for cell in row:
            if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                continue
            count = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            words = self._read_cell(cell, y, len(cells) + gap + 1)
            if not words:
                gap += count
                continue
            if gap + count > MAX_CELLS:
                raise Unusable(f"more than {MAX_CELLS:,} cells: split it, or leave out what nobody asks about")
            cells += [""] * gap
            gap = 0
            self._merge(cell, y, len(cells) + 1)
            cells += [words] * count
        return cells

    def _merge(self, cell: Any, y: int, x: int) -> None:
        """Note where a cell that spans others shows."""
        columns = min(int(cell.get(f"{_TABLE}number-columns-spanned", "1")), 1024)
        rows = min(int(cell.get(f"{_TABLE}number-rows-spanned", "1")), 100_000 // columns)
        if columns * rows > 1:
            for below in range(y, y + rows):
                self._marks.copies.setdefault(below, {}).update(
                    {right: (y, x) for right in range(x, x + columns)})

    def _read_cell(self, cell: Any, y: int, x: int) -> str:
        """A cell's words without comments and struck-out text; its value if it holds none."""
        if cell.find(f"{_OFFICE}annotation") is not None:
            self._marks.remarks.append((y, x))
        paragraphs = [(p, self._read_words(p)) for p in cell.findall(f"{_TEXT}p")]
        if not paragraphs:
            kind = cell.get(f"{_OFFICE}value-type", "")
            name = {"date": "date-value", "time": "time-value", "boolean": "boolean-value", "string": "string-value"}
            return str(cell.get(f"{_OFFICE}{name.get(kind, 'value')}", "")) if kind else ""
        plain = "\n".join(words for _, words in paragraphs)
        whole = "\n".join("".join(p.itertext()) for p, _ in paragraphs)
        struck = cell.get(f"{_TABLE}style-name", "") in self._styles.struck
        if whole.strip() and (struck or "".join(plain.split()) != "".join(whole.split())):
            self._places.struck.append((y, x))
        return "" if struck else plain.strip()

    def _read_words(self, element: Any) -> str:
        pieces = [element.text or ""]
        for child in element:
            if child.tag == f"{_TEXT}s":
                pieces.append(" " * min(int(child.get(f"{_TEXT}c", "1")), 1000))
            elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
                pieces.append(" ")
            elif child.get(f"{_TEXT}style-name", "") not in self._styles.struck and isinstance(child.tag, str):
                pieces.append(self._read_words(child))
            pieces.append(child.tail or "")
        return "".join(pieces)
