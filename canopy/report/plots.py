"""The report's figures of f0 against f_theta: decisions, scores by level, outcomes, selectors, retrieval, training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from canopy.evaluation.measures import DEPTH_QUANTILES, GOLD, TUNED, WHOLE
from canopy.report.drawing import (
    ANY_LEVEL,
    F0,
    F_THETA,
    FLAT,
    GOLD_COLOR,
    GRID,
    INK,
    ORACLE,
    OTHER,
    OUTCOMES,
    SERIES,
    figure_of,
    file_name,
    percent_axis,
    shares_plot,
    svg_of,
)
from canopy.report.tables import Results
from canopy.scoring.bootstrap import Interval


def decision_plot(cells: Sequence[Mapping[str, Any]]) -> str:
    """f0 and f_theta's decision accuracy with intervals, one line a benchmark, modality and kind of decision."""
    with figure_of(5.2, 0.9 + 0.36 * len(cells)) as (figure, ax):
        place, labels, y = [], [], 0.0
        last = None
        for c in cells:
            group = (c["benchmark"], c["modality"])
            if last is not None and group != last:
                y += 0.5
            last = group
            a, b = c["f0"], c[TUNED]
            ax.plot([a.estimate, b.estimate], [y, y], color=GRID, linewidth=5, solid_capstyle="butt", zorder=1)
            for i, color, shift in ((a, F0, 0.14), (b, F_THETA, -0.14)):
                ax.plot([i.low, i.high], [y + shift, y + shift], color=color, linewidth=1.4, zorder=2)
                ax.plot([i.estimate], [y + shift], "o", color=color, markersize=6, zorder=3)
            modality = "" if c["modality"] == "all" else f" {c['modality']}"
            labels.append(f"{c['benchmark']}{modality} · {c['kind']}")
            place.append(y)
            y += 1
        ax.set_yticks(place, labels)
        ax.set_ylim(y - 0.4, -0.7)
        ax.grid(axis="y", visible=False)
        percent_axis(ax.xaxis)
        ax.set_xlabel("decision accuracy, 95% interval")
        ax.plot([], [], "o-", color=F0, label="f0 (better mode)")
        ax.plot([], [], "o-", color=F_THETA, label="f_theta")
        figure.legend(loc="outside upper right", ncols=2)
        return svg_of(figure, "decisions")


def levels_plot(r: Results) -> str:
    """Root-relative scores s(v) - s(root) by depth for gold and other nodes: median and middle half, f0 beside f_theta."""
    low, middle, high = (DEPTH_QUANTILES.index(q) for q in (0.25, 0.5, 0.75))
    shown = r.levels[(r.levels["modality"] == "all") & (r.levels["n"] >= 5)]
    shown = shown[shown["system"].isin([r.better, TUNED])]
    with figure_of(5.2, 3.2, nrows=1, ncols=2, sharey=True) as (figure, axes):
        for ax, system in zip(axes, (r.better, TUNED), strict=True):
            ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
            for gold, color, label, marker in ((True, GOLD_COLOR, "gold", "o"), (False, OTHER, "other", "s")):
                part = shown[(shown["system"] == system) & (shown["gold"] == gold)].sort_values("depth")
                if part.empty:
                    continue
                q = np.array(part["quantiles"].tolist())
                depth = part["depth"].to_numpy()
                ax.fill_between(depth, q[:, low], q[:, high], color=color, alpha=0.22, linewidth=0)
                ax.plot(depth, q[:, middle], marker=marker, color=color, linewidth=2, markersize=5, label=label)
            ax.set_title(system)
            ax.set_xlabel("level below the root")
            depths = sorted(set(shown["depth"].tolist()))
            ax.set_xticks(depths if len(depths) < 10 else depths[::2])
        axes[0].set_ylabel("s(v) − s(root)")
        handles = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=2)
        return svg_of(figure, file_name("levels", r.name))


def outcomes_plot(r: Results) -> str:
    """What became of the nodes that the rule looked at (kept whole, split, dropped), by modality, f0 beside f_theta."""
    rows = []
    for modality in sorted(set(r.regions["modality"])):
        for system in (r.better, TUNED):
            part = r.regions[(r.regions["modality"] == modality) & (r.regions["system"] == system)]
            counts = [int(part[f"nodes_{o}"].sum()) for o, _ in OUTCOMES]
            rows.append((modality, system, counts))
    return shares_plot(rows, [o for o, _ in OUTCOMES], "judged nodes", file_name("outcomes", r.name))


def tradeoff_plot(r: Results, values: Mapping[str, Mapping[str, Interval]]) -> str:
    """Gold recall, and answers still in evidence, against the tokens kept: up and left is better."""
    wanted = [(k, label) for k, label in (("gold_recall", "gold recall"), ("answer_in_evidence", "answer in evidence"))
              if k in values[TUNED]]
    with figure_of(5.2, 3.1 * len(wanted) + 0.5, nrows=len(wanted), ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (key, label) in zip(grid[:, 0], wanted, strict=True):
            for prefix, color, name in (("flat leaf", FLAT, "flat leaf m"), ("any-level", ANY_LEVEL, "any-level m")):
                names = [n for n in r.names if n.startswith(prefix)]
                x = [values[n]["kept_share"].estimate for n in names]
                y = [values[n][key].estimate for n in names]
                ax.plot(x, y, "o-", color=color, markersize=5, linewidth=1.5, alpha=0.95, label=name)
                for n, px, py in zip(names, x, y, strict=True):
                    ax.annotate(n.partition("m=")[2], (px, py), xytext=(5, -10 if prefix == "flat leaf" else 5),
                                textcoords="offset points", fontsize=8, color=color)
            singles = [(b, F0, "o" if b.endswith("one_pass") else "^") for b in r.frozen]
            for n, color, marker in [*singles, (TUNED, F_THETA, "D"), (GOLD, ORACLE, "*"), (WHOLE, INK, "s")]:
                x, y = values[n]["kept_share"], values[n][key]
                if n in (*r.frozen, TUNED):
                    ax.plot([x.low, x.high], [y.estimate] * 2, color=color, linewidth=1.2)
                    ax.plot([x.estimate] * 2, [y.low, y.high], color=color, linewidth=1.2)
                ax.plot([x.estimate], [y.estimate], marker, color=color, markersize=11 if marker == "*" else 7.5, label=n, linestyle="none", zorder=4)
            percent_axis(ax.yaxis)
            percent_axis(ax.xaxis)
            ax.set_title(label)
            ax.margins(0.07)
        grid[-1, 0].set_xlabel("tokens kept, share of the whole items")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return svg_of(figure, file_name("tradeoff", r.name))


def retrieval_plot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Recall of gold items at k, with intervals, a line a benchmark."""
    with figure_of(5.2, 3.0) as (figure, ax):
        for n, benchmark in enumerate(dict.fromkeys(r["benchmark"] for r in rows)):
            mine = [r for r in rows if r["benchmark"] == benchmark]
            k, color = [r["k"] for r in mine], SERIES[n % len(SERIES)]
            ax.fill_between(k, [r["recall"].low for r in mine], [r["recall"].high for r in mine], color=color, alpha=0.18, linewidth=0)
            ax.plot(k, [r["recall"].estimate for r in mine], "o-", color=color, linewidth=2, markersize=5, label=benchmark)
        ax.set_xticks(sorted({r["k"] for r in rows}))
        ax.set_ylim(0, 1.02)
        percent_axis(ax.yaxis)
        ax.set_xlabel("items retrieved (k)")
        ax.set_ylabel("recall of gold items")
        figure.legend(loc="outside upper right", ncols=3)
        return svg_of(figure, "retrieval")


def training_plot(curve: pd.DataFrame) -> str:
    """The preference loss at each step, and its running mean."""
    with figure_of(5.2, 2.9) as (figure, ax):
        step, loss = curve["step"].to_numpy(), curve["loss"].to_numpy(dtype=np.float64)
        window = max(1, len(loss) // 20)
        total = np.concatenate([[0.0], np.cumsum(loss)])
        end = np.arange(1, len(loss) + 1)
        start = np.maximum(0, end - window)
        ax.plot(step, loss, color=F0, linewidth=0.8, alpha=0.55, label="batch")
        ax.plot(step, (total[end] - total[start]) / (end - start), color=F_THETA, linewidth=2.2, label=f"mean of the last {window}")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("step")
        ax.set_ylabel("preference loss")
        figure.legend(loc="outside upper right", ncols=2)
        return svg_of(figure, "training")
