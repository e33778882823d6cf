"""Tables of HTML pages: which hold data, and which of their rows are the header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from canopy.importing.blocks import TableBlock
from canopy.importing.html_words import shown_text
from canopy.importing.tables import Cell, expand_spans, normalise_table

if TYPE_CHECKING:
    from bs4 import Tag


def holds_data(table: Tag) -> bool:
    """Whether a table without a table inside holds data.

    With a single row or column and no header cell it only places things.
    """
    lines = [r for r in table.find_all("tr") if r.find(["td", "th"]) is not None]
    widest = max((len(r.find_all(["td", "th"])) for r in lines), default=0)
    return bool(lines) and (table.find("th") is not None or (len(lines) > 1 and widest > 1))


def read_table(table: Tag) -> TableBlock | None:
    """A table with its spans filled in; None if it has no words.

    Leading rows of <thead> or of header cells alone are the header. A table whose rows each begin with a header cell,
    and have values beside it (an infobox), has none.
    """
    lines: list[list[Cell]] = []
    heads = named = 0
    for row in table.find_all("tr"):
        cells = row.find_all(["td", "th"], recursive=False)
        if not cells:
            continue
        lines.append([Cell(shown_text(c), _span(c, "colspan"), _span(c, "rowspan")) for c in cells])
        filled = [c for c, cell in zip(cells, lines[-1], strict=True) if cell.text]
        names_only = bool(filled) and all(c.name == "th" for c in filled)
        if heads == len(lines) - 1 and (row.find_parent("thead") is not None or names_only):
            heads += 1
        named += cells[0].name == "th" and any(c.name == "td" for c in cells)
    caption = table.find("caption")
    titles = sum(len(line) == 1 for line in lines[:heads])
    by_row = named > 0 and named + heads == len(lines) and heads == titles
    return normalise_table(
        expand_spans(lines), 0 if by_row else heads or None, shown_text(caption) if caption is not None else ""
    )


def _span(cell: Tag, attribute: str) -> int:
    digits = re.match(r"\s*(\d{1,6})", str(cell.get(attribute) or "1"))
    value = int(digits[1]) if digits else 1
    return value if value or attribute == "rowspan" else 1
