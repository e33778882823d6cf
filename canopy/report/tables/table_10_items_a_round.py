"""Table 10: k, the items that a round retrieves."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.choices import swept_systems
from canopy.report.groups import VANILLA, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import figures_of, part, quality_measures, tables_of
from canopy.report.systems_drawing import sizes_plot
from canopy.report.systems_table import systems_table
from canopy.report.tables.table_3_sensitivity import BESIDE, sized_systems

TEXT = "CANOPY at few items against whole items at many."


def items_table(view: View) -> Table:
    """A row a system and k."""
    def choose(group: Group) -> list[Name]:
        return sized_systems(group, "k", ("k=",))

    return systems_table(view, "by-k", "By k", choose, VANILLA, beside=BESIDE, best=False)


def items_section(views: Sequence[View]) -> Section | None:
    """Table 10, and the same as curves."""
    def draw(view: View, group: Group) -> str:
        measures = [*quality_measures(group), "tokens"]
        return sizes_plot(view, group, swept_systems(group, "k"), "k=", measures, "items a round, k")

    curves = figures_of(views, "by-k", "by the items a round retrieves, k.", draw, ("unified",))
    return part("by-k", "Items a round, k", [TEXT], tables_of(views, items_table, ("unified", "own")), curves,
                ("Table 10",))
