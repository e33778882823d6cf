"""Numbers of Word's list items and headings, as Word counts and shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from canopy.importing.list_numbers import show_number
from canopy.importing.word_xml import WORD, property_value

_LEVELS = 9
_STYLES = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_BARE = ("bullet", "none")


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a list: its first number, number format, text (``%1.%2``) and the level that restarts it."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    legal: bool = False


class ListNumbers:
    """Counts the items of a document's lists, paragraph by paragraph, in reading order.

    Numbers of one list definition go on until a higher level comes, or another list of that definition restarts them.
    """

    def __init__(self, word: Any) -> None:
        root = _numbering_root(word)
        definitions = {} if root is None else {
            e.get(f"{WORD}abstractNumId"): {n: level for n, level in map(_read_level, e.iter(f"{WORD}lvl"))}
            for e in root.findall(f"{WORD}abstractNum")}
        self._definition: dict[str, str] = {}
        self._levels: dict[str, dict[int, _Level]] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        for e in [] if root is None else root.findall(f"{WORD}num"):
            number, definition = e.get(f"{WORD}numId"), _value(e.find(f"{WORD}abstractNumId"))
            levels = dict(definitions.get(definition, {}))
            restarts = {}
            for override in e.findall(f"{WORD}lvlOverride"):
                n = _digits(override.get(f"{WORD}ilvl"))
                start = property_value(override, "startOverride")
                own = override.find(f"{WORD}lvl")
                if own is not None:
                    levels[n] = _read_level(own)[1]
                if start:
                    restarts[n] = int(start)
            self._definition[number], self._levels[number], self._restarts[number] = definition, levels, restarts
        self._styles = {s.style_id: s for s in word.styles}
        self._counts: dict[str, dict[int, int]] = {}

    def marker(self, paragraph: Any, is_heading: bool) -> str:
        """What Word shows before a paragraph's words (``2.a) ``), with a dash for each list around its own.

        The paragraph counts from then on.

        A bullet is left out, as it says nothing. A level whose text repeats the numbers above it needs no dashes.
        """
        number, n = self._list_of(paragraph)
        level = self._levels.get(number, {}).get(n)
        if level is None:
            return ""
        counts = self._counts.setdefault(self._definition[number], {})
        restarts = self._restarts[number]
        if n in restarts:
            counts[n] = restarts.pop(n) - 1
        counts[n] = counts.get(n, level.start - 1) + 1
        for deeper in [d for d in counts if d > n]:
            restart = self._levels[number].get(deeper, _Level()).restart
            if restart is None or (restart > 0 and n < restart):
                del counts[deeper]
        text = "" if level.format in _BARE else self._show(level, number, counts)
        repeats = len(set(re.findall(r"%(\d)", level.text))) > 1
        dashes = "" if is_heading or repeats else "- " * min(n, 6)
        return f"{dashes}{text} " if text else dashes

    def _show(self, level: _Level, number: str, counts: dict[int, int]) -> str:
        def one(match: re.Match[str]) -> str:
            n = int(match[1]) - 1
            other = self._levels[number].get(n, _Level())
            value = counts.get(n, other.start)
            return str(value) if level.legal else _formatted(value, other.format)

        return re.sub(r"%([1-9])", one, level.text).strip()

    def _list_of(self, paragraph: Any) -> tuple[str, int]:
        """The list that a paragraph belongs to, by itself or by its style, and its level there."""
        own = paragraph.find(f"{WORD}pPr/{WORD}numPr")
        number, level = ("", "") if own is None else (_value(own.find(f"{WORD}numId")), _value(own.find(f"{WORD}ilvl")))
        name = paragraph.find(f"{WORD}pPr/{WORD}pStyle")
        style = self._styles.get(_value(name)) if name is not None else None
        for _ in range(10):
            if style is None or (number and level):
                break
            of_style = style.element.find(f"{WORD}pPr/{WORD}numPr")
            if of_style is not None:
                number = number or _value(of_style.find(f"{WORD}numId"))
                level = level or _value(of_style.find(f"{WORD}ilvl"))
            style = getattr(style, "base_style", None)
        return number, min(_digits(level), _LEVELS - 1)


def _numbering_root(word: Any) -> Any:
    """The root of the document's numbering part; None if it has none."""
    from lxml import etree

    for relation in word.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/numbering"):
            return etree.fromstring(relation.target_part.blob,
                                    etree.XMLParser(resolve_entities=False, no_network=True))
    return None


def _read_level(element: Any) -> tuple[int, _Level]:
    text = element.find(f"{WORD}lvlText")
    restart = property_value(element, "lvlRestart")
    return _digits(element.get(f"{WORD}ilvl")), _Level(
        int(property_value(element, "start") or 0 if element.find(f"{WORD}start") is not None else 1),
        _value(element.find(f"{WORD}numFmt")) or "decimal", _value(text) if text is not None else "",
        int(restart) if restart else None, element.find(f"{WORD}isLgl") is not None)


def _formatted(value: int, style: str) -> str:
    if style in _BARE:
        return ""
    if style in ("lowerLetter", "upperLetter") and value > 26:  # Word repeats letters: z, aa, bb
        value, repeat = (value - 1) % 26 + 1, (value - 1) // 26 + 1
        return show_number(value, _STYLES[style]) * min(repeat, 9)
    if style == "decimalZero":
        return f"{value:02d}"
    if style == "ordinal":
        ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
        return f"{value}{ending}"
    return show_number(value, _STYLES.get(style, ""))


def _value(element: Any) -> str:
    return (element.get(f"{WORD}val") or "") if element is not None else ""


def _digits(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 6 else 0
