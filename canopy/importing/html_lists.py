"""The numbers of lists in HTML pages, as a browser shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from canopy.importing.list_numbers import show_number

if TYPE_CHECKING:
    from bs4 import Tag

LISTS = ("ol", "ul", "menu", "dir")
_WHOLE = re.compile(r"\s*([+-]?\d{1,9})")
_STYLE = re.compile(r"list-style(?:-type)?\s*:[^;]*?\b(none|decimal-leading-zero|decimal|"
                    r"(?:lower|upper)-(?:alpha|latin|roman))\b", re.I)
_TYPES = {"lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i",
          "upper-roman": "I", "decimal": "1"}
_DEEPEST = 6


class ListNumbers:
    """The next number of each ordered list of a page."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def marker(self, item: Tag) -> str:
        """What stands before an item of a list: a dash for each list around its own, and its number."""
        own = item.find_parent(LISTS)
        if own is None:
            return ""
        depth, outer = 0, own.find_parent(LISTS)
        while outer is not None and depth < _DEEPEST:
            depth, outer = depth + 1, outer.find_parent(LISTS)
        return "- " * depth + (self._number(own, item) if own.name == "ol" else "")

    def _number(self, own: Tag, item: Tag) -> str:
        step = -1 if own.has_attr("reversed") else 1
        if id(own) not in self._next:
            first = len(own.find_all("li", recursive=False)) if step < 0 else 1
            self._next[id(own)] = _whole(own.get("start"), first)
        number = _whole(item.get("value"), self._next[id(own)])
        self._next[id(own)] = number + step
        kind = _kind(item) or _kind(own)
        text = show_number(number, kind)
        return "" if kind == "none" else f"{text.zfill(2) if kind == 'decimal-leading-zero' else text}. "


def _whole(value: object, default: int) -> int:
    match = _WHOLE.match(str(value)) if value is not None else None
    return int(match[1]) if match else default


def _kind(node: Tag) -> str:
    """How an element says that its numbers are written (HTML's ``type``); its style comes before its attribute."""
    style = _STYLE.search(str(node.get("style") or ""))
    return _TYPES.get(style[1].lower(), style[1].lower()) if style else str(node.get("type") or "")
