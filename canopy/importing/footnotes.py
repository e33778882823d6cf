"""Footnotes of Markdown: each is put below the paragraph that refers to it first."""

from __future__ import annotations

import re

_DEFINITION = re.compile(r"^ {0,3}\[\^([^\]\s]+)\]:[ \t]*(.*)$")
_REFERENCE = re.compile(r"\[\^([^\]\s]+)\](?!:)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def place_footnotes(text: str) -> str:
    """A Markdown text with its footnotes below the paragraphs that refer to them.

    So a note stays in one item with what it is about. A note that nothing refers to stays where it is; lines of code
    are left alone.
    """
    if "[^" not in text:
        return text
    lines, notes = _take_notes(text.split("\n"))
    if not notes:
        return text
    out: list[str] = []
    waiting: list[str] = []
    fence = ""
    for line in [*lines, ""]:
        fence, inside = _after(line, fence), bool(fence)
        if not inside and not fence:
            waiting += [n for n in _REFERENCE.findall(line) if n in notes and n not in waiting]
        if not line.strip() and not fence and waiting:
            out += [x for name in waiting for x in ("", f"[^{name}]: {notes.pop(name)}")]
            waiting = []
        out.append(line)
    out += [x for name, words in notes.items() for x in (f"[^{name}]: {words}", "")]
    return "\n".join(out).rstrip("\n") + "\n"


def _take_notes(lines: list[str]) -> tuple[list[str], dict[str, str]]:
    """The lines without definitions of footnotes, and the definitions, each on one line; of two the first counts."""
    rest: list[str] = []
    notes: dict[str, str] = {}
    fence, name = "", ""
    for line in lines:
        fence, inside = _after(line, fence), bool(fence)
        match = None if inside or fence else _DEFINITION.match(line)
        if match and match[1] not in notes:
            name = match[1]
            notes[name] = match[2].strip()
        elif name and line.startswith(("    ", "\t")) and not fence:
            notes[name] = f"{notes[name]} {line.strip()}".strip()
        else:
            # An empty line ends a note unless a line that is moved in follows it; either way it parts what is around.
            name = name if not line.strip() else ""
            rest.append(line)
    return rest, notes


def _after(line: str, fence: str) -> str:
    """The mark that code stands between after this line; empty outside of code."""
    match = _FENCE.match(line)
    if not match:
        return fence
    if not fence:
        return match[1]
    return "" if match[1].startswith(fence[0]) and len(match[1]) >= len(fence) and line.strip() == match[1] else fence
