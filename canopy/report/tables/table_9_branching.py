"""Table 9: CANOPY at other branching B, from the sizes that ``store.branchings`` names."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.groups import CANOPY, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table
from canopy.report.tables.table_3_sensitivity import BESIDE, sized_systems


def branching_table(view: View) -> Table:
    """A row a B, against the B that the run trained with."""
    def choose(group: Group) -> list[Name]:
        return sized_systems(group, "branching", ("B=",))

    return systems_table(view, "branching", "Branching B", choose, CANOPY, beside=BESIDE, best=False)


def branching_section(views: Sequence[View]) -> Section | None:
    """Table 9."""
    return part("branching", "Branching B", [], tables_of(views, branching_table, ("unified", "own")), (), ("Table 9",))
