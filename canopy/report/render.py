"""Tables to HTML, Markdown and CSV: one set of rules for how a number and its interval are shown."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Mapping
from typing import Any

from canopy.evaluation.measures import TUNED
from canopy.report.tables import Column, Table
from canopy.scoring.bootstrap import Interval

OURS = frozenset({TUNED, "canopy"})  # rows that the eye should find
SIGNS = {"★": "the best of its group by its point value; an oracle is no competitor", "≈": "not told apart from the best: the paired interval holds zero"}
_WRAPPED = 24  # a longer text may break its line
_SIGNED = ("difference", "change")  # columns of these names are coloured by whether they are for the better


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
    if kind == "change":
        return f"{100 * value:+.1f}%"
    if kind == "signed":
        return f"{value:+,.1f}"
    if kind == "count" or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def show_interval(i: Interval, kind: str) -> str:
    """The interval's ends, in brackets."""
    if not math.isfinite(i.low):
        return ""
    if kind not in ("percent", "points", "change"):
        return f"[{show(i.low, kind)}, {show(i.high, kind)}]"
    sign = "" if kind == "percent" else "+"
    return f"[{100 * i.low:{sign}.1f}, {100 * i.high:{sign}.1f}]"


def cell(column: Column, row: Mapping[str, Any]) -> tuple[str, str]:
    """A cell's text and its interval's text."""
    value, kind = row.get(column.key), _kind(column, row)
    if value is None:
        return "–", ""
    if isinstance(value, Interval):
        return show(value.estimate, kind), show_interval(value, kind)
    return (str(value), "") if kind == "text" else (show(value, kind), "")


def verdict(i: Interval, good: bool) -> str:
    """CSS class of a difference: ``open`` where its interval holds zero."""
    if i.low <= 0 <= i.high:
        return "open"
    return "good" if good else "bad"


def _coloured(column: Column, row: Mapping[str, Any]) -> str:
    """The CSS class of a difference's cell; empty where the row does not say which way is better."""
    value, good = row.get(column.key), row.get(f"_good_{column.key}", row.get("_good"))
    return verdict(value, good) if column.key.startswith(_SIGNED) and isinstance(value, Interval) and good is not None else ""


def notes_of(table: Table) -> str:
    """The table's note, and what its signs and colours mean where it has any."""
    used = {sign for r in table.rows for sign in r.get("_marks", {}).values()}
    told = [table.note, " ".join(f"{sign} {says}." for sign, says in SIGNS.items() if sign in used)]
    return " ".join(t for t in told if t)


def to_html(table: Table) -> str:
    """The table with its note, in a box that scrolls sideways on a narrow screen; rows of one benchmark stand under its name."""
    grouped = table.columns[0].key == "benchmark" and len(table.rows) > len({r["benchmark"] for r in table.rows})
    columns = table.columns[1:] if grouped else table.columns
    head = "".join(f'<th scope="col"{_right(c)}>{html.escape(c.label)}</th>' for c in columns)
    about = "".join(f'<span class="tag"><b>{html.escape(k)}</b> {html.escape(v)}</span>' for k, v in table.about.items())
    body, group, ours = [], None, not table.key.startswith("paper")
    for row in table.rows:
        if grouped and row["benchmark"] != group:
            group = row["benchmark"]
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(columns)}">{html.escape(group)}</th></tr>')
        cells = []
        for c in columns:
            text, ci = cell(c, row)
            colour = f' class="{coloured}"' if (coloured := _coloured(c, row)) else ""
            sign = f'<span class="sign" title="{html.escape(SIGNS[m])}">{m}</span> ' if (m := row.get("_marks", {}).get(c.key)) else ""
            shown = f"{sign}<span{colour}>{html.escape(text)}</span>" + (f'<span class="ci">{html.escape(ci)}</span>' if ci else "")
            cells.append(f"<td{_right(c, long=c.kind == 'text' and len(text) > _WRAPPED)}>{shown}</td>")
        body.append(f'<tr{" class=us" if ours and row.get("system") in OURS and not row.get("variant") else ""}>{"".join(cells)}</tr>')
    colours = " Green: for the better; red: for the worse; amber: the interval holds zero." if any(_coloured(c, r) for c in columns for r in table.rows) else ""
    told = notes_of(table) + colours
    note = f'<p class="note">{html.escape(told.strip())}</p>' if told else ""
    return (f'<p class="about">{about}</p>' if about else "") + (f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(table.title)}"><table><thead><tr>{head}</tr></thead>\n<tbody>'
            + "\n".join(body) + f"</tbody></table></div>\n{note}")


def _right(column: Column, long: bool = False) -> str:
    classes = [*(["n"] if column.kind != "text" else []), *(["wrap"] if long else []), *(["paper"] if column.key.startswith("paper") else [])]
    return f' class="{" ".join(classes)}"' if classes else ""


def to_markdown(table: Table) -> str:
    """The table as a pipe table."""
    lines = [*([", ".join(f"{k}: **{v}**" for k, v in table.about.items()), ""] if table.about else []), "| " + " | ".join(c.label for c in table.columns) + " |",
             "|" + "|".join("---" if c.kind == "text" else "--:" for c in table.columns) + "|"]
    for row in table.rows:
        signs = row.get("_marks", {})
        lines.append("| " + " | ".join(_line(" ".join(t for t in (signs.get(c.key, ""), *cell(c, row)) if t)) for c in table.columns) + " |")
    return "\n".join(lines) + (f"\n\n{note}" if (note := notes_of(table)) else "") + "\n"


def _line(text: str) -> str:
    """Text that stays in its cell of a pipe table."""
    return " ".join(text.replace("|", "\\|").split())


def to_csv(table: Table) -> str:
    """Raw values; an interval takes three columns."""
    spread = {c.key for c in table.columns if any(isinstance(r.get(c.key), Interval) for r in table.rows)}
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow([*(k.replace(" ", "_") for k in table.about), *(h for c in table.columns for h in ((c.key, f"{c.key}_low", f"{c.key}_high") if c.key in spread else (c.key,)))])

    def plain(v: Any) -> Any:
        return "" if v is None or (isinstance(v, float) and not math.isfinite(v)) else round(v, 6) if isinstance(v, float) else v

    for row in table.rows:
        out: list[Any] = [*table.about.values()]
        for c in table.columns:
            v = row.get(c.key)
            if c.key in spread:
                out += [plain(v.estimate), plain(v.low), plain(v.high)] if v is not None else ["", "", ""]
            else:
                out.append(plain(v))
        writer.writerow(out)
    return held.getvalue()
