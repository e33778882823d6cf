"""How the report's figures are drawn: one style, SVG text that is legible on a light and on a dark page, the same
bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Inline figures get these two replaced by the page's own colours; saved files keep them on white.
INK, GRID = "#2b313a", "#d9dde3"
F0, F_THETA, GOLD_COLOR, OTHER = "#7d8899", "#0b8f6a", "#c98a12", "#8a94a3"
FLAT, ANY_LEVEL, ORACLE = "#3f7fc1", "#a4579d", "#c98a12"
OUTCOMES = (("kept", "#0b8f6a"), ("split", "#e0b04c"), ("dropped", "#a9b1bd"))
SERIES = ("#0b8f6a", "#3f7fc1", "#c98a12", "#a4579d", "#b5533c", "#5b6b80")


@contextmanager
def figure_of(width: float, height: float, **grid: Any) -> Iterator[tuple[Any, Any]]:
    """A figure of so many inches and its axes (``grid``: as ``Figure.subplots`` takes it), in the report's style."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {"svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": 9.5, "axes.edgecolor": GRID,
             "axes.linewidth": 0.9,
             "axes.labelcolor": INK, "axes.titlesize": 10, "axes.titlecolor": INK, "axes.titlelocation": "left",
             "axes.titleweight": "bold", "xtick.color": INK, "ytick.color": INK, "text.color": INK, "axes.grid": True,
             "grid.color": GRID,
             "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
             "xtick.major.size": 0,
             "ytick.major.size": 0, "legend.frameon": False, "text.parse_math": False, "legend.fontsize": 9,
             "lines.solid_capstyle": "round"}
    with rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(**grid)


def file_name(*parts: str) -> str:
    """A figure's name, safe as a file name and as an id on the page."""
    return "-".join(re.sub(r"[^\w.-]+", "_", p) for p in parts)


def svg_of(figure: Any, name: str) -> str:
    """A figure as SVG text; ``name`` keeps its ids apart from those of the page's other figures."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True,
                       metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
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


def percent_axis(axis: Any) -> None:
    """Shares as percent, at round values."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))


def shares_plot(rows: Sequence[tuple[str, str, Sequence[int]]], outcomes: Sequence[str], what: str, name: str) -> str:
    """Stacked bars of what became of things, as SVG text.

    Parameters
    ----------
    rows : sequence of (group, label, counts)
        A bar each, a gap between groups; counts are those of `OUTCOMES`, in their order.
    outcomes : sequence of str
        What the legend calls them.
    what : str
        The things counted, for the axis.
    """
    colors = [c for _, c in OUTCOMES]
    with figure_of(5.2, 0.95 + 0.42 * len(rows)) as (figure, ax):
        place, labels, y, last = [], [], 0.0, rows[0][0] if rows else ""
        for group, label, counts in rows:
            y += 0.35 if group != last else 0
            last, left, total = group, 0.0, max(1, sum(counts))
            for color, count in zip(colors, counts, strict=True):
                width = count / total
                ax.barh(y, width, left=left, height=0.72, color=color, edgecolor="none")
                if width > 0.09:
                    ax.text(left + width / 2, y, f"{100 * width:.0f}%", ha="center", va="center", fontsize=8.5,
                            color="#10151c")
                left += width
            ax.text(1.015, y, f"{sum(counts):,}", va="center", fontsize=8.5)
            labels.append(f"{group} · {label}")
            place.append(y)
            y += 1
        ax.set_yticks(place, labels)
        ax.set_ylim(y - 0.4, -0.6)
        ax.set_xlim(0, 1.13)
        ax.grid(axis="y", visible=False)
        ax.spines[["left", "bottom"]].set_visible(False)
        percent_axis(ax.xaxis)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        ax.set_xlabel(f"share of {what} (their number at the right)")
        for outcome, color in zip(outcomes, colors, strict=True):
            ax.barh([float("nan")], [0], color=color, label=outcome)
        figure.legend(loc="outside upper right", ncols=3)
        return svg_of(figure, name)
