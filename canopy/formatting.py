"""Numbers for people: at most four significant digits; the one home of how they are written outside raw files."""

from __future__ import annotations

import math
import re
from typing import Any

DIGITS = 4
_LONG = re.compile(r"(?<![\w.])[-+]?\d+\.\d{3,}(?:e[-+]?\d+)?(?![\w.]*\w)")


def number(value: float) -> str:
    """A number in at most four significant digits, without an exponent where people need none.

    Whole numbers up to 2**53 are counts and stay whole, with thousands marked: ``12,345``. Others are rounded:
    ``0.4213``, ``1,235``, ``0.00001234`` as ``1.234e-05``. What is not finite is a dash.
    """
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 2**53):
        return f"{int(value):,}"
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 10 ** (DIGITS - 1):
        return f"{round_number(value):,.0f}"
    return f"{value:.{DIGITS}g}"


def tenths(value: float, *, signed: bool = False) -> str:
    """A number with one decimal, as long as that is four digits: ``12.3``, ``1,235``; ``signed`` gives ``+12.3``."""
    places = 1 if abs(value) < 10 ** (DIGITS - 1) - 0.05 else 0
    return f"{round_number(value) if not places else value:{'+' if signed else ''},.{places}f}"


def round_number(value: float) -> float:
    """A float of at most four significant digits, for displays that take numbers and write them themselves."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) and value != int(value) else value


def round_text(text: str) -> str:
    """A text whose long decimal fractions are written in four significant digits; versions and names stay."""
    return _LONG.sub(lambda match: number(float(match[0])), text)


def cell(value: Any) -> str:
    """A table's cell as text: numbers by `number`, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return number(value)


def duration(seconds: float) -> str:
    """Seconds in the unit that people say: ``8 s``, ``12 min``, ``3 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
