"""Sections as a self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from canopy import pages
from canopy.report.drawing import inline
from canopy.report.model import Column, Figure, Row, Section, Table
from canopy.report.values import SIGNS, cell_verdict, mark_of, notes_of, show_cell

TEMPLATES = Path(__file__).with_name("templates")
OURS = frozenset({"f_theta", "canopy"})  # rows that the eye should find
_COLOURS = "Green: for the better; red: for the worse; amber: the interval holds zero."
_LONG = 24  # characters of a text that may break its line


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as the page shows it; ``sign`` has a ``meaning``."""

    text: str
    interval: str
    classes: str
    verdict: str
    sign: str
    meaning: str


@dataclass(frozen=True, slots=True)
class RowView:
    """A row: its cells, whether it is ours, and the heading of a new group above it."""

    cells: list[CellView]
    ours: bool
    group: str


@dataclass(frozen=True, slots=True)
class TableView:
    """A table as the page shows it; ``head`` holds each column's title and classes."""

    title: str
    about: list[tuple[str, str]]
    head: list[tuple[str, str]]
    rows: list[RowView]
    note: str


def page_html(title: str, lead: str, sections: Sequence[Section]) -> str:
    """A page of sections, with their contents."""
    return pages.render_page("page.html", TEMPLATES, title=title, lead=lead, sections=sections, view=view_table,
                             drawing=figure_markup)


def section_html(section: Section) -> str:
    """One section of the page."""
    return _macro("section", section)


def table_html(table: Table) -> str:
    """A table with its note, in a box that scrolls sideways on a narrow screen."""
    return _macro("table", table)


def _macro(name: str, part: Section | Table) -> str:
    template = pages.environment(TEMPLATES).get_template("blocks.html")
    module = template.make_module({"view": view_table, "drawing": figure_markup})
    return str(getattr(module, name)(part))


def figure_markup(figure: Figure) -> Markup:
    """A figure's SVG, which matplotlib escaped."""
    return Markup(inline(figure.svg))


def view_table(table: Table) -> TableView:
    """What the page shows of a table: rows of one benchmark stand under its name."""
    benchmarks = {r.get("benchmark") for r in table.rows}
    grouped = table.columns[0].key == "benchmark" and len(table.rows) > len(benchmarks)
    columns = table.columns[1:] if grouped else table.columns
    is_ours = not table.key.startswith("paper")
    rows: list[RowView] = []
    group = ""
    for row in table.rows:
        heading = str(row["benchmark"]) if grouped and row["benchmark"] != group else ""
        group = heading or group
        ours = is_ours and row.get("system") in OURS and not row.get("variant")
        rows.append(RowView([_view_cell(c, row) for c in columns], ours, heading))
    coloured = any(cell_verdict(c, r) for c in columns for r in table.rows)
    note = " ".join(t for t in (notes_of(table), _COLOURS if coloured else "") if t)
    return TableView(table.title, list(table.about.items()), [(c.label, _classes(c)) for c in columns], rows, note)


def _view_cell(column: Column, row: Row) -> CellView:
    text, interval = show_cell(column, row)
    sign = mark_of(column, row)
    is_long = column.kind == "text" and len(text) > _LONG
    return CellView(text, interval, _classes(column, is_long), cell_verdict(column, row), sign, SIGNS.get(sign, ""))


def _classes(column: Column, is_long: bool = False) -> str:
    classes = {"n": column.kind != "text", "wrap": is_long, "paper": column.key.startswith("paper")}
    return " ".join(name for name, holds in classes.items() if holds)
