"""Replies with a fixed shape: by JSON schema where the server can, else strictly parsed, repaired once, and given up on visibly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from canopy.llm.roles import Chat, Trace

Shape = TypeVar("Shape", bound=BaseModel)
REPAIR = ("Your reply could not be used: {trouble}. Reply again with one JSON object and nothing else, of this schema:\n{schema}")


class Strict(BaseModel):
    """Base of reply shapes: no coercion (the string "false" is not a boolean), no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def find_object(text: str) -> Any:
    """The JSON object in a reply: the whole of it, inside a code fence, or the first balanced object; ValueError where there is none."""
    cleaned = re.sub(r"<think>.*?</think>", "", text, flags=re.S).strip()
    fenced = re.search(r"```(?:json)?\s*(\{.*?\})\s*```", cleaned, re.S)
    for candidate in (cleaned, fenced.group(1) if fenced else ""):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    start = cleaned.find("{")
    while start >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(cleaned[start:])
        except (ValueError, RecursionError):
            start = cleaned.find("{", start + 1)
            continue
        return value
    raise ValueError("no JSON object in it")


def ask_for(shape: type[Shape], chat: Chat, role: str, messages: Sequence[Mapping[str, Any]], trace: Trace, max_tokens: int = 256) -> Shape | None:
    """A reply of the given shape.

    Returns
    -------
    The parsed reply; None where neither the first reply nor the one repair could be used. The trace's last call then says why
    (``fallback``), so that reports count it.
    """
    schema = shape.model_json_schema()
    said: list[Mapping[str, Any]] = list(messages)
    trouble = ""
    for _ in range(2):
        text = chat.complete(role, said, trace, max_tokens=max_tokens, schema=schema)
        try:
            return shape.model_validate(find_object(text))
        except ValidationError as e:
            first = e.errors()[0]
            trouble = f"{'.'.join(map(str, first['loc'])) or 'object'}: {first['msg']}"
        except ValueError as e:
            trouble = str(e)
        said = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": REPAIR.format(trouble=trouble, schema=json.dumps(schema))}]
    trace.calls[-1] = replace(trace.calls[-1], fallback=trouble)
    return None
