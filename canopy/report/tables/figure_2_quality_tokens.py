"""Figure 2: quality against tokens, of the systems of the main comparison."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.choices import main_systems
from canopy.report.groups import Group, View
from canopy.report.model import Figure
from canopy.report.parts import UP, figures_of, quality_measures
from canopy.report.systems_drawing import tokens_plot


def quality_figures(views: Sequence[View]) -> list[Figure]:
    """A figure a benchmark."""
    def draw(view: View, group: Group) -> str:
        return tokens_plot(view, group, main_systems(group), quality_measures(group), "tokens")

    return figures_of(views, "tokens", f"quality against tokens. {UP}", draw, ("unified", "own"))
