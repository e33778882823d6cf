"""The words that a browser shows of HTML elements, and what stands for powers and form fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from canopy.importing.blocks import one_line
from canopy.importing.html_math import lowered_text, raised_text

if TYPE_CHECKING:
    from bs4 import Tag

# Not shown, or not words of the page: scripts, media, suggestions.
SKIPPED = frozenset({
    "script", "style", "template", "noscript", "nav", "head", "iframe", "object", "canvas", "audio", "video",
    "datalist", "rp"})
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hgroup", "hr", "html", "legend", "li", "main", "menu", "ol", "optgroup", "p", "pre", "search", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"})
# Elements that a browser sets apart from the words beside them although they stand in a line.
_APART = frozenset({"button", "label", "option", "output", "textarea"})
_SILENT_INPUTS = frozenset({"hidden", "password", "file", "color"})
# A mark of ours after a mark of the page's, or after a blank.
_MARKS = re.compile(r"(?:(?<=[.,;:!?])| )[;,] ")
# Enough of the words before an element to tell a power from a note.
_BEFORE = 12


def replacement(node: Tag, words: Sequence[str] = ()) -> str | None:
    """The words that stand for an element as a whole; None if its contents are to be read instead.

    A power: ``^6``. A form field: its value; a box: ``[x]`` or ``[ ]``; a menu: what is selected in it, otherwise all
    of its options.

    Parameters
    ----------
    words : sequence of str
        The words before it.
    """
    name = (node.name or "").lower()
    if name in ("sup", "sub") and node.find(["table", "p", "div", "ul", "ol", "sup", "sub"]) is None:
        before, text = "".join(words[-3:])[-_BEFORE:], node.get_text()
        after = str(node.next_sibling or "") if isinstance(node.next_sibling, str) else ""
        if name == "sub":
            return lowered_text(text, before, after)
        is_link = node.find("a") is not None or node.find_parent("a") is not None
        return raised_text(text, before, is_link, after)
    if name == "rt":
        return f"({''.join(node.strings)})"
    if name == "input":
        return _input_text(node)
    if name == "select":
        options = [o for o in node.find_all("option") if one_line(o.get_text()) or o.get("label")]
        selected = [o for o in options if o.has_attr("selected")] or options
        return f" {'; '.join(one_line(o.get_text()) or one_line(str(o.get('label'))) for o in selected)} "
    if name == "svg":
        return "".join(f" {one_line(text.get_text(' '))} " for text in node.find_all("text"))
    if name in ("progress", "meter") and not node.get_text(strip=True) and node.has_attr("value"):
        return f" {node['value']}{' of ' + str(node['max']) if node.has_attr('max') else ''} "
    if node.get("role") in ("checkbox", "radio", "switch") and node.has_attr("aria-checked"):
        mark = "[x]" if node["aria-checked"] == "true" else "[ ]"
        return f" {mark} {one_line(node.get_text(' '))} "
    return None


def _input_text(node: Tag) -> str:
    kind = str(node.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return " [x] " if node.has_attr("checked") else " [ ] "
    if kind == "image":
        return f" {node.get('alt') or ''} "
    return "" if kind in _SILENT_INPUTS else f" {node.get('value') or ''} "


def is_skipped(node: Tag, name: str) -> bool:
    """Whether an element holds no words of the page. A template that a browser shows at once holds some."""
    return name in SKIPPED and not (name == "template" and node.has_attr("shadowrootmode"))


def is_apart(name: str) -> bool:
    """Whether a blank stands around an element in a line."""
    return name in _APART


def shown_text(tag: Tag) -> str:
    """A tag's words on one line: inline parts joined as written, blocks and line breaks by a blank.

    Items of a list in it stand apart by semicolons. Of pictures alone, their alternative texts.
    """
    from bs4 import CData, NavigableString, Tag

    words: list[str] = []
    stack: list[object] = [tag]
    while stack:
        node = stack.pop()
        if isinstance(node, NavigableString):
            if type(node) in (NavigableString, CData):
                words.append(str(node))
        elif isinstance(node, Tag) and not is_skipped(node, node.name or ""):
            whole = replacement(node, words)
            if whole is not None:
                words.append(whole)
                continue
            gap = " " if node.name in BLOCKS or node.name == "br" or is_apart(node.name) else ""
            stack += [_end(node) or gap if node is not tag else "", *reversed(node.contents), gap]
        elif isinstance(node, str):
            words.append(node)
    text = _MARKS.sub(_mark, one_line("".join(words)))
    return text or one_line(" ".join(str(image.get("alt") or "") for image in tag.find_all("img")))


def _mark(match: re.Match[str]) -> str:
    """Our mark without the blank before it; a blank alone after a mark of the page's."""
    return f"{match[0].strip()} " if match[0].startswith(" ") else " "


def _end(node: Tag) -> str:
    """What stands between an item, row or cell inside a cell and the next one."""
    if node.name in ("li", "tr"):
        return "; " if node.find_next_sibling(node.name) is not None else ""
    return ", " if node.name in ("td", "th") and node.find_next_sibling(["td", "th"]) is not None else ""
