"""Puts labels beside points so that they cover neither each other nor a point, by trying places around each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

_AROUND = [(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in (0, 180, 90, 270, 35, 325, 145, 215)]
_RINGS = (11.0, 20.0, 34.0)


def place_labels(axes: Axes, points: Sequence[tuple[float, float]], texts: Sequence[str], *, size: float, color: str,
                 boxes: Sequence[Text] = (), lines: Sequence[Sequence[tuple[float, float]]] = ()) -> None:
    """Label points of ``axes``, the most crowded first.

    ``boxes`` are texts already drawn, ``lines`` the corners of lines already drawn: labels keep off both.
    """
    canvas = cast(FigureCanvasAgg, axes.figure.canvas)
    renderer = canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    spots = [axes.transData.transform(p) for p in points]
    dots = [Bbox.from_extents(x - 7, y - 7, x + 7, y + 7) for x, y in spots]
    full = [t.get_window_extent(renderer).padded(4) for t in boxes]
    dots += [
        Bbox.from_extents(x - 4, y - 4, x + 4, y + 4)
        for line in lines
        for x, y in _along(axes.transData.transform(line))
    ]
    nearest = [
        min((math.dist(a, b) for m, b in enumerate(spots) if m != n), default=math.inf) for n, a in enumerate(spots)
    ]
    for n in sorted(range(len(points)), key=lambda n: (nearest[n], n)):
        label = axes.annotate(
            texts[n],
            points[n],
            (0, 0),
            textcoords="offset pixels",
            size=size,
            color=color,
            ha="center",
            va="center",
            zorder=4,
        )
        box = label.get_window_extent(renderer)
        best: tuple[float, float, float, Bbox] | None = None
        for ring in _RINGS:
            for order, (cx, cy) in enumerate(_AROUND):
                dx, dy = cx * (ring + box.width / 2), cy * (ring + box.height / 2)
                if abs(cx) > 0.1 and abs(cy) > 0.1:
                    dx, dy = (
                        math.copysign(ring * 0.8 + box.width / 2, cx),
                        math.copysign(ring * 0.5 + box.height / 2, cy),
                    )
                at = Bbox.from_bounds(
                    spots[n][0] + dx - box.width / 2, spots[n][1] + dy - box.height / 2, box.width, box.height
                )
                covered = sum(_overlap(at, other) for other in (*full, *(d for m, d in enumerate(dots) if m != n)))
                outside = box.width * box.height - _overlap(at, frame)
                cost = covered * 10 + outside * 20 + ring * 4 + order
                if best is None or cost < best[0]:
                    best = (cost, dx, dy, at)
        assert best is not None
        label.xyann = best[1], best[2]
        full.append(best[3].padded(2))


def _along(corners: np.ndarray, step: float = 6.0) -> Iterator[tuple[float, float]]:
    """Points every ``step`` pixels of a line, so that a label can be tested against boxes alone."""
    for (ax, ay), (bx, by) in pairwise(corners):
        n = max(1, round(math.hypot(bx - ax, by - ay) / step))
        yield from ((ax + (bx - ax) * i / n, ay + (by - ay) * i / n) for i in range(n + 1))


def _overlap(a: Bbox, b: Bbox) -> float:
    both = Bbox.intersection(a, b)
    return both.width * both.height if both is not None else 0.0
