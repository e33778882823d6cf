"""Table 1: the main comparison, with Figure 2 beside it."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.choices import main_systems
from canopy.report.groups import VANILLA, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table
from canopy.report.tables.figure_2_quality_tokens import quality_figures

TEXT = ("Every system answers the same test questions. The unified corpus holds the items of all configured "
        "benchmarks; a benchmark's "
        "own corpus holds its items alone. The two are never mixed in a table.")


def main_table(view: View) -> Table:
    """A row a system of the main comparison; the paper's figures are of the unified corpus."""
    places = ("Table 1", "Figure 2") if view.corpus_scope == "unified" else ()
    return systems_table(view, "main", "Main comparison", main_systems, VANILLA, places=places,
                         beside=("rounds", "calls"), mean=True)


def main_section(views: Sequence[View]) -> Section | None:
    """Table 1 and Figure 2."""
    tables = tables_of(views, main_table, ("unified", "own"))
    return part("main", "Main comparison", [TEXT], tables, quality_figures(views), ("Table 1", "Figure 2"))
