"""Fields of a record: checked strings, stable item ids, and where a string occurs in a text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from canopy.digests import text_sha256
from canopy.ingest.sink import Unusable, refuse_surrogates


def text_of(value: Any, what: str, *, empty: bool = False) -> str:
    """A string field; Unusable where it is something else, or empty when it must not be."""
    if not isinstance(value, str):
        raise Unusable(f"{what} must be a string, not {type(value).__name__}")
    if not empty and not value.strip():
        raise Unusable(f"{what} is empty")
    if "\x00" in value:
        raise Unusable(f"{what} holds a NUL character")
    refuse_surrogates(value)
    return value


def item_id(benchmark: str, name: str, *content: str) -> str:
    """A stable, readable id: benchmark, a slug of the name, and a digest of name and content."""
    flat = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", flat).strip("-")[:40] or "item"
    digest = text_sha256("\x1f".join((name, *content)))[:10]
    return f"{benchmark}/{slug}-{digest}"


def occurrences(needle: str, text: str) -> list[tuple[int, int]]:
    """Character spans of ``needle`` in ``text``: exact, else ignoring case, else ignoring white space too; whole words only."""
    words = needle.split()
    if not words:
        return []
    edge_a, edge_b = (r"(?<!\w)" if words[0][0].isalnum() else ""), (r"(?!\w)" if words[-1][-1].isalnum() else "")
    loose = r"\s*".join(re.escape(w) for w in words)
    for pattern, flags in ((re.escape(needle.strip()), 0), (re.escape(needle.strip()), re.IGNORECASE), (loose, re.IGNORECASE)):
        found = [m.span() for m in re.finditer(edge_a + pattern + edge_b, text, flags)]
        if found:
            return found
    return []
