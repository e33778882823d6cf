"""Fields of a record: checked strings and seconds, stable item ids, and where a string occurs in a text."""

from __future__ import annotations

import math
import re
import unicodedata

from canopy.digests import text_sha256
from canopy.ingest.sink import Unusable

MAX_NUMBER = 1e7
MAX_VIDEO_SECONDS = 30 * 24 * 3600.0  # a month: every 30 s of a video are a leaf of its hierarchy
SHOWN_CHARS = 80


def text_of(value: object, field: str, *, empty: bool = False) -> str:
    """A string field. Unusable if it is something else, holds what UTF-8 cannot, or is empty when it must not be."""
    if not isinstance(value, str):
        raise Unusable(f"{field} must be a string, not {type(value).__name__}")
    if not empty and not value.strip():
        raise Unusable(f"{field} is empty")
    if "\x00" in value:
        raise Unusable(f"{field} holds a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Unusable(f"{field} holds a lone surrogate: it cannot be written as UTF-8") from None
    return value


def number_of(value: object, field: str, kind: str = "a number") -> float:
    """A finite number. Unusable if it is something else, or of more than `MAX_NUMBER`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == math.inf:
        raise Unusable(f"{field} must be {kind}, not {shorten(value)}")
    if abs(value) > MAX_NUMBER:
        raise Unusable(f"{field} must be {kind} of at most {MAX_NUMBER:,.0f}, not {shorten(value)}")
    return float(value)


def seconds_of(value: object, field: str) -> float:
    """A finite number of seconds. Unusable if it is something else."""
    return number_of(value, field, "a number of seconds")


def video_seconds_of(value: object, field: str) -> float:
    """A video's length in seconds, above 0 and at most `MAX_VIDEO_SECONDS`. Unusable if it is something else."""
    seconds = seconds_of(value, field)
    if not 0 < seconds <= MAX_VIDEO_SECONDS:
        raise Unusable(f"{field} must be above 0 and at most {MAX_VIDEO_SECONDS:,.0f} seconds, not {seconds:g}")
    return seconds


def shorten(value: object) -> str:
    """A value as error messages show it: short, and only the type of a list, an object or a number that is too long."""
    try:
        text = repr(value) if value is None or isinstance(value, (str, int, float)) else type(value).__name__
    except ValueError:  # an integer of thousands of digits
        return type(value).__name__
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


def item_id(benchmark: str, name: str, *content: str) -> str:
    """A stable, readable id: benchmark, a slug of the name, and a digest of name and content."""
    flat = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", flat).strip("-")[:40] or "item"
    digest = text_sha256("\x1f".join((name, *content)))[:10]
    return f"{benchmark}/{slug}-{digest}"


def occurrences(needle: str, text: str) -> list[tuple[int, int]]:
    """Character spans of ``needle`` in ``text``, whole words only.

    Exact ones; otherwise those that differ in case; otherwise those that differ in white space too.
    """
    words = needle.split()
    if not words:
        return []
    start = r"(?<!\w)" if words[0][0].isalnum() else ""
    end = r"(?!\w)" if words[-1][-1].isalnum() else ""
    exact, loose = re.escape(needle.strip()), r"\s*".join(re.escape(w) for w in words)
    for pattern, flags in ((exact, 0), (exact, re.IGNORECASE), (loose, re.IGNORECASE)):
        spans = [m.span() for m in re.finditer(start + pattern + end, text, flags)]
        if spans:
            return spans
    return []
