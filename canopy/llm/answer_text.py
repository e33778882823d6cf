"""The answer in a language model's reply: one short answer, or a list of them."""

from __future__ import annotations

import json
import re
from typing import Any

from canopy.llm.structured import without_thoughts

_LEAD = re.compile(r"^(?:\W*)(?:the\s+)?(?:final\s+|short\s+)?answer(?:\s+is\b\s*:?|\s*[:=])\s*", re.I)
_LIST_LEAD = re.compile(r"^(?:\W*)(?:the\s+)?(?:final\s+|short\s+)?answers?(?:\s+(?:is|are)\b\s*:?|\s*[:=])\s*", re.I)
_BULLET = re.compile(r"^(?:[-*+\u2022\u2013]|\d{1,3}[.)]|\(\d{1,3}\))\s+")
# What a model adds below its answer.
_AFTERWARDS = re.compile(r"^\W*(?:explanation|reasoning|reason|rationale|justification|evidence|source|note|because|"
                         r"this is|these are|these were|the evidence|according to|based on|in summary)\b", re.I)
_LONGEST = 20  # words of an item of a list; a longer line is a sentence about it


def clean_answer(raw: str) -> str:
    """The answer in a reply: without thoughts, without ``Answer:`` before it, without quotes or marks around it.

    Its first line if there are several.
    """
    lines = [line.strip() for line in without_thoughts(raw).splitlines() if line.strip()]
    for n, line in enumerate(lines):
        answer = _LEAD.sub("", line, count=1).strip().strip("*`").strip()
        if not answer and n + 1 < len(lines):
            continue  # "Answer:" on a line of its own
        for mark in "\"'":
            if len(answer) > 1 and answer[0] == answer[-1] == mark and mark not in answer[1:-1]:
                answer = answer[1:-1].strip()
        return answer
    return ""


def clean_list(raw: str) -> str:
    """The answers in a reply, with ``"; "`` between them.

    Lines are answers of their own, also with bullets or numbers before them, and so are the items of a JSON list. What
    a model writes before ``Answer:`` and what explains the answer afterwards is left out.
    """
    text = without_thoughts(raw).strip()
    lines = [line.strip() for line in text.splitlines() if not line.strip().startswith("```")]
    items = _json_items("\n".join(lines))
    if items is None:
        items = _line_items(lines)
    return "; ".join(dict.fromkeys(filter(None, (clean_answer(i) if i.strip() else "" for i in items))))


def _json_items(text: str) -> list[str] | None:
    """The items of a reply that is a JSON list, or an object with one; None if it is neither."""
    start = _LIST_LEAD.sub("", text.strip(), count=1)
    if not start.startswith(("[", "{")):
        return None
    try:
        value: Any = json.loads(start)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((value[k] for k in ("answers", "answer", "items") if k in value), None)
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        value = [value]
    plain = isinstance(value, list) and all(isinstance(v, (str, int, float)) for v in value)
    return [str(v) for v in value] if plain else None


def _line_items(lines: list[str]) -> list[str]:
    """The lines of a reply that are answers."""
    first = next((n for n, line in enumerate(lines) if _LIST_LEAD.match(line)), None)
    if first is not None:
        lines = [_LIST_LEAD.sub("", lines[first], count=1), *lines[first + 1:]]
    lines = lines[next((n for n, line in enumerate(lines) if line), 0):]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = lines[1:]
    items: list[str] = []
    gap = False
    for line in lines:
        if not line:
            gap = bool(items)
            continue
        mark = _BULLET.match(line)
        # "3. Liga" is a name, unless two items stand above it.
        listed = mark is not None and re.sub(r"\D", "", mark[0]) in ("", str(len(items) + 1))
        if items and not listed and (gap or _is_explanation(line, items[0])):
            break
        items.append(line[len(mark[0]):] if mark and listed else line)
        gap = False
    return items


def _is_explanation(line: str, first: str) -> bool:
    """Whether a line below an answer says something about it: in a model's usual words, long, or as a sentence."""
    words = len(line.split())
    return bool(_AFTERWARDS.match(line)) or words > _LONGEST or (
        words > 3 and line.endswith((".", "!")) and not first.endswith((".", "!")))
