"""Figure 4: compressors over their budgets, quality against tokens."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.choices import compressor_systems
from canopy.report.groups import Group, View
from canopy.report.model import Figure
from canopy.report.parts import UP, figures_of, quality_measures
from canopy.report.systems_drawing import tokens_plot


def compressor_figures(views: Sequence[View]) -> list[Figure]:
    """A figure a benchmark; sizes of one compressor are joined."""
    def draw(view: View, group: Group) -> str:
        return tokens_plot(view, group, compressor_systems(group), quality_measures(group), "compressors")

    return figures_of(views, "compressors", f"compressors, sizes of one joined (the numbers). {UP}", draw,
                      ("own", "unified"))
