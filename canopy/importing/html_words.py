"""The words that a browser shows of HTML elements.

What is hidden, and what stands for formulas, powers and form fields.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from canopy.importing.blocks import one_line
from canopy.importing.formulas import linear_formula

if TYPE_CHECKING:
    from bs4 import Tag

# Not shown, or not the page's content: scripts, menus, media.
SKIPPED = frozenset(
    {
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "head",
        "svg",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
        "datalist",
    }
)
BLOCKS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    }
)
STRUCK_OUT = frozenset({"del", "s", "strike"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
# A power or a charge; ordinals ("1st"), marks (TM) and links to notes are none.
POWER = re.compile(r"[+\-\u2212\u2013]?[\dnkxij]+[+\-\u2212\u2013]?")
_SILENT_INPUTS = frozenset({"hidden", "password", "image", "file", "checkbox", "radio", "color", "range"})


def is_hidden(node: Tag) -> bool:
    """Whether an element says itself that it is not shown."""
    return node.has_attr("hidden") or bool(_HIDDEN.search(str(node.get("style") or "")))


def replacement(node: Tag) -> str | None:
    """The words that stand for an element as a whole; None if its contents are to be read instead.

    A formula: its alternative text or TeX source. A power: ``^6``. Struck-out words: nothing. A form field: its value;
    a box: ``[x]`` or ``[ ]``; a menu: what is selected in it, otherwise all of its options.
    """
    name = (node.name or "").lower()
    if name in STRUCK_OUT:
        return ""
    if name == "math":
        source = node.find(["annotation"], string=True)
        return f" {node.get('alttext') or (source.get_text() if source else _linear(node))} "
    if name == "sup":
        text = node.get_text().strip()
        return f"^{text}" if POWER.fullmatch(text) and node.find("a") is None else None
    if name in ("rt", "rp"):
        return f"({''.join(node.strings)})" if name == "rt" else ""
    if name == "input":
        kind = str(node.get("type") or "text").lower()
        if kind in ("checkbox", "radio"):
            return " [x] " if node.has_attr("checked") else " [ ] "
        return "" if kind in _SILENT_INPUTS else f" {node.get('value') or ''} "
    if name == "select":
        options = node.find_all("option")
        chosen = [o for o in options if o.has_attr("selected")] or options
        return f" {'; '.join(filter(None, (one_line(o.get_text()) for o in chosen)))} "
    return None


def _linear(formula: Tag) -> str:
    from bs4 import Tag

    def children(node: Tag) -> list[Tag]:
        return [c for c in node.contents if isinstance(c, Tag) and c.name not in ("annotation", "annotation-xml")]

    return linear_formula(formula, lambda node: str(node.name), children, lambda node: node.get_text())


def shown_text(tag: Tag) -> str:
    """A tag's words on one line: inline parts joined as written, blocks and line breaks by a blank."""
    from bs4 import CData, NavigableString, Tag

    words: list[str] = []
    stack: list[object] = [tag]
    while stack:
        node = stack.pop()
        if isinstance(node, NavigableString):
            if type(node) in (NavigableString, CData):
                words.append(str(node))
        elif isinstance(node, Tag) and node.name not in SKIPPED and not is_hidden(node):
            whole = replacement(node)
            if whole is not None:
                words.append(whole)
                continue
            gap = [" "] if node.name in BLOCKS or node.name == "br" else []
            stack += [*gap, *reversed(node.contents), *gap]
        elif isinstance(node, str):
            words.append(node)
    return one_line("".join(words))
