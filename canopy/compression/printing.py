"""A compression as JSON, and as lines for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from canopy.compression.evidence import Compression


def to_json(compression: Compression, model: str) -> str:
    """What is kept as JSON: the question, the model, and every item with its regions."""
    fields = {
        "question": compression.question, "model": model, "tokens_before": compression.tokens_before,
        "tokens_after": compression.tokens_after, "items": [asdict(i) for i in compression.items],
        "notes": list(compression.notes)}
    return json.dumps(fields, indent=1, ensure_ascii=False)


def to_lines(compression: Compression, model: str) -> Iterator[str]:
    """What is kept, item by item, with tokens before and after."""
    for item in compression.items:
        yield f"{item.id}  {item.modality}  {share(item.tokens_after, item.tokens_before)}"
        yield from item.text.splitlines()
        yield ""
    count = len(compression.items)
    total = share(compression.tokens_after, compression.tokens_before)
    yield f"{total} over {count} item{'s' if count != 1 else ''}; {model}"


def share(after: int, before: int) -> str:
    """``12 of 40 tokens (30%)``."""
    return f"{after} of {before} tokens ({after / before:.0%})" if before else "no tokens"
