"""Table 3: CANOPY at other k, R and B, as the answers' matrix swept over them.

Tables 9 and 10 are rows of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.choices import swept_systems, variants
from canopy.report.groups import CANOPY, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table

BESIDE = ("rounds", "gold_item_recall")
TEXT = "CANOPY at other sizes: k items a round, R rounds, B children a node."


def sized_systems(group: Group, sweep: str, prefixes: Sequence[str]) -> list[Name]:
    """The systems that are swept over ``sweep``: each at its own size, and at those that begin with a prefix."""
    names = [n for s in swept_systems(group, sweep) for p in prefixes for n in variants(group, s, p)]
    return list(dict.fromkeys(names))


def sensitivity_table(view: View) -> Table:
    """CANOPY's rules at every size."""
    def choose(group: Group) -> list[Name]:
        return sized_systems(group, "rounds", ("k=", "R=", "B="))

    return systems_table(view, "sensitivity", "Sensitivity", choose, CANOPY, beside=BESIDE, best=False)


def sensitivity_section(views: Sequence[View]) -> Section | None:
    """Table 3."""
    return part("sensitivity", "Sensitivity", [TEXT], tables_of(views, sensitivity_table, ("unified", "own")), (),
                ("Table 3",))
