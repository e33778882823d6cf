"""The report's figures of answers: quality against tokens, compressors over their budgets, selection, flat m, and what refinement decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from canopy.report.answer_tables import CANOPY, label_of, variants
from canopy.report.answered import Group, Name, View
from canopy.report.drawing import (
    ANY_LEVEL,
    F0,
    F_THETA,
    FLAT,
    GRID,
    INK,
    ORACLE,
    figure_of,
    file_name,
    percent_axis,
    shares_plot,
    svg_of,
)
from canopy.scoring.bootstrap import Interval

# A colour and a marker for every system that figures show; others get grey.
STYLES: dict[str, tuple[str, str]] = {
    "canopy": (F_THETA, "D"), "canopy-lookahead": ("#35a7c4", "D"), "canopy-routed": ("#5bb974", "P"), "canopy-f0": (F0, "D"), "vanilla": (INK, "s"),
    "no-retrieval": ("#9aa3af", "X"), "universal-rag": ("#c98a12", "o"), "ircot": ("#b5533c", "^"), "recomp-extractive": ("#8d6cc4", "v"),
    "recomp-abstractive": ("#c46cae", "v"), "longllmlingua": ("#b5533c", "<"), "s2g-rag": ("#7a8a2c", ">"), "aks": ("#c98a12", "h"), "flat-leaf-share": (FLAT, "o"),
    "gold-item": (ORACLE, "*"), "gold-span": ("#e0b04c", "*"),
}
FLAT_M, ANY_M = "flat-leaf-m", "any-level-m"


def style_of(system: str) -> tuple[str, str]:
    """A system's colour and marker."""
    return (FLAT, "o") if system.startswith(FLAT_M) else (ANY_LEVEL, "o") if system.startswith(ANY_M) else STYLES.get(system, ("#8a94a3", "."))


def _point(ax: Any, x: Interval, y: Interval, color: str, marker: str, label: str) -> None:
    ax.plot([x.low, x.high], [y.estimate] * 2, color=color, linewidth=1.1, alpha=0.8)
    ax.plot([x.estimate] * 2, [y.low, y.high], color=color, linewidth=1.1, alpha=0.8)
    ax.plot([x.estimate], [y.estimate], marker, color=color, markersize=11 if marker == "*" else 7, label=label, linestyle="none", zorder=4)


def panels_of(group: Group, names: Sequence[Name], measures: Sequence[str]) -> list[str]:
    """The measures that at least two of the systems have."""
    return [m for m in measures if m in group.measures and sum(group.value(n, m) is not None for n in names) > 1]


def tokens_plot(view: View, group: Group, names: Sequence[Name], measures: Sequence[str], figure: str) -> str:
    """Quality against the tokens that the reader is given, with intervals: up and left is better. Sizes of one system are joined by a line.

    Returns
    -------
    str
        SVG text; empty where fewer than two systems have anything to show.
    """
    names = [n for n in names if group.value(n, "tokens") is not None]
    panels = panels_of(group, names, measures)
    if not panels:
        return ""
    title = file_name(figure, view.corpus_scope + view.suffix, group.answered.name)
    with figure_of(5.2, 2.9 * len(panels) + 0.9, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for system in dict.fromkeys(s for s, _ in names):
                _system(ax, group, [n for n in names if n[0] == system], measure, *style_of(system))
            percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
            ax.margins(0.08)
        grid[-1, 0].set_xlabel("tokens a question, in the reader's tokens")
        handles = dict(zip(*reversed(_legend(grid[:, 0])), strict=True))
        drawing.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
        return svg_of(drawing, title)


def _system(ax: Any, group: Group, names: Sequence[Name], measure: str, color: str, marker: str) -> None:
    shown = [(n, x, y) for n in names if (x := group.value(n, "tokens")) is not None and (y := group.value(n, measure)) is not None]
    sizes = sorted((s for s in shown if s[0][1]), key=lambda s: s[1].estimate)
    if sizes:
        ax.plot([x.estimate for _, x, _ in sizes], [y.estimate for *_, y in sizes], "o-", color=color, markersize=4, linewidth=1.5, alpha=0.9,
                label=sizes[0][0][0] if all(n[1] for n, *_ in shown) else None)
        for (_, variant), x, y in sizes:
            ax.annotate(variant.partition("=")[2], (x.estimate, y.estimate), xytext=(5, -10), textcoords="offset points", fontsize=8, color=color)
    for (system, variant), x, y in shown:
        if not variant:
            _point(ax, x, y, color, marker, system)


def _legend(axes: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Handles and labels of all panels, each label once."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def flat_plot(view: View, group: Group, measures: Sequence[str]) -> str:
    """Flat selection of m leaves, and of m nodes of any level, by the tokens they take, beside CANOPY; empty where no flat selector ran."""
    flat = [(n, "") for n in dict.fromkeys(s for s, _ in group.names) if n.startswith((FLAT_M, ANY_M))]
    if not flat or CANOPY not in group:
        return ""
    panels = panels_of(group, [*flat, CANOPY], measures)
    with figure_of(5.2, 2.9 * len(panels) + 0.9, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for prefix, label in ((FLAT_M, "flat leaf, m"), (ANY_M, "any level, m")):
                points = [(n[0].removeprefix(prefix), group.value(n, "tokens"), group.value(n, measure)) for n in flat if n[0].startswith(prefix)]
                points = [p for p in points if p[1] is not None and p[2] is not None]
                color, _ = style_of(prefix)
                ax.plot([x.estimate for _, x, _ in points], [y.estimate for *_, y in points], "o-", color=color, markersize=5, linewidth=1.5, label=label)
                for m, x, y in points:
                    ax.annotate(m, (x.estimate, y.estimate), xytext=(5, -10 if prefix == FLAT_M else 5), textcoords="offset points", fontsize=8, color=color)
            for name in (("canopy-no-iteration", "") if view.corpus_scope != "gold" else CANOPY, ("canopy-lookahead", "") if view.corpus_scope == "gold" else CANOPY,
                         ("flat-near-best", ""), ("vanilla", ""), ("gold-span", "")):
                x, y = group.value(name, "tokens"), group.value(name, measure)
                if x is not None and y is not None:
                    _point(ax, x, y, *(style_of(name[0]) if name[0] != "canopy-no-iteration" else ("#7fc9ae", "D")), name[0])
            percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
            ax.margins(0.08)
        grid[-1, 0].set_xlabel("tokens a question, in the reader's tokens")
        handles = dict(zip(*reversed(_legend(grid[:, 0])), strict=True))
        drawing.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
        return svg_of(drawing, file_name("flat-m", view.corpus_scope + view.suffix, group.answered.name))


def sizes_plot(view: View, group: Group, systems: Sequence[str], prefix: str, measures: Sequence[str], label: str) -> str:
    """A measure by the size of k, R or B, a line a system, with intervals; empty where nothing was swept."""
    swept = {s: [n for n in variants(group, s, prefix) if n[1]] for s in systems}
    swept = {s: ns for s, ns in swept.items() if len(ns) > 1}
    panels = panels_of(group, [n for ns in swept.values() for n in ns], measures)
    if not panels:
        return ""
    with figure_of(5.2, 2.4 * len(panels) + 0.8, nrows=len(panels), ncols=1, sharex=True, squeeze=False) as (drawing, grid):
        for ax, measure in zip(grid[:, 0], panels, strict=True):
            for system, names in swept.items():
                color, marker = style_of(system)
                held = [(float(n[1].partition("=")[2]), v) for n in names if (v := group.value(n, measure)) is not None]
                x = np.array([size for size, _ in held])
                ax.fill_between(x, [v.low for _, v in held], [v.high for _, v in held], color=color, alpha=0.15, linewidth=0)
                ax.plot(x, [v.estimate for _, v in held], f"{marker}-", color=color, linewidth=1.8, markersize=5, label=system)
                ax.set_xticks(sorted({*x.tolist(), *(t for t in ax.get_xticks() if t in x)}))
            if measure != "tokens":
                percent_axis(ax.yaxis)
            ax.set_title(label_of(measure))
        grid[-1, 0].set_xlabel(label)
        handles, labels = _legend(grid[:, 0])
        drawing.legend(handles, labels, loc="outside upper right", ncols=3)
        return svg_of(drawing, file_name(f"by-{prefix.rstrip('=')}", view.corpus_scope + view.suffix, group.answered.name))


def decided_plot(view: View, group: Group, systems: Sequence[str]) -> str:
    """What became of the retrieved items, by modality: kept whole, split without loss, or pruned; empty where none of the systems ran."""
    found = group.answered.outcomes
    mine = found[(found["reader"] == view.reader) & (found["corpus_scope"] == view.corpus_scope) & found["system"].isin(systems)]
    rows = [(modality, system, _counts(mine, modality, system)) for modality in sorted(set(mine["modality"])) for system in systems]
    rows = [r for r in rows if sum(r[2])]
    return shares_plot(rows, ("kept whole", "split, nothing lost", "pruned"), "retrieved items", file_name("decided", view.corpus_scope + view.suffix, group.answered.name)) if rows else ""


def _counts(rows: pd.DataFrame, modality: str, system: str) -> list[int]:
    part = rows[(rows["modality"] == modality) & (rows["system"] == system)]
    return [int(part[o].sum()) for o in ("kept", "split", "pruned")]


def selection_plot(view: View, group: Group, names: Sequence[Name], measures: Sequence[str]) -> str:
    """Systems on the same given items, a dot and an interval each, quality beside tokens; empty where fewer than two ran."""
    panels = [*panels_of(group, names, measures)[:2], "tokens"]
    names = [n for n in names if group.value(n, "tokens") is not None]
    if len(panels) < 2 or len(names) < 2:
        return ""
    with figure_of(6.2, 0.9 + 0.3 * len(names), nrows=1, ncols=len(panels), sharey=True, squeeze=False) as (figure, grid):
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
