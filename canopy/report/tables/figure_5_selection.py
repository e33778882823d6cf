"""Figure 5: selection on the gold items, with its table."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.answers.comparison import Name
from canopy.report.choices import selection_systems
from canopy.report.drawing import GRID, figure_of, file_name, percent_axis, svg_of
from canopy.report.groups import Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import figures_of, part, quality_measures, tables_of
from canopy.report.systems_drawing import panels_of, style_of
from canopy.report.systems_table import systems_table
from canopy.scoring.measure import label_of

TEXT = ("The gold items are given, so that nothing but the choice of regions differs. Gold item and gold span are "
        "oracles: they know "
        "the annotation.")


def selection_table(view: View) -> Table:
    """A row a system, each against the whole gold items; the paper's figures are of given items."""
    places = ("Figure 5",) if view.corpus_scope == "gold" else ()
    return systems_table(view, "selection", "Selection", selection_systems, ("gold-item", ""), places=places)


def selection_section(views: Sequence[View]) -> Section | None:
    """Figure 5 and its table."""
    def draw(view: View, group: Group) -> str:
        return selection_plot(view, group, selection_systems(group), quality_measures(group))

    figures = figures_of(views, "selection", "the same gold items, cut by each system.", draw, ("gold",))
    tables = tables_of(views, selection_table, ("gold",))
    return part("selection", "Selection on the gold items", [TEXT], tables, figures, ("Figure 5",))


def selection_plot(view: View, group: Group, names: Sequence[Name], measures: Sequence[str]) -> str:
    """A dot and an interval a system, quality beside tokens; an empty text if fewer than two systems ran."""
    panels = [*panels_of(group, names, measures)[:2], "tokens"]
    names = [n for n in names if group.value(n, "tokens") is not None]
    if len(panels) < 2 or len(names) < 2:
        return ""
    size = (6.2, 0.9 + 0.3 * len(names))
    with figure_of(*size, nrows=1, ncols=len(panels), sharey=True, squeeze=False) as (figure, grid):
        for ax, measure in zip(grid[0], panels, strict=True):
            for y, name in enumerate(names):
                v = group.value(name, measure)
                if v is None:
                    continue
                color, marker = style_of(name[0])
                ax.plot([v.low, v.high], [y, y], color=color, linewidth=1.4)
                ax.plot([v.estimate], [y], marker, color=color, markersize=9 if marker == "*" else 6)
            if measure != "tokens":
                percent_axis(ax.xaxis)
            ax.xaxis.get_major_locator().set_params(nbins=4)
            ax.set_title(label_of(measure))
            ax.grid(axis="y", color=GRID, linewidth=0.4)
        grid[0, 0].set_yticks(range(len(names)), [n[0] for n in names])
        grid[0, 0].set_ylim(len(names) - 0.5, -0.5)
        return svg_of(figure, file_name("selection", view.corpus_scope + view.suffix, group.answered.name))
