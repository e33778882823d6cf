"""How figures show systems: a colour and a marker each, quality against tokens, and quality by a size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from canopy.answers.comparison import Name
from canopy.report.choices import variants
from canopy.report.drawing import ANY_LEVEL, F0, F_THETA, FLAT, INK, ORACLE, figure_of, file_name, percent_axis, svg_of
from canopy.report.groups import Group, View
from canopy.scoring.bootstrap import Interval
from canopy.scoring.measure import label_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# A colour and a marker for every system that figures show; others get grey.
STYLES: dict[str, tuple[str, str]] = {
    "canopy": (F_THETA, "D"), "canopy-lookahead": ("#35a7c4", "D"), "canopy-routed": ("#5bb974", "P"),
    "canopy-f0": (F0, "D"),
    "vanilla": (INK, "s"), "no-retrieval": ("#9aa3af", "X"), "universal-rag": ("#c98a12", "o"),
    "ircot": ("#b5533c", "^"),
    "recomp-extractive": ("#8d6cc4", "v"), "recomp-abstractive": ("#c46cae", "v"), "longllmlingua": ("#b5533c", "<"),
    "s2g-rag": ("#7a8a2c", ">"), "aks": ("#c98a12", "h"), "flat-leaf-share": (FLAT, "o"), "gold-item": (ORACLE, "*"),
    "gold-span": ("#e0b04c", "*"),
}
FLAT_M, ANY_M = "flat-leaf-m", "any-level-m"
TOKENS_LABEL = "tokens a question, in the reader's tokens"


def style_of(system: str) -> tuple[str, str]:
    """A system's colour and marker."""
    if system.startswith(FLAT_M):
        return FLAT, "o"
    return (ANY_LEVEL, "o") if system.startswith(ANY_M) else STYLES.get(system, ("#8a94a3", "."))


def draw_point(ax: Axes, x: Interval, y: Interval, color: str, marker: str, label: str) -> None:
    """A point with a cross of its intervals."""
    ax.plot([x.low, x.high], [y.estimate] * 2, color=color, linewidth=1.1, alpha=0.8)
    ax.plot([x.estimate] * 2, [y.low, y.high], color=color, linewidth=1.1, alpha=0.8)
    size = 11 if marker == "*" else 7
    ax.plot([x.estimate], [y.estimate], marker, color=color, markersize=size, label=label, linestyle="none", zorder=4)


def panels_of(group: Group, names: Sequence[Name], measures: Sequence[str]) -> list[str]:
    """The measures that at least two of the systems have."""
    return [m for m in measures if m in group.measures and sum(group.value(n, m) is not None for n in names) > 1]


def legend_of(axes: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """Handles and labels of all panels, each label once."""
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    return list(handles.values()), list(handles)


def tokens_plot(view: View, group: Group, names: Sequence[Name], measures: Sequence[str], figure: str) -> str:
    """Quality against the tokens that the reader gets, with intervals. Sizes of one system are joined by a line.

    Returns
    -------
    str
        SVG text; empty if fewer than two systems have anything to show.
    """
    names = [n for n in names if group.value(n, "tokens") is not None]
    panels = panels_of(group, names, measures)
    if not panels:
        return ""
    title = file_name(figure, view.corpus_scope + view.suffix, group.answered.name)
    height = 2.9 * len(panels) + 0.9
    with figure_of(5.2, height, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for system in dict.fromkeys(s for s, _ in names):
                _draw_system(ax, group, [n for n in names if n[0] == system], measure, *style_of(system))
            percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
            ax.margins(0.08)
        grid[-1, 0].set_xlabel(TOKENS_LABEL)
        drawing.legend(*legend_of(grid[:, 0]), loc="outside lower center", ncols=3)
        return svg_of(drawing, title)


def _draw_system(ax: Axes, group: Group, names: Sequence[Name], measure: str, color: str, marker: str) -> None:
    points: list[tuple[Name, Interval, Interval]] = []
    for name in names:
        x, y = group.value(name, "tokens"), group.value(name, measure)
        if x is not None and y is not None:
            points.append((name, x, y))
    sizes = sorted((p for p in points if p[0][1]), key=lambda p: p[1].estimate)
    if sizes:
        label = sizes[0][0][0] if all(n[1] for n, *_ in points) else None
        ax.plot([x.estimate for _, x, _ in sizes], [y.estimate for *_, y in sizes], "o-", color=color, markersize=4,
                linewidth=1.5, alpha=0.9, label=label)
        for (_, variant), x, y in sizes:
            ax.annotate(variant.partition("=")[2], (x.estimate, y.estimate), xytext=(5, -10),
                        textcoords="offset points",
                        fontsize=8, color=color)
    for (system, variant), x, y in points:
        if not variant:
            draw_point(ax, x, y, color, marker, system)


def sizes_plot(view: View, group: Group, systems: Sequence[str], prefix: str, measures: Sequence[str],
               label: str) -> str:
    """A measure by the size of k, R or B, a line a system, with intervals; empty if nothing was swept."""
    sizes = {s: [n for n in variants(group, s, prefix) if n[1]] for s in systems}
    sizes = {s: names for s, names in sizes.items() if len(names) > 1}
    panels = panels_of(group, [n for names in sizes.values() for n in names], measures)
    if not panels:
        return ""
    title = file_name(f"by-{prefix.rstrip('=')}", view.corpus_scope + view.suffix, group.answered.name)
    height = 2.4 * len(panels) + 0.8
    with figure_of(5.2, height, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for system, names in sizes.items():
                color, marker = style_of(system)
                values = [(float(n[1].partition("=")[2]), v) for n in names
                          if (v := group.value(n, measure)) is not None]
                x = np.array([size for size, _ in values])
                ax.fill_between(x, [v.low for _, v in values], [v.high for _, v in values], color=color, alpha=0.15,
                                linewidth=0)
                ax.plot(x, [v.estimate for _, v in values], f"{marker}-", color=color, linewidth=1.8, markersize=5,
                        label=system)
                ax.set_xticks(sorted({*x.tolist(), *(t for t in ax.get_xticks() if t in x)}))
            if measure != "tokens":
                percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
        grid[-1, 0].set_xlabel(label)
        drawing.legend(*legend_of(grid[:, 0]), loc="outside upper right", ncols=3)
        return svg_of(drawing, title)
