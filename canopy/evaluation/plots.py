"""The report's figures as SVG text: narrow enough for a phone, legible on a light and on a dark page, the same bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from canopy.evaluation.bootstrap import Interval
from canopy.evaluation.measures import DEPTH_QUANTILES, GOLD, TUNED, WHOLE
from canopy.evaluation.tables import Results

# Inline figures get these two replaced by the page's own colours; saved files keep them on white.
INK, GRID = "#2b313a", "#d9dde3"
F0, F_THETA, GOLD_COLOR, OTHER = "#7d8899", "#0b8f6a", "#c98a12", "#8a94a3"
FLAT, ANY_LEVEL, ORACLE = "#3f7fc1", "#a4579d", "#c98a12"
OUTCOMES = (("kept", "#0b8f6a"), ("split", "#e0b04c"), ("dropped", "#a9b1bd"))
SERIES = ("#0b8f6a", "#3f7fc1", "#c98a12", "#a4579d", "#b5533c", "#5b6b80")


@contextmanager
def _figure(width: float, height: float, **grid: Any) -> Iterator[tuple[Any, Any]]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {"svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 9.5, "axes.edgecolor": GRID, "axes.linewidth": 0.9,
             "axes.labelcolor": INK, "axes.titlesize": 10, "axes.titlecolor": INK, "axes.titlelocation": "left",
             "axes.titleweight": "bold", "xtick.color": INK, "ytick.color": INK, "text.color": INK, "axes.grid": True, "grid.color": GRID,
             "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "xtick.major.size": 0,
             "ytick.major.size": 0, "legend.frameon": False, "legend.fontsize": 9, "lines.solid_capstyle": "round"}
    with rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(**grid)


def file_name(*parts: str) -> str:
    """A figure's name, safe as a file name and as an id on the page."""
    return "-".join(re.sub(r"[^\w.-]+", "_", p) for p in parts)


def _svg(figure: Any, name: str) -> str:
    from matplotlib import rc_context

    held = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(held, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = held.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    # Ids only need to be unique on the page that holds all figures.
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    return text.strip() + "\n"


def standalone(svg: str) -> str:
    """A figure as a file of its own: on white, so that it can be read in any viewer."""
    head, _, rest = svg.partition(">")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}>\n <rect width="100%" height="100%" fill="#ffffff"/>{rest}'


def inline(svg: str) -> str:
    """A figure for the page: scales with its column, and takes the page's text and line colours."""
    head, _, rest = svg.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    rest = rest.replace(INK, "var(--ink)").replace(GRID, "var(--line)").replace("'DejaVu Sans'", "var(--sans)")
    return f"{head}>{rest}"


def _percent_axis(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))


def decision_plot(cells: Sequence[Mapping[str, Any]]) -> str:
    """f0 and f_theta's decision accuracy with intervals, one line a benchmark, modality and kind of decision."""
    with _figure(5.2, 0.9 + 0.36 * len(cells)) as (figure, ax):
        place, labels, y = [], [], 0.0
        last = None
        for c in cells:
            group = (c["benchmark"], c["modality"])
            if last is not None and group != last:
                y += 0.5
            last = group
            a, b = c["f0"], c[TUNED]
            ax.plot([a.difference, b.difference], [y, y], color=GRID, linewidth=5, solid_capstyle="butt", zorder=1)
            for i, color, shift in ((a, F0, 0.14), (b, F_THETA, -0.14)):
                ax.plot([i.low, i.high], [y + shift, y + shift], color=color, linewidth=1.4, zorder=2)
                ax.plot([i.difference], [y + shift], "o", color=color, markersize=6, zorder=3)
            modality = "" if c["modality"] == "all" else f" {c['modality']}"
            labels.append(f"{c['benchmark']}{modality} · {c['kind']}")
            place.append(y)
            y += 1
        ax.set_yticks(place, labels)
        ax.set_ylim(y - 0.4, -0.7)
        ax.grid(axis="y", visible=False)
        _percent_axis(ax.xaxis)
        ax.set_xlabel("decision accuracy, 95% interval")
        ax.plot([], [], "o-", color=F0, label="f0 (better mode)")
        ax.plot([], [], "o-", color=F_THETA, label="f_theta")
        figure.legend(loc="outside upper right", ncols=2)
        return _svg(figure, "decisions")


def levels_plot(r: Results) -> str:
    """Root-relative scores s(v) - s(root) by depth for gold and other nodes: median and middle half, f0 beside f_theta."""
    low, middle, high = (DEPTH_QUANTILES.index(q) for q in (0.25, 0.5, 0.75))
    shown = r.levels[(r.levels["modality"] == "all") & (r.levels["n"] >= 5)]
    shown = shown[shown["system"].isin([r.better, TUNED])]
    with _figure(5.2, 3.2, nrows=1, ncols=2, sharey=True) as (figure, axes):
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
        return _svg(figure, file_name("levels", r.name))


def outcomes_plot(r: Results) -> str:
    """What became of the nodes that the rule looked at (kept whole, split, dropped), by modality, f0 beside f_theta."""
    rows = []
    for modality in sorted(set(r.regions["modality"])):
        for system in (r.better, TUNED):
            part = r.regions[(r.regions["modality"] == modality) & (r.regions["system"] == system)]
            counts = [int(part[f"nodes_{o}"].sum()) for o, _ in OUTCOMES]
            rows.append((modality, system, counts))
    with _figure(5.2, 0.95 + 0.42 * len(rows)) as (figure, ax):
        place, labels, y = [], [], 0.0
        for n, (modality, system, counts) in enumerate(rows):
            y += 0.35 if n and n % 2 == 0 else 0
            left, total = 0.0, max(1, sum(counts))
            for (_, color), count in zip(OUTCOMES, counts, strict=True):
                width = count / total
                ax.barh(y, width, left=left, height=0.72, color=color, edgecolor="none")
                if width > 0.09:
                    ax.text(left + width / 2, y, f"{100 * width:.0f}%", ha="center", va="center", fontsize=8.5, color="#10151c")
                left += width
            ax.text(1.015, y, f"{sum(counts):,}", va="center", fontsize=8.5)
            labels.append(f"{modality} · {system}")
            place.append(y)
            y += 1
        ax.set_yticks(place, labels)
        ax.set_ylim(y - 0.4, -0.6)
        ax.set_xlim(0, 1.13)
        ax.grid(axis="y", visible=False)
        ax.spines[["left", "bottom"]].set_visible(False)
        _percent_axis(ax.xaxis)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        ax.set_xlabel("share of judged nodes (their number at the right)")
        for outcome, color in OUTCOMES:
            ax.barh([np.nan], [0], color=color, label=outcome)
        figure.legend(loc="outside upper right", ncols=3)
        return _svg(figure, file_name("outcomes", r.name))


def tradeoff_plot(r: Results, values: Mapping[str, Mapping[str, Interval]]) -> str:
    """Gold recall, and answers still in evidence, against the tokens kept: up and left is better."""
    wanted = [(k, label) for k, label in (("gold_recall", "gold recall"), ("answer_in_evidence", "answer in evidence"))
              if k in values[TUNED]]
    with _figure(5.2, 3.1 * len(wanted) + 0.5, nrows=len(wanted), ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (key, label) in zip(grid[:, 0], wanted, strict=True):
            for prefix, color, name in (("flat leaf", FLAT, "flat leaf m"), ("any-level", ANY_LEVEL, "any-level m")):
                names = [n for n in r.names if n.startswith(prefix)]
                x = [values[n]["kept_share"].difference for n in names]
                y = [values[n][key].difference for n in names]
                ax.plot(x, y, "o-", color=color, markersize=5, linewidth=1.5, alpha=0.95, label=name)
                for n, px, py in zip(names, x, y, strict=True):
                    ax.annotate(n.partition("m=")[2], (px, py), xytext=(5, -10 if prefix == "flat leaf" else 5),
                                textcoords="offset points", fontsize=8, color=color)
            singles = [(b, F0, "o" if b.endswith("one_pass") else "^") for b in r.frozen]
            for n, color, marker in [*singles, (TUNED, F_THETA, "D"), (GOLD, ORACLE, "*"), (WHOLE, INK, "s")]:
                x, y = values[n]["kept_share"], values[n][key]
                if n in (*r.frozen, TUNED):
                    ax.plot([x.low, x.high], [y.difference] * 2, color=color, linewidth=1.2)
                    ax.plot([x.difference] * 2, [y.low, y.high], color=color, linewidth=1.2)
                ax.plot([x.difference], [y.difference], marker, color=color, markersize=11 if marker == "*" else 7.5, label=n, linestyle="none", zorder=4)
            _percent_axis(ax.yaxis)
            _percent_axis(ax.xaxis)
            ax.set_title(label)
            ax.margins(0.07)
        grid[-1, 0].set_xlabel("tokens kept, share of the whole items")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return _svg(figure, file_name("tradeoff", r.name))


def retrieval_plot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Recall of gold items at k, with intervals, a line a benchmark."""
    with _figure(5.2, 3.0) as (figure, ax):
        for n, benchmark in enumerate(dict.fromkeys(r["benchmark"] for r in rows)):
            mine = [r for r in rows if r["benchmark"] == benchmark]
            k, color = [r["k"] for r in mine], SERIES[n % len(SERIES)]
            ax.fill_between(k, [r["recall"].low for r in mine], [r["recall"].high for r in mine], color=color, alpha=0.18, linewidth=0)
            ax.plot(k, [r["recall"].difference for r in mine], "o-", color=color, linewidth=2, markersize=5, label=benchmark)
        ax.set_xticks(sorted({r["k"] for r in rows}))
        ax.set_ylim(0, 1.02)
        _percent_axis(ax.yaxis)
        ax.set_xlabel("items retrieved (k)")
        ax.set_ylabel("recall of gold items")
        figure.legend(loc="outside upper right", ncols=3)
        return _svg(figure, "retrieval")


def training_plot(curve: pd.DataFrame) -> str:
    """The preference loss at each step, and its running mean."""
    with _figure(5.2, 2.9) as (figure, ax):
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
        return _svg(figure, "training")
