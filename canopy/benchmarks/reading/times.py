"""Times as benchmarks write them: seconds, ``MM:SS``, ``H:MM:SS.mmm``, and spans of two of them."""

from __future__ import annotations

import math
import re
from typing import Any

from canopy.ingest.sink import Unusable

_CLOCK = re.compile(r"(?:(?:([0-9]{1,4}):)?([0-9]{1,4}):)?([0-9]{1,6}(?:[.,][0-9]{1,9})?)")
_BETWEEN = re.compile(r"\s*(?:[-\u2010-\u2015~]|\bto\b)\s*")
LONGEST = 1e7


def seconds_of(value: Any, what: str = "a time") -> float:
    """Seconds of a number or of a string like ``15``, ``00:15``, ``1:02:03.5``.

    Unusable if it is neither, negative or not finite.
    """
    if isinstance(value, str):
        m = _CLOCK.fullmatch(value.strip())
        if not m:
            raise Unusable(f"{what} must be seconds, MM:SS or H:MM:SS, not {value[:60]!r}")
        hours, minutes, seconds = m.groups()
        value = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds.replace(",", "."))
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or not 0 <= value <= LONGEST
    ):
        raise Unusable(f"{what} must be a number of seconds from 0 on, not {str(value)[:60]!r}")
    return float(value)


def span_of(value: Any, what: str = "a time reference") -> tuple[float, float]:
    """A span as (start, end) in seconds, from ``[start, end]``, ``"start-end"`` or a single time (an instant, of
    zero length)."""
    if isinstance(value, str):
        value = _BETWEEN.split(value.strip())
    ends = [value] if not isinstance(value, (list, tuple)) else list(value)
    if not 1 <= len(ends) <= 2:
        raise Unusable(f"{what} must be a start and an end, not {str(value)[:60]!r}")
    start, end = seconds_of(ends[0], what), seconds_of(ends[-1], what)
    if end < start:
        raise Unusable(f"{what} ends ({end:g} s) before it starts ({start:g} s)")
    return start, end
