"""Table 7: compressors at their budgets, with Figure 4 beside it."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.choices import compressor_systems
from canopy.report.groups import CANOPY, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table
from canopy.report.tables.figure_4_compressors import compressor_figures

TEXT = "Every compressor over the same k items, at its own size and at others; compare at equal tokens."


def compressors_table(view: View) -> Table:
    """A row a compressor and budget."""
    return systems_table(view, "compressors", "Compressors", compressor_systems, CANOPY, beside=("calls",))


def compressors_section(views: Sequence[View]) -> Section | None:
    """Table 7 and Figure 4."""
    tables = tables_of(views, compressors_table, ("own", "unified", "gold"))
    return part("compressors", "Compressors, at their sizes", [TEXT], tables, compressor_figures(views),
                ("Figure 4", "Table 7"))
