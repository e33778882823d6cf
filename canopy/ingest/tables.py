"""Header and rows of a table record: checked, as strings, every row as wide as the widest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.ingest.fields import text_of
from canopy.ingest.sink import Unusable

MAX_CELLS = 5_000_000
_NAMED_ROWS = 5

Row = tuple[str, ...]


def table_cells(record: Mapping[str, object], notes: list[str] | None = None) -> tuple[Row, tuple[Row, ...]]:
    """Header and rows of a table record; numbers become strings, ragged rows are filled with empty cells.

    Parameters
    ----------
    notes : list of str, optional
        Which rows were filled is added to it.

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
    return fill_rows(cells[0], cells[1:], notes)


def fill_rows(
    header: Sequence[str], rows: Sequence[Sequence[str]], notes: list[str] | None = None
) -> tuple[Row, tuple[Row, ...]]:
    """Header and rows as wide as the widest of them, filled with empty cells; no cell is dropped.

    The one rule for ragged tables, whichever door they come through: a shorter row is filled, a longer one gives
    columns without a name, and both are noted.
    """
    width = max(map(len, (header, *rows)))
    if notes is not None:
        short = [n for n, row in enumerate(rows) if len(row) < width and len(row) < (len(header) or width)]
        long = [n for n, row in enumerate(rows) if header and len(row) > len(header)]
        if short:
            notes.append(f"{_name_rows(short)} fewer cells than the table's {len(header) or width} columns: filled "
                         "with empty cells")
        if long:
            notes.append(f"{_name_rows(long)} more cells than the header's {len(header)} columns: the columns from "
                         f"{len(header) + 1} on have no name")
    full = [tuple(line) + ("",) * (width - len(line)) for line in (header, *rows)]
    return full[0], tuple(full[1:])


def _name_rows(numbers: Sequence[int]) -> str:
    names = ", ".join(f"rows[{n}]" for n in numbers[:_NAMED_ROWS])
    more = f" and {len(numbers) - _NAMED_ROWS} more rows" if len(numbers) > _NAMED_ROWS else ""
    return f"{names}{more} {'has' if len(numbers) == 1 else 'have'}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Unusable(f"a cell must be a string or a number, not {type(value).__name__}")
    try:
        return text_of(str(value), "a cell", empty=True)
    except ValueError:
        raise Unusable("a cell is a number of thousands of digits") from None
