"""Header and rows of a table record: checked, as strings, every row as wide as the widest."""

from __future__ import annotations

from collections.abc import Mapping

from canopy.ingest.fields import text_of
from canopy.ingest.sink import Unusable

MAX_CELLS = 5_000_000


def table_cells(record: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of a table record; numbers become strings, ragged rows are filled with empty cells.

    Raises
    ------
    Unusable
        If header or rows have another shape, hold other values, have no words, or would fill more than `MAX_CELLS`
        cells.
    """
    header, rows = record.get("header") or [], record.get("rows")
    if not isinstance(rows, (list, tuple)) or not rows:
        raise Unusable("a table needs rows: a list of at least one list of cells")
    lines = [header, *rows]
    if not all(isinstance(line, (list, tuple)) for line in lines):
        raise Unusable("header must be a list of column names and every row a list of cells")
    # Filling ragged rows costs rows x width: a few kilobytes of brackets must not become gigabytes of empty cells.
    width = max(map(len, lines))
    if width * len(rows) > MAX_CELLS:
        raise Unusable(f"a table of {len(rows)} rows and {width} columns; at most {MAX_CELLS:,} cells")
    cells = [[_cell(value) for value in line] for line in lines]
    if not any(cell.strip() for line in cells[1:] for cell in line):
        raise Unusable("the table is empty: no cell of any row has words")
    full = [tuple(line + [""] * (width - len(line))) for line in cells]
    return full[0], tuple(full[1:])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Unusable(f"a cell must be a string or a number, not {type(value).__name__}")
    try:
        return text_of(str(value), "a cell", empty=True)
    except ValueError:
        raise Unusable("a cell is a number of thousands of digits") from None
