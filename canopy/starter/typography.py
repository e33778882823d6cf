"""Measures and wraps text in the font that matplotlib ships, so that pictures and slides never cut a word off."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib
from PIL import ImageFont


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """DejaVu Sans at ``size`` pixels. The basic layout engine is asked for, since the other one is not everywhere."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)


def wrap(text: str, width: float, size: int, bold: bool = False) -> list[str]:
    """Cut ``text`` into lines of at most ``width`` pixels; only a single word may be wider."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font(size, bold).getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def fit(
    text: str, width: float, height: float, sizes: range, bold: bool = False, spacing: float = 1.25
) -> tuple[int, list[str]]:
    """The largest of ``sizes`` (given downwards) at which the wrapped text stays inside a box, and its lines."""
    for size in sizes:
        lines = wrap(text, width, size, bold)
        if len(lines) * size * spacing <= height and max(font(size, bold).getlength(x) for x in lines) <= width:
            break
    return size, lines
