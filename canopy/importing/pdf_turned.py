"""Text of a PDF page that runs up, down or upside down, turned so that it reads from left to right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Char = Mapping[str, Any]
_STRAIGHT = 3.0  # degrees that a line may lean


def direction(char: Char) -> int | None:
    """Which way a letter's line runs: 0 to the right, 90 up, 180 upside down, 270 down; None if it is slanted."""
    matrix = char.get("matrix")
    if not matrix:
        return 0
    a, b = float(matrix[0]), float(matrix[1])
    if not math.isfinite(a) or not math.isfinite(b) or (a == 0 and b == 0):
        return 0
    angle = math.degrees(math.atan2(b, a)) % 360
    nearest = round(angle / 90) * 90
    return nearest % 360 if abs(angle - nearest) <= _STRAIGHT else None


def by_direction(letters: Sequence[Char]) -> dict[int | None, list[Char]]:
    """Letters by the direction of their line, those to the right first, slanted ones under None and last."""
    groups: dict[int | None, list[Char]] = {0: []}
    for letter in letters:
        groups.setdefault(direction(letter), []).append(letter)
    return dict(sorted(groups.items(), key=lambda group: 360 if group[0] is None else group[0]))


def turn(letters: Sequence[Char], way: int, width: float, height: float) -> list[dict[str, Any]]:
    """Letters that run up (90), upside down (180) or down (270) at their places on a page that is turned to read them.

    Parameters
    ----------
    width, height : float
        Of the page as it is, in points.
    """
    turned = []
    for letter in letters:
        if not str(letter["text"]).strip():  # gaps part words; a blank may lie on the letter beside it
            continue
        x0, x1, top, bottom = (float(letter[k]) for k in ("x0", "x1", "top", "bottom"))
        box = {90: (height - bottom, height - top, x0, x1),
               180: (width - x1, width - x0, height - bottom, height - top),
               270: (top, bottom, width - x1, width - x0)}[way]
        place = dict(zip(("x0", "x1", "top", "bottom"), box, strict=True))
        turned.append({**letter, **place, "doctop": place["top"], "upright": True, "width": box[1] - box[0],
                       "height": box[3] - box[2]})
    return turned
