"""Draws the starter benchmark's pictures from their data: bars, lines, timelines, maps, layers and flows, as PNG."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from canopy.starter.placement import place_labels
from canopy.starter.themes import Bars, Flow, Layers, Line, Map, Timeline
from canopy.starter.typography import fit, wrap

WIDTH, HEIGHT, DPI = 960, 600, 100
PAPER, INK, SOFT, GRID, ACCENT, WARM = "#fdfcf9", "#1d2b3a", "#5f6b78", "#dcd8cd", "#1f6f8b", "#b5543b"
SERIES = (ACCENT, WARM, "#5b7a3a", "#7a4f86")
BANDS = ("#d8ecf3", "#a9d3e2", "#6fb0c8", "#3b87a6", "#1f5f7d", "#123f57", "#0b2a3b")
Drawing = Bars | Line | Timeline | Map | Layers | Flow


def write_drawing(drawing: Drawing, title: str, path: Path) -> None:
    """Draw and save as PNG. Neither dates nor software versions go into the file, so equal data gives equal bytes."""
    with matplotlib.style.context("default"):
        figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor=PAPER)
        FigureCanvasAgg(figure)
        size, lines = fit(title, WIDTH - 80, 60, range(27, 17, -1), bold=True)
        figure.text(
            40 / WIDTH, 1 - 26 / HEIGHT, "\n".join(lines), size=_points(size), weight="bold", color=INK, va="top"
        )
        PAINTERS[type(drawing)](figure, drawing)
        figure.savefig(path, format="png", metadata={"Software": None}, facecolor=PAPER)


def _points(pixels: float) -> float:
    return pixels * 72 / DPI


def _axes(figure: Figure, left: float, top: float, right: float, bottom: float) -> Axes:
    """Axes with the given distances from the figure's edges, in pixels."""
    return figure.add_axes(
        (left / WIDTH, bottom / HEIGHT, 1 - (left + right) / WIDTH, 1 - (top + bottom) / HEIGHT), facecolor="none"
    )


def _canvas(figure: Figure) -> Axes:
    """Axes over the whole figure whose coordinates are pixels from the top left corner."""
    axes = _axes(figure, 0, 0, 0, 0)
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    return axes


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,}"


def _plain(axes: Axes, *sides: str) -> None:
    for side in ("left", "right", "top", "bottom"):
        axes.spines[side].set(visible=side in sides, color=SOFT)
    axes.tick_params(colors=SOFT, labelcolor=INK, labelsize=_points(17), length=0)


def draw_bars(figure: Figure, drawing: Bars) -> None:
    """Horizontal bars in the order given, each with its value at its end."""
    names, values = list(drawing.values), list(drawing.values.values())
    labels = [wrap(n, 200, 18) for n in names]
    axes = _axes(figure, 236, 96, 40, 34)
    axes.barh(range(len(names)), values, height=0.64, color=ACCENT)
    axes.set(ylim=(len(names) - 0.45, -0.55), xlim=(0, max(values) * 1.2), xticks=[])
    axes.set_yticks(range(len(names)), ["\n".join(x) for x in labels])
    _plain(axes, "left")
    axes.tick_params(axis="y", labelsize=_points(18), pad=8)
    for place, value in enumerate(values):
        axes.annotate(
            f"{_number(value)} {drawing.unit}",
            (value, place),
            (8, 0),
            textcoords="offset points",
            va="center",
            size=_points(18),
            weight="bold",
            color=INK,
        )


def draw_line(figure: Figure, drawing: Line) -> None:
    """One line a series, its points marked and labelled with their values."""
    axes = _axes(figure, 92, 130, 50, 72)
    points, texts = [], []
    for (name, series), color in zip(drawing.series.items(), SERIES * len(drawing.series), strict=False):
        axes.plot(
            *zip(*series, strict=True), color=color, marker="o", markersize=7, linewidth=2.5, label=name, clip_on=False
        )
        points += [(x, y) for x, y in series]
        texts += [f"{x:g}: {_number(y)}" for x, y in series]
    low, high = min(y for _, y in points), max(y for _, y in points)
    axes.set_ylim(low - (high - low) * 0.12, high + (high - low) * 0.1)
    axes.set_xlabel(drawing.x, size=_points(17), color=SOFT)
    axes.set_title(drawing.y, loc="left", size=_points(17), color=SOFT, pad=12)
    axes.grid(axis="y", color=GRID, linewidth=1)
    _plain(axes, "bottom")
    if len(drawing.series) > 1:
        axes.legend(frameon=False, fontsize=_points(17), labelcolor=INK)
    place_labels(axes, points, texts, size=_points(16), color=INK, lines=list(drawing.series.values()))


def draw_timeline(figure: Figure, drawing: Timeline) -> None:
    """Years to scale on an upright axis.

    The events stand beside it, as far apart as they need, with leaders to their years.
    """
    axes, spine, column, top, bottom = _canvas(figure), 150, 300, 112, HEIGHT - 42
    events = sorted(drawing.events, key=lambda e: e[0])
    first, last = events[0][0], events[-1][0]
    true = [top + (bottom - top) * (year - first) / max(1, last - first) for year, _ in events]
    labels = spread(true, min(64.0, (bottom - top) / max(1, len(events) - 1)), top, bottom)
    axes.plot([spine, spine], [top - 16, bottom + 16], color=SOFT, linewidth=3, solid_capstyle="round")
    step = next(s for s in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000) if (last - first) / s <= 8)
    for year in range(math.ceil(first / step) * step, last + 1, step):
        y = top + (bottom - top) * (year - first) / max(1, last - first)
        axes.plot([spine - 12, spine], [y, y], color=SOFT, linewidth=1.5)
        axes.text(spine - 20, y, str(year), size=_points(16), color=SOFT, ha="right", va="center")
    for (year, text), a, b in zip(events, true, labels, strict=True):
        axes.plot([spine, spine + 50, column - 56, column - 20], [a, a, b, b], color=ACCENT, linewidth=1.3, alpha=0.75)
        axes.plot(spine, a, "o", color=ACCENT, markersize=9, markeredgecolor=PAPER, markeredgewidth=1.5)
        axes.text(column - 10, b, str(year), size=_points(21), weight="bold", color=ACCENT, va="center")
        size, lines = fit(text, WIDTH - column - 110, 48, range(21, 13, -1))
        axes.text(column + 72, b, "\n".join(lines), size=_points(size), color=INK, va="center")


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move sorted places apart to at least ``gap`` within ``[low, high]``, as little as two passes allow."""
    out, edge = [], -math.inf
    for p in places:
        edge = max(p, edge + gap, low)
        out.append(edge)
    edge = math.inf
    for n in range(len(out) - 1, -1, -1):
        edge = min(out[n], edge - gap, high)
        out[n] = edge
    return out


def draw_map(figure: Figure, drawing: Map) -> None:
    """Places on a grid of latitude and longitude, true to scale at the middle latitude, with a scale bar and a north
    arrow."""
    lats, lons = [p[1] for p in drawing.points], [p[2] for p in drawing.points]
    middle, axes = (min(lats) + max(lats)) / 2, _axes(figure, 84, 88, 40, 62)
    squeeze = math.cos(math.radians(middle))
    tall = max(max(lats) - min(lats), 1.0) * 1.3
    wide = max(max(lons) - min(lons), 1.0) * 1.3
    ratio = (WIDTH - 124) / (HEIGHT - 150)
    tall = max(tall, wide * squeeze / ratio)
    wide = tall * ratio / squeeze
    center = (min(lons) + max(lons)) / 2
    axes.set(
        xlim=(center - wide / 2, center + wide / 2), ylim=(middle - tall / 2, middle + tall / 2), facecolor="#eef4f4"
    )
    for axis, span, names in ((axes.xaxis, wide, "WE"), (axes.yaxis, tall, "SN")):
        step = next(s for s in (1, 2, 5, 10, 15, 20, 30, 45, 60) if span / s <= 7)
        low, high = axis.get_view_interval()
        ticks = [t * step for t in range(math.ceil(low / step), math.floor(high / step) + 1)]
        axis.set_ticks(ticks, [f"{abs(t)}°{names[t > 0] if t else ''}" for t in ticks])
    axes.grid(color="#cfdcdc", linewidth=1)
    _plain(axes, "left", "right", "top", "bottom")
    axes.plot(
        lons,
        lats,
        "o",
        color=WARM,
        markersize=10,
        markeredgecolor="white",
        markeredgewidth=1.5,
        linestyle="none",
        zorder=3,
    )
    length = next(k for k in (5000, 2000, 1000, 500, 200, 100, 50, 20) if k / 111.2 / squeeze <= wide / 4)
    end = axes.get_xlim()[1] - wide * 0.03
    start, y = end - length / 111.2 / squeeze, axes.get_ylim()[0] + tall * 0.05
    axes.plot([start, end], [y, y], color=INK, linewidth=3, solid_capstyle="butt")
    bar = axes.annotate(
        f"{_number(length)} km",
        ((start + end) / 2, y),
        (0, 5),
        textcoords="offset points",
        ha="center",
        size=_points(15),
        color=INK,
    )
    north = axes.annotate(
        "N",
        (0.96, 0.95),
        (0.96, 0.83),
        xycoords="axes fraction",
        ha="center",
        va="center",
        size=_points(19),
        color=INK,
        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.8},
    )
    place_labels(
        axes,
        list(zip(lons, lats, strict=True)),
        [p[0] for p in drawing.points],
        size=_points(19),
        color=INK,
        boxes=[bar, north],
    )


def draw_layers(figure: Figure, drawing: Layers) -> None:
    """Bands of equal height from the top down, darker with depth, each with its name and extent."""
    axes, top, bottom = _canvas(figure), 96, HEIGHT - 36
    height = (bottom - top) / len(drawing.layers)
    for n, (name, extent) in enumerate(drawing.layers):
        shade = round(n * (len(BANDS) - 1) / max(1, len(drawing.layers) - 1))
        color = PAPER if shade >= 3 else INK
        axes.add_patch(
            FancyBboxPatch(
                (40, top + n * height + 2),
                WIDTH - 80,
                height - 4,
                boxstyle="round,pad=0,rounding_size=6",
                facecolor=BANDS[shade],
                edgecolor="none",
            )
        )
        y = top + (n + 0.5) * height
        for x, text, align, width, bold in ((66, name, "left", 500, True), (WIDTH - 66, extent, "right", 300, False)):
            size, lines = fit(text, width, height - 10, range(24, 13, -1), bold)
            axes.text(
                x,
                y,
                "\n".join(lines),
                size=_points(size),
                weight="bold" if bold else "normal",
                color=color,
                ha=align,
                va="center",
            )


def draw_flow(figure: Figure, drawing: Flow) -> None:
    """Boxes in rows of three, read there and back like an ox ploughs, joined by labelled arrows.

    The last arrow leads out.
    """
    axes, wide, tall, across = _canvas(figure), 188, 84, 3
    rows = math.ceil(len(drawing.steps) / across)
    pitch = (HEIGHT - 130) / rows
    left, right = 40 + wide / 2, WIDTH - 40 - wide / 2

    def center(n: int) -> tuple[float, float]:
        row, column = divmod(n, across)
        column = column if row % 2 == 0 else across - 1 - column
        return left + column * (right - left) / (across - 1), 112 + tall / 2 + row * pitch + (pitch - tall) * 0.18

    for n, (name, label) in enumerate(drawing.steps):
        x, y = center(n)
        axes.add_patch(FancyBboxPatch((x - wide / 2, y - tall / 2), wide, tall, boxstyle="round,pad=0,rounding_size=10",
                                      facecolor=ACCENT, edgecolor="none"))
        size, lines = fit(name, wide - 20, tall - 14, range(23, 13, -1), bold=True)
        axes.text(x, y, "\n".join(lines), size=_points(size), weight="bold", color="white", ha="center", va="center")
        row = n // across
        forward = 1 if row % 2 == 0 else -1
        turns, ends = n % across == across - 1, n == len(drawing.steps) - 1
        if turns:  # down to the next row, or out of the picture
            start = (x, y + tall / 2 + 4)
            end = (x, start[1] + 62) if ends else (x, center(n + 1)[1] - tall / 2 - 4)
            at, align = (x - 16 * forward, (start[1] + end[1]) / 2), "right" if forward > 0 else "left"
            room = (260.0, abs(end[1] - start[1]))
        else:
            start = (x + forward * (wide / 2 + 4), y)
            end = (start[0] + forward * 118, y) if ends else (center(n + 1)[0] - forward * (wide / 2 + 4), y)
            at, align, room = ((start[0] + end[0]) / 2, y - 12), "center", (abs(end[0] - start[0]) - 8, tall / 2 + 16)
        axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=22, color=WARM, linewidth=2.5, shrinkA=0, shrinkB=0
            )
        )
        size, lines = fit(label, *room, range(19, 12, -1))
        axes.text(*at, "\n".join(lines), size=_points(size), color=INK, ha=align, va="center" if turns else "bottom")


PAINTERS: dict[type, Callable[[Figure, Any], None]] = {
    Bars: draw_bars, Line: draw_line, Timeline: draw_timeline, Map: draw_map, Layers: draw_layers, Flow: draw_flow,
}
