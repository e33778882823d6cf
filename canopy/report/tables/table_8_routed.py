"""Table 8: CANOPY's parts on top of a router."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.groups import CANOPY, VANILLA, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table

ROUTER, ROUTED = ("universal-rag", ""), ("canopy-routed", "")
TEXT = ("UniversalRAG routes and reads whole items of one round; CANOPY routed adds compression and follow-ups to the "
        "same router; "
        "CANOPY searches everything.")


def _systems(group: Group) -> list[Name]:
    return [ROUTER, ROUTED, CANOPY, VANILLA] if ROUTED in group else []


def routed_table(view: View) -> Table:
    """With and without the router, with and without CANOPY's parts."""
    return systems_table(view, "routed", "Routed", _systems, ROUTER, beside=("rounds", "calls"), best=False)


def routed_section(views: Sequence[View]) -> Section | None:
    """Table 8."""
    return part("routed", "Routed components", [TEXT], tables_of(views, routed_table, ("unified", "own")), (),
                ("Table 8",))
