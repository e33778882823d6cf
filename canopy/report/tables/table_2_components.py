"""Table 2: what each part of CANOPY does."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.choices import component_systems
from canopy.report.groups import CANOPY, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table

TEXT = ("What each part of CANOPY does: without projection items stay whole, without iteration there is one round, "
        "with f0 the frozen "
        "encoder scores the nodes.")


def components_table(view: View) -> Table:
    """CANOPY, and without or with another one of its parts."""
    return systems_table(view, "components", "Components", component_systems, CANOPY,
                         beside=("rounds", "gold_item_recall"), best=False)


def components_section(views: Sequence[View]) -> Section | None:
    """Table 2."""
    return part("components", "Components", [TEXT], tables_of(views, components_table, ("unified", "own")), (),
                ("Table 2",))
