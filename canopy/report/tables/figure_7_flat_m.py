"""Figure 7: flat selection of m leaves, and of m nodes of any level, with its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from canopy.answers.comparison import Name
from canopy.report.choices import flat_systems
from canopy.report.drawing import figure_of, file_name, percent_axis, svg_of
from canopy.report.groups import CANOPY, LOOKAHEAD, VANILLA, Group, View
from canopy.report.model import Section, Table
from canopy.report.parts import figures_of, part, quality_measures, tables_of
from canopy.report.systems_drawing import ANY_M, FLAT_M, TOKENS_LABEL, draw_point, legend_of, panels_of, style_of
from canopy.report.systems_table import systems_table
from canopy.scoring.measure import label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_ROUND = ("canopy-no-iteration", "")
_ONE_ROUND_STYLE = ("#7fc9ae", "D")
TEXT = ("Selectors without a stop rule of their own keep m leaves, or m nodes of any level, of every item. They "
        "retrieve once, so that in "
        "a corpus CANOPY without iteration is their like.")


def flat_table(view: View) -> Table:
    """A row a selector, each against CANOPY in as many rounds."""
    reference = CANOPY if view.corpus_scope == "gold" else ONE_ROUND
    return systems_table(view, "flat-m", "Flat selection by m", flat_systems, reference)


def flat_section(views: Sequence[View]) -> Section | None:
    """Figure 7 and its table."""
    def draw(view: View, group: Group) -> str:
        return flat_plot(view, group, quality_measures(group))

    figures = figures_of(views, "flat-m", "flat selection by m (the numbers), beside the hierarchy's.", draw,
                         ("unified", "gold"))
    tables = tables_of(views, flat_table, ("unified", "own", "gold"))
    return part("flat-m", "Flat and any-level selection by m", [TEXT], tables, figures, ("Figure 7",))


def flat_plot(view: View, group: Group, measures: Sequence[str]) -> str:
    """Selectors by the tokens that they take, beside CANOPY; an empty text if none of them ran."""
    flat = [(s, "") for s in group.systems if s.startswith((FLAT_M, ANY_M))]
    if not flat or CANOPY not in group:
        return ""
    panels = panels_of(group, [*flat, CANOPY], measures)
    rows = len(panels)
    with figure_of(5.2, 2.9 * rows + 0.9, nrows=rows, ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for prefix, label in ((FLAT_M, "flat leaf, m"), (ANY_M, "any level, m")):
                _draw_line(ax, group, [n for n in flat if n[0].startswith(prefix)], measure, prefix, label)
            in_rounds = [CANOPY, LOOKAHEAD] if view.corpus_scope == "gold" else [ONE_ROUND, CANOPY]
            for name in (*in_rounds, ("flat-near-best", ""), VANILLA, ("gold-span", "")):
                x, y = group.value(name, "tokens"), group.value(name, measure)
                if x is not None and y is not None:
                    color, marker = _ONE_ROUND_STYLE if name == ONE_ROUND else style_of(name[0])
                    draw_point(ax, x, y, color, marker, name[0])
            percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
            ax.margins(0.08)
        grid[-1, 0].set_xlabel(TOKENS_LABEL)
        drawing.legend(*legend_of(grid[:, 0]), loc="outside lower center", ncols=3)
        return svg_of(drawing, file_name("flat-m", view.corpus_scope + view.suffix, group.answered.name))


def _draw_line(ax: Axes, group: Group, names: Sequence[Name], measure: str, prefix: str, label: str) -> None:
    """The selectors of one kind, joined, each with its m."""
    points = []
    for name in names:
        x, y = group.value(name, "tokens"), group.value(name, measure)
        if x is not None and y is not None:
            points.append((name[0].removeprefix(prefix), x.estimate, y.estimate))
    color, _ = style_of(prefix)
    ax.plot([p[1] for p in points], [p[2] for p in points], "o-", color=color, markersize=5, linewidth=1.5,
            label=label)
    below = -10 if prefix == FLAT_M else 5
    for m, tokens, value in points:
        ax.annotate(m, (tokens, value), xytext=(5, below), textcoords="offset points", fontsize=8, color=color)
