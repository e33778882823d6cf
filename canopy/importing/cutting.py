"""Long texts cut into parts, between sentences if possible."""

from __future__ import annotations

import re
from collections.abc import Iterator

from canopy.hierarchy.leaves import sentence_bounds

# sentencex looks at a whole text; a "paragraph" of megabytes (a log, a minified file) is cut at white space first.
_STRETCH = 50_000


def cut_text(text: str, limit: int) -> list[str]:
    """A text in parts of at most ``limit`` characters: between sentences, within a longer sentence at white space, else
    hard.

    Joined with the white space between them the parts give the text again.
    """
    if len(text) <= limit:
        return [text] if text.strip() else []
    pieces: list[str] = []
    for stretch in _at_white_space(text, _STRETCH):
        bounds = sentence_bounds(stretch)
        for start, end in zip(bounds[:-1], bounds[1:], strict=True):
            pieces += _at_white_space(stretch[start:end], limit)
    parts = [""]
    for piece in pieces:
        if parts[-1] and len(parts[-1]) + len(piece.rstrip()) > limit:
            parts.append("")
        parts[-1] += piece
    return [p.strip() for p in parts if p.strip()]


def _at_white_space(text: str, limit: int) -> Iterator[str]:
    start = 0
    while len(text) - start > limit:
        window = text[start:start + limit]
        end = max((m.end() for m in re.finditer(r"\s+", window)), default=0)
        end = end if end > limit // 2 else limit
        yield text[start:start + end]
        start += end
    yield text[start:]
