"""Table 6: adaptive keyframe sampling (AKS) at other numbers of frames M."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.choices import variants
from canopy.report.groups import CANOPY, LOOKAHEAD, VANILLA, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import part, tables_of
from canopy.report.systems_table import systems_table

TEXT = "Adaptive keyframe sampling shows M frames of the retrieved videos; benchmarks without videos are left out."


def _systems(group: Group) -> list[Name]:
    if "video" not in set(group.answered.outcomes["modality"]):
        return []
    return [VANILLA, CANOPY, LOOKAHEAD, *variants(group, "aks", "M=")]


def aks_table(view: View) -> Table:
    """A row a number of frames, beside whole items and CANOPY."""
    return systems_table(view, "aks", "AKS by M", _systems, CANOPY)


def aks_section(views: Sequence[View]) -> Section | None:
    """Table 6."""
    return part("aks", "AKS at other budgets", [TEXT], tables_of(views, aks_table, ("own", "unified", "gold")), (),
                ("Table 6",))
