"""Every selector on the same gold items, and quality against tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from canopy.evaluation.systems import ANY_LEVEL as ANY_LEVEL_PREFIX
from canopy.evaluation.systems import FLAT_LEAF, GOLD, ONE_PASS, TUNED, WHOLE
from canopy.report.drawing import ANY_LEVEL, F0, F_THETA, FLAT, INK, ORACLE, figure_of, file_name, percent_axis, svg_of
from canopy.report.model import PERCENT, Column, Figure, Row, Section, Table, section
from canopy.report.results import ABOUT, Results, Values
from canopy.scoring.measure import EVALUATION, measures_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTE = ("flat leaf and any-level take m regions of each item by f_theta's scores. Only the rule makes decisions, so "
        "only f0 and f_theta have "
        "a decision accuracy.")
CAPTION = "quality against tokens; up and left is better. Crosses: 95% intervals."
_PANELS = (("gold_recall", "gold recall"), ("answer_in_evidence", "answer in evidence"))


def selectors_table(results: Sequence[Results], values: Mapping[str, Values]) -> Table:
    """Every system on the same gold items."""
    measures = measures_of(EVALUATION)
    rows: list[Row] = []
    for r in results:
        for name in r.names:
            cells: Row = {k: values[r.name][name].get(k) for k in measures}
            rows.append({"benchmark": r.name, "system": name, **cells, PERCENT: True})
    columns = [Column("benchmark", "benchmark"), Column("system", "system"),
               *(Column(k, m.label, m.unit) for k, m in measures.items())]
    return Table("selectors", "All systems, gold items given", columns, rows, NOTE, ABOUT)


def selectors_section(results: Sequence[Results], values: Mapping[str, Values]) -> Section:
    """The table and a figure a benchmark."""
    figures = [Figure(file_name("tradeoff", r.name), r.name, CAPTION, tradeoff_plot(r, values[r.name]))
               for r in results if "kept_share" in values[r.name][TUNED]]
    return section("selectors", "Selectors, and quality against tokens", [], [selectors_table(results, values)],
                   figures)


def tradeoff_plot(results: Results, values: Values) -> str:
    """Gold recall, and answers still in evidence, against the tokens kept: up and left is better."""
    panels = [(k, label) for k, label in _PANELS if k in values[TUNED]]
    size = (5.2, 3.1 * len(panels) + 0.5)
    with figure_of(*size, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (key, label) in zip(grid[:, 0], panels, strict=True):
            for prefix, color, name, below in ((FLAT_LEAF, FLAT, "flat-leaf, m", -10),
                                               (ANY_LEVEL_PREFIX, ANY_LEVEL, "any-level, m", 5)):
                _draw_sizes(ax, values, key, [n for n in results.names if n.startswith(prefix)], prefix, color, name,
                            below)
            _draw_singles(ax, results, values, key)
            percent_axis(ax.yaxis)
            percent_axis(ax.xaxis)
            ax.set_title(label)
            ax.margins(0.07)
        grid[-1, 0].set_xlabel("tokens kept, share of the whole items")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return svg_of(figure, file_name("tradeoff", results.name))


def _draw_sizes(ax: Axes, values: Values, key: str, names: Sequence[str], prefix: str, color: str, label: str,
                below: int) -> None:
    """The sizes of one selector, joined, each with its m."""
    x = [values[n]["kept_share"].estimate for n in names]
    y = [values[n][key].estimate for n in names]
    ax.plot(x, y, "o-", color=color, markersize=5, linewidth=1.5, alpha=0.95, label=label)
    for n, px, py in zip(names, x, y, strict=True):
        ax.annotate(n.removeprefix(prefix), (px, py), xytext=(5, below), textcoords="offset points", fontsize=8,
                    color=color)


def _draw_singles(ax: Axes, results: Results, values: Values, key: str) -> None:
    """The rule's points with their intervals, the oracle and the whole items."""
    ruled = [*((b, F0, "o" if b == ONE_PASS else "^") for b in results.frozen), (TUNED, F_THETA, "D")]
    for name, color, marker in [*ruled, (GOLD, ORACLE, "*"), (WHOLE, INK, "s")]:
        x, y = values[name]["kept_share"], values[name][key]
        if name in (*results.frozen, TUNED):
            ax.plot([x.low, x.high], [y.estimate] * 2, color=color, linewidth=1.2)
            ax.plot([x.estimate] * 2, [y.low, y.high], color=color, linewidth=1.2)
        size = 11 if marker == "*" else 7.5
        ax.plot([x.estimate], [y.estimate], marker, color=color, markersize=size, label=name, linestyle="none",
                zorder=4)
