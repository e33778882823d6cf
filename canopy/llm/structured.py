"""Replies with a fixed shape.

By JSON schema if the server knows it, otherwise parsed strictly; repaired once, then counted as a fallback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from canopy.llm.roles import Call, Chat, Trace
from canopy.llm.wire import Refused

Shape = TypeVar("Shape", bound=BaseModel)
REPAIR = ("Your reply could not be used: {trouble}. Reply again with one JSON object and nothing else, "
          "of this schema:\n{schema}")
LONGEST, STARTS = 50_000, 200  # characters of a reply that are looked at, and braces in it


class Strict(BaseModel):
    """Base of reply shapes: no coercion (the string "false" is not a boolean), no unknown fields.

    Fields have no defaults and lists are ``list``: OpenAI's strict schemas require every property, and JSON knows no
    tuples.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """A shape's JSON schema without the titles and descriptions that come from code.

    Rewording a docstring changes no request.
    """
    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if not (k in ("title", "description") and isinstance(v, str))}
        return [bare(v) for v in value] if isinstance(value, list) else value
    return bare(shape.model_json_schema())


def without_thoughts(text: str) -> str:
    """A reply without what a reasoning model thought before it; nothing if it was cut off while thinking."""
    if "</think>" in text:  # some servers leave the opening tag in the prompt
        return text.rsplit("</think>", 1)[1].strip()
    return "" if text.lstrip().startswith("<think>") else text.strip()


def find_object(text: str) -> Mapping[str, Any]:
    """The JSON object in a reply: the whole of it, inside a code fence, or the first one that begins anywhere.

    ValueError if there is none.
    """
    for candidate in _candidates(text[:LONGEST]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    reply = without_thoughts(text[:LONGEST])
    decoder = json.JSONDecoder()
    for brace in islice(re.finditer(r"\{", reply), STARTS):
        try:
            return decoder.raw_decode(reply, brace.start())[0]
        except (ValueError, RecursionError):
            continue
    raise ValueError("no JSON object in it")


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    reply = without_thoughts(text)
    yield reply
    yield from re.findall(r"```(?:json|JSON)?[ \t]*\n(.*?)\n[ \t]*```", reply, re.S)


def ask_for(shape: type[Shape], chat: Chat, role: str, messages: Sequence[Mapping[str, Any]], trace: Trace,
            max_tokens: int = 256) -> Shape | None:
    """A reply of the given shape.

    Returns
    -------
    The parsed reply; None if neither the first reply nor the one repair (a call of the role ``<role>_repair``) could
    be used, or the server refuses this very request. The trace's last call then says why (``fallback``), so that
    reports count it.

    Raises
    ------
    canopy.errors.ServerError
        If no other request would fare better.
    """
    schema = schema_of(shape)
    conversation: list[Mapping[str, Any]] = list(messages)
    trouble = ""
    for call_role in (role, f"{role}_repair"):
        try:
            text = chat.complete(call_role, conversation, trace, max_tokens=max_tokens, schema=schema)
        except Refused as e:
            give_up(e, call_role, trace)
            return None
        try:
            return shape.model_validate(find_object(text))
        except ValidationError as e:
            first = e.errors()[0]
            trouble = f"{'.'.join(map(str, first['loc'])) or 'object'}: {first['msg']}"
        except ValueError as e:
            trouble = str(e)
        repair = REPAIR.format(trouble=trouble, schema=json.dumps(schema))
        conversation = [*messages, {"role": "assistant", "content": text or "(nothing)"},
                        {"role": "user", "content": repair}]
    trace.fall_back(trouble[:160])
    return None


def give_up(refused: Refused, role: str, trace: Trace) -> None:
    """Record a request that the server refuses as a call that fell back.

    Raises the refusal if others would be refused too.
    """
    if refused.lasting:
        raise refused
    trace.calls.append(Call(role, fallback=f"the server refuses it ({refused.status})"))
