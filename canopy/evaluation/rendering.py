"""Tables to HTML, Markdown and CSV: one set of rules for how a number and its interval are shown."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Mapping
from typing import Any

from canopy.evaluation.bootstrap import Interval
from canopy.evaluation.measures import TUNED
from canopy.evaluation.tables import Column, Table


def _kind(column: Column, row: Mapping[str, Any]) -> str:
    if column.kind == "auto":
        return "percent" if row.get("_percent") else "number"
    if column.kind == "auto_points":
        return "points" if row.get("_percent") else "signed"
    return column.kind


def show(value: float, kind: str) -> str:
    """A bare number: 0.684 as ``68.4%``, a difference as ``+19.6`` points, a count with thousands marked."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if kind == "percent":
        return f"{100 * value:.1f}%"
    if kind == "points":
        return f"{100 * value:+.1f}"
    if kind == "signed":
        return f"{value:+,.1f}"
    if kind == "count" or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def show_interval(i: Interval, kind: str) -> str:
    """The interval's ends, in brackets."""
    if not math.isfinite(i.low):
        return ""
    unit = {"percent": "", "points": ""}.get(kind)
    if unit is None:
        return f"[{show(i.low, kind)}, {show(i.high, kind)}]"
    sign = "+" if kind == "points" else ""
    return f"[{100 * i.low:{sign}.1f}, {100 * i.high:{sign}.1f}]"


def cell(column: Column, row: Mapping[str, Any]) -> tuple[str, str]:
    """A cell's text and its interval's text."""
    value, kind = row.get(column.key), _kind(column, row)
    if value is None:
        return "–", ""
    if isinstance(value, Interval):
        return show(value.difference, kind), show_interval(value, kind)
    return (str(value), "") if kind == "text" else (show(value, kind), "")


def verdict(i: Interval, good: bool) -> str:
    """CSS class of a difference: ``open`` where its interval holds zero."""
    if i.low <= 0 <= i.high:
        return "open"
    return "good" if good else "bad"


def to_html(table: Table) -> str:
    """The table with its note, in a box that scrolls sideways on a narrow screen; rows of one benchmark stand under its name."""
    grouped = table.columns[0].key == "benchmark" and len(table.rows) > len({r["benchmark"] for r in table.rows})
    columns = table.columns[1:] if grouped else table.columns
    head = "".join(f'<th scope="col"{_right(c)}>{html.escape(c.label)}</th>' for c in columns)
    body, group = [], None
    for row in table.rows:
        if grouped and row["benchmark"] != group:
            group = row["benchmark"]
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(columns)}">{html.escape(group)}</th></tr>')
        cells = []
        for c in columns:
            text, ci = cell(c, row)
            mark = f' class="{verdict(row[c.key], row["_good"])}"' if c.key == "difference" and isinstance(row.get(c.key), Interval) else ""
            shown = f"<span{mark}>{html.escape(text)}</span>" + (f'<span class="ci">{html.escape(ci)}</span>' if ci else "")
            cells.append(f"<td{_right(c)}>{shown}</td>")
        body.append(f'<tr{" class=us" if row.get("system") == TUNED else ""}>{"".join(cells)}</tr>')
    colours = " Green: for the better; red: for the worse; amber: the interval holds zero." if any("_good" in r for r in table.rows) else ""
    note = f'<p class="note">{html.escape(table.note + colours)}</p>' if table.note else ""
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(table.title)}"><table><thead><tr>{head}</tr></thead>\n<tbody>'
            + "\n".join(body) + f"</tbody></table></div>\n{note}")


def _right(column: Column) -> str:
    return "" if column.kind == "text" else " class=n"


def to_markdown(table: Table) -> str:
    """The table as a pipe table."""
    lines = ["| " + " | ".join(c.label for c in table.columns) + " |",
             "|" + "|".join("---" if c.kind == "text" else "--:" for c in table.columns) + "|"]
    for row in table.rows:
        lines.append("| " + " | ".join(" ".join(t for t in cell(c, row) if t).replace("|", "\\|") for c in table.columns) + " |")
    return "\n".join(lines) + (f"\n\n{table.note}" if table.note else "") + "\n"


def to_csv(table: Table) -> str:
    """Raw values; an interval takes three columns."""
    spread = {c.key for c in table.columns if any(isinstance(r.get(c.key), Interval) for r in table.rows)}
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow([h for c in table.columns for h in ((c.key, f"{c.key}_low", f"{c.key}_high") if c.key in spread else (c.key,))])

    def plain(v: Any) -> Any:
        return "" if v is None or (isinstance(v, float) and not math.isfinite(v)) else round(v, 6) if isinstance(v, float) else v

    for row in table.rows:
        out: list[Any] = []
        for c in table.columns:
            v = row.get(c.key)
            if c.key in spread:
                out += [plain(v.difference), plain(v.low), plain(v.high)] if v is not None else ["", "", ""]
            else:
                out.append(plain(v))
        writer.writerow(out)
    return held.getvalue()
