"""What stands before a Markdown text: YAML, TOML (Hugo), JSON or XML, of which the title is used."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

from canopy.importing.blocks import one_line

_FENCES = (
    ("YAML", re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)),
    ("TOML", re.compile(r"\A\+\+\+[ \t]*\n(.*?\n)\+\+\+[ \t]*(?:\n|\Z)", re.S)),
    ("JSON", re.compile(r"\A;;;[ \t]*\n(.*?\n);;;[ \t]*(?:\n|\Z)", re.S)),
)
# Lines of keys and values under a rule that no second one ends.
_UNCLOSED = re.compile(r"\A(?:---|\+\+\+)[ \t]*\n((?:[\w\"'-]+[ \t]*[:=](?:[ \t][^\n]*)?(?:\n|\Z))+)(?:[ \t]*\n|\Z)")
_XML = re.compile(r"\A(?:<\?xml.*?\?>\s*)?(?:<!--.*?-->\s*)?<(front-?matter|front|metadata|meta|header|head|info)"
                  r"\b([^>]*)>(.*?)</\1\s*>[ \t]*(?:\n|\Z)", re.S | re.I)
_DECLARATION = re.compile(r"\A(?:<\?.*?\?>\s*)+", re.S)
_XML_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title\s*>|\btitle\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.S | re.I)
# Where the whole cannot be parsed, its title may still stand on a line of its own.
_LINE = re.compile(r"^[\"']?title[\"']?[ \t]*[:=][ \t]*([\"']?)(.+?)\1[ \t]*,?[ \t]*$", re.M | re.I)


def split_front_matter(text: str, notes: list[str]) -> tuple[str, str]:
    """A Markdown text's title by its front matter (empty if that has none), and the text after it.

    Between lines of ``---`` only what reads as YAML keys and values is front matter: a text between two rules stays a
    text. Front matter that cannot be parsed is left out of the text with a note.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for kind, fence in _FENCES:
        match = fence.match(text)
        if match:
            title, is_front = _read(kind, match[1], notes)
            return (title, text[match.end():]) if is_front else ("", text)
    if open_front := _UNCLOSED.match(text):
        line = _LINE.search(open_front[1])
        notes.append("its front matter has no line that ends it: it is taken to end at the first empty line")
        return one_line(line[2]) if line else "", text[open_front.end():]
    if text.startswith("{"):
        return _split_json(text)
    xml = _XML.match(text)
    if xml:
        named = _XML_TITLE.search(f"{xml[2]}>{xml[3]}")
        return _clean_markup(next(filter(None, named.groups()), "")) if named else "", text[xml.end():]
    return "", _DECLARATION.sub("", text)


def _read(kind: str, source: str, notes: list[str]) -> tuple[str, bool]:
    """The title in front matter, and whether it is front matter at all."""
    import yaml

    parsers: dict[str, Callable[[str], Any]] = {"YAML": yaml.safe_load, "TOML": tomllib.loads, "JSON": json.loads}
    try:
        values = parsers[kind](source)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as e:
        if kind == "YAML" and not re.search(r"^[\w\"'-][^:\n]*:(?:[ \t]|$)", source, re.M):
            return "", False
        line = _LINE.search(source)
        reason = one_line(str(e))[:80]
        notes.append(f"its front matter is no {kind} that can be read ({reason}): of it the "
                     f"{'line of the title is used' if line else 'words are left out'}")
        return one_line(line[2]).strip("\"'") if line else "", True
    if kind == "YAML" and not isinstance(values, dict) and values is not None:
        return "", False
    return _title_of(values), isinstance(values, dict) or kind != "YAML"


def _split_json(text: str) -> tuple[str, str]:
    """Hugo's JSON front matter: an object at the start of a text, with a line break after it."""
    try:
        values, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return "", text
    if not isinstance(values, dict) or (text[end:] and not re.match(r"[ \t]*\n", text[end:])):
        return "", text
    return _title_of(values), text[end:]


def _title_of(values: Any) -> str:
    by_name = {str(k).lower(): v for k, v in values.items()} if isinstance(values, dict) else {}
    title = by_name.get("title")
    return one_line(str(title)) if title is not None and not isinstance(title, (dict, list)) else ""


def _clean_markup(text: str) -> str:
    import html

    return one_line(html.unescape(re.sub(r"<[^>]*>", "", text)))
