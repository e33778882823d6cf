"""Tables of HTML pages: which hold data, and which of their rows are the header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from canopy.importing.blocks import TableBlock, one_line
from canopy.importing.html_words import shown_text
from canopy.importing.tables import Cell, expand_spans, is_number, normalise_table

if TYPE_CHECKING:
    from bs4 import Tag

_CELLS = ["td", "th"]
_HOLDERS = ["tr", "thead", "tbody", "tfoot", "form"]
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_HEAD_CLASS = re.compile(r"head|title", re.I)
# So long a cell is a column of a page, not a value.
_LONG = 1_500


def is_data_table(table: Tag, has_inner: bool) -> bool:
    """Whether a table holds data. Otherwise it only places things, and its cells are read one after the other.

    With a single row or column and no header cell, with headings or very long texts and no header cell, or with tables
    in its cells (unless these are few in a table with header cells) it holds none.
    """
    if table.get("role") in ("presentation", "none"):
        return False
    lines = [r.find_all(_CELLS, recursive=False) for r in _rows(table)]
    lines = [line for line in lines if line]
    cells = [c for line in lines for c in line]
    has_heads = any(c.name == "th" for c in cells)
    if has_inner:
        inner = sum(c.find("table") is not None for c in cells)
        return has_heads and inner * 4 <= len(cells)
    if has_heads or table.find("caption") is not None:
        return bool(lines)
    if len(lines) < 2 or max(map(len, lines), default=0) < 2:
        return False
    return table.find(_HEADINGS) is None and all(len(c.get_text()) <= _LONG for c in cells)


def read_table(table: Tag) -> TableBlock | None:
    """A table with its spans filled in; None if it has no words.

    Leading rows of <thead> or of header cells alone are the header. A table whose rows each begin with a header cell,
    and have values beside it (an infobox), has none. In a table without header cells the first row is the header if it
    alone is set in bold type; one of two columns of words has none.
    """
    lines: list[list[Cell]] = []
    heads = named = wide = 0
    bold: list[bool] = []
    has_heads = False
    for row in _rows(table):
        cells = row.find_all(_CELLS, recursive=False)
        if not cells:
            continue
        lines.append([Cell(shown_text(c), _span(c, "colspan"), _span(c, "rowspan")) for c in cells])
        filled = [c for c, cell in zip(cells, lines[-1], strict=True) if cell.text]
        names_only = bool(filled) and all(c.name == "th" or c.get("role") == "columnheader" for c in filled)
        bold.append(bool(filled) and (all(_is_bold(c) for c in filled) or _names_head(row)))
        has_heads = has_heads or any(c.name == "th" for c in cells) or row.find_parent("thead") is not None
        if heads == len(lines) - 1 and (row.find_parent("thead") is not None or names_only):
            heads += 1
        elif len(cells) > 1:
            wide += 1
            named += cells[0].name == "th" and any(c.name == "td" for c in cells)
    titles = sum(len(line) == 1 for line in lines[:heads])
    by_row = named > 0 and named == wide and heads == titles
    header_rows = 0 if by_row else heads or None
    grid = expand_spans(lines)
    if not has_heads and len(lines) > 1:
        header_rows = 1 if bold[0] and not any(bold[1:]) else None
        if header_rows is None and _lists_properties(grid):
            header_rows = 0
    return normalise_table(grid, header_rows, _caption(table))


def _rows(table: Tag) -> list[Tag]:
    """A table's own rows as a browser shows them: its foot last, wherever it is written.

    Only elements that may hold rows are entered, since tables may nest without end.
    """
    rows: list[Tag] = []
    feet: list[Tag] = []
    for part in table.find_all(_HOLDERS, recursive=False):
        if part.name == "tr":
            rows.append(part)
        else:
            (feet if part.name == "tfoot" else rows).extend(part.find_all("tr", recursive=False))
    return rows + feet


def _caption(table: Tag) -> str:
    caption = table.find("caption")
    if caption is not None and caption.find_parent("table") is table:
        return shown_text(caption)
    return one_line(str(table.get("aria-label") or table.get("summary") or ""))


def _is_bold(cell: Tag) -> bool:
    """Whether all words of a cell are in bold type."""
    strong = "".join(b.get_text() for b in cell.find_all(["b", "strong"]) if b.find_parent(["b", "strong"]) is None)
    return "".join(strong.split()) == "".join(cell.get_text().split())


def _names_head(row: Tag) -> bool:
    return any(_HEAD_CLASS.search(str(c)) for c in row.get("class") or [])


def _lists_properties(grid: Sequence[Sequence[str]]) -> bool:
    """Whether each row of two columns is a name and its value, the first one too.

    Its names end in a colon, or its values are not all numbers under a word.
    """
    rows = [row for row in grid if any(row)]
    if any(len(row) != 2 for row in rows):
        return False
    if all(row[0].endswith(":") for row in rows if row[0]):
        return True
    below = [is_number(row[1]) for row in rows[1:] if row[1]]
    return not (below and sum(below) * 5 >= len(below) * 4 and not is_number(rows[0][1]))


def _span(cell: Tag, attribute: str) -> int:
    digits = re.match(r"\s*(\d{1,6})", str(cell.get(attribute) or "1"))
    value = int(digits[1]) if digits else 1
    return value if value or attribute == "rowspan" else 1
