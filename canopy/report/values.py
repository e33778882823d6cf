"""One set of rules for how a number, its interval and a verdict are shown, and tables as CSV."""

from __future__ import annotations

import csv
import io
import math

from canopy.formatting import number, tenths
from canopy.report.model import GOOD, MARK, PERCENT, Cell, Column, Kind, Row, Table
from canopy.scoring.bootstrap import Interval

SIGNS = {
    "★": "the best of its group by its point value; an oracle is no competitor",
    "≈": "not told apart from the best: the paired interval holds zero",
}
_SIGNED = ("difference", "change")  # columns of these names are coloured by whether they are for the better


def show(value: float | None, kind: Kind) -> str:
    """A bare number: 0.684 as ``68.4%``, a difference as ``+19.6`` points, a count with thousands marked."""
    if value is None or not math.isfinite(value):
        return "–"
    if kind == "percent":
        return f"{tenths(100 * value)}%"
    if kind == "points":
        return tenths(100 * value, signed=True)
    if kind == "change":
        return f"{tenths(100 * value, signed=True)}%"
    if kind == "signed":
        return tenths(value, signed=True)
    if kind == "count" or float(value).is_integer():
        return number(int(value))
    return tenths(value) if abs(value) >= 10 else f"{value:.3g}"


def show_interval(interval: Interval, kind: Kind) -> str:
    """The interval's ends, in brackets; empty if there is none."""
    if not math.isfinite(interval.low):
        return ""
    if kind not in ("percent", "points", "change"):
        return f"[{show(interval.low, kind)}, {show(interval.high, kind)}]"
    low, high = (tenths(100 * end, signed=kind != "percent") for end in (interval.low, interval.high))
    return f"[{low}, {high}]"


def show_cell(column: Column, row: Row) -> tuple[str, str]:
    """A cell's text and its interval's text."""
    value, kind = row.get(column.key), _kind(column, row)
    if value is None:
        return "–", ""
    if isinstance(value, Interval):
        return show(value.estimate, kind), show_interval(value, kind)
    return (str(value), "") if kind == "text" or isinstance(value, str) else (show(value, kind), "")


def _kind(column: Column, row: Row) -> Kind:
    if column.kind == "auto":
        return "percent" if row.get(PERCENT) else "number"
    if column.kind == "auto_points":
        return "points" if row.get(PERCENT) else "signed"
    return column.kind


def judged(column: str, interval: Interval | None, higher_is_better: bool = True) -> Row:
    """A difference's cell, and whether it is for the better; empty if there is no difference."""
    if interval is None:
        return {}
    better = interval.estimate > 0 if higher_is_better else interval.estimate < 0
    return {column: interval, f"{GOOD}{column}": bool(better)}


def verdict_of(interval: Interval, good: bool) -> str:
    """CSS class of a difference: ``open`` if its interval holds zero."""
    if interval.low <= 0 <= interval.high:
        return "open"
    return "good" if good else "bad"


def cell_verdict(column: Column, row: Row) -> str:
    """The CSS class of a difference's cell; empty if the row does not say which way is better."""
    value, good = row.get(column.key), row.get(f"{GOOD}{column.key}")
    if not column.key.startswith(_SIGNED) or not isinstance(value, Interval) or good is None:
        return ""
    return verdict_of(value, bool(good))


def mark_of(column: Column, row: Row) -> str:
    """The sign of a cell; empty if it has none."""
    return str(row.get(f"{MARK}{column.key}", ""))


def notes_of(table: Table) -> str:
    """The table's note, and what its signs mean if it has any."""
    signs = {mark_of(c, r) for r in table.rows for c in table.columns}
    legend = " ".join(f"{sign} {meaning}." for sign, meaning in SIGNS.items() if sign in signs)
    return " ".join(t for t in (table.note, legend) if t)


def to_csv(table: Table) -> str:
    """Raw values; an interval takes three columns."""
    spread = {c.key for c in table.columns if any(isinstance(r.get(c.key), Interval) for r in table.rows)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = [k.replace(" ", "_") for k in table.about]
    for c in table.columns:
        header += [c.key, f"{c.key}_low", f"{c.key}_high"] if c.key in spread else [c.key]
    writer.writerow(header)
    for row in table.rows:
        cells: list[Cell] = [*table.about.values()]
        for c in table.columns:
            value = row.get(c.key)
            if c.key not in spread:
                cells.append(_plain(value))
            elif isinstance(value, Interval):
                cells += [_plain(value.estimate), _plain(value.low), _plain(value.high)]
            else:
                cells += [_plain(value), "", ""]
        writer.writerow(cells)
    return text.getvalue()


def _plain(value: Cell) -> Cell:
    if isinstance(value, bool):
        return value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return round(value, 6) if isinstance(value, float) else value
