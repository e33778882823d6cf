"""A completion out of a server's reply, and texts that JSON can carry and servers can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class Completion(TypedDict):
    """A completion as the server gave it."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish: str


class TimedCompletion(Completion):
    """A completion as the cache keeps it, with the seconds that it took."""

    seconds: float


def replace_half_characters(value: Any) -> Any:
    """A request's texts without halves of characters: JSON can carry lone surrogates, but servers fail on them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {k: replace_half_characters(v) for k, v in value.items()}
    return [replace_half_characters(v) for v in value] if isinstance(value, list | tuple) else value


def read_completion(body: Any) -> Completion:
    """Text and token counts of a completion.

    A missing text (content filtered, tool call) reads as empty, a missing count as 0.

    Raises
    ------
    KeyError, TypeError, IndexError, AttributeError
        If it is no completion.
    """
    choice = body["choices"][0]
    content = choice["message"].get("content") or ""
    if isinstance(content, list):  # some servers reply in parts
        content = "".join(str(p.get("text") or "") for p in content if p.get("type") in ("text", "output_text"))
    if not isinstance(content, str):
        raise TypeError("its content is not a text")
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}

    def count(name: str) -> int:
        n = counts.get(name)
        return n if isinstance(n, int) and n >= 0 else 0

    return {"text": replace_half_characters(content), "prompt_tokens": count("prompt_tokens"),
            "completion_tokens": count("completion_tokens"), "finish": str(choice.get("finish_reason") or "")}
