"""What is taken out of a page's tree before it is read, with notes: what is hidden, struck out, or no content."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from canopy.importing.blocks import one_line
from canopy.importing.html_math import formula_text, is_math_image, tex_source

if TYPE_CHECKING:
    from bs4 import Tag

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_STRUCK_OUT = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.I)
_QUOTES = "\"'“”„«»‘’"
_SHOWN_CHARS = 60


def prune(root: Tag) -> tuple[list[str], int]:
    """Take out of a tree what a reader of the page does not read; formulas become text.

    Returns
    -------
    notes : list of str
        What has words and is left out, each with the first words of the first passage.
    struck_out : int
        How many passages are struck out.
    """
    _write_formulas(root)
    for quote in root.find_all("q"):
        if not quote.get_text(strip=True).startswith(tuple(_QUOTES)):
            quote.insert(0, "“")
            quote.append("”")
    opened = _opened_ids(root)
    struck_out = _take_out([*root.find_all(["del", "s", "strike"]), *root.find_all(style=_STRUCK_OUT)])
    hidden = _take_out(n for n in root.find_all(_says_hidden) if not _is_panel(n, opened))
    menus = _take_out(root.find_all("nav"))
    notes = [_note(hidden, "hidden passages are left out"), _note(menus, "menus are left out")]
    frames = [one_line(str(n.get("src") or "")) for n in root.find_all(["frame", "iframe"])]
    if sources := [s for s in frames if s and not s.startswith("about:")]:
        notes.append(f"{len(sources)} pages that it shows inside are not read: {', '.join(sources)[:200]}")
    if recordings := len(root.find_all(["video", "audio"])):
        notes.append(f"{recordings} videos or recordings that it shows are not read with it")
    return [note for note in notes if note], len(struck_out)


def _take_out(nodes: Iterable[Tag]) -> list[str]:
    """Remove elements; the words of those that have some."""
    passages = []
    for node in list(nodes):
        if not node.decomposed:
            passages.append(one_line(node.get_text(" ")))
            node.decompose()
    return [p for p in passages if p]


def _note(passages: list[str], words: str) -> str:
    if not passages:
        return ""
    first = passages[0] if len(passages[0]) <= _SHOWN_CHARS else f"{passages[0][:_SHOWN_CHARS].rstrip()}…"
    return f"{len(passages)} {words} (the first: “{first}”)"


def _says_hidden(node: Tag) -> bool:
    """Whether an element says itself that it is not shown. A dialog may be opened; a menu's options are read apart."""
    if not node.has_attr("hidden") and not _HIDDEN.search(str(node.get("style") or "")):
        return False
    return node.name not in ("input", "option", "html", "body") and node.find_parent("head") is None


def _opened_ids(root: Tag) -> set[str]:
    """The ids of what a page's buttons, tabs and links say that they open."""
    opened: set[str] = set()
    for node in root.find_all(True):
        for attribute in ("aria-controls", "data-target", "data-bs-target"):
            opened.update(str(node.get(attribute) or "").replace("#", "").split())
        if node.has_attr("aria-expanded") or node.get("role") == "tab" or node.has_attr("data-toggle"):
            opened.update(str(node.get("href") or "").partition("#")[2].split())
    return opened


def _is_panel(node: Tag, opened: set[str]) -> bool:
    """Whether a reader opens an element that is closed at first: the panel of a tab, a button or a question."""
    if node.get("role") == "tabpanel" or str(node.get("id") or "") in opened or node.get("hidden") == "until-found":
        return True
    above = node.find_previous_sibling()
    if above is None:
        return False
    controls = [above, *above.find_all(["button", "summary", "a", "div", "span"], limit=5)]
    return any(c.has_attr("aria-expanded") or c.name in ("button", "summary") for c in controls)


def _write_formulas(root: Tag) -> None:
    """Put text in the place of formulas, once where a page holds one in several forms."""
    for whole in root.find_all(class_=re.compile(r"^(?:mwe-math-element|katex|katex-display)$")):
        if whole.decomposed or whole.parent is None:
            continue
        math, image = whole.find("math"), whole.find("img", alt=True)
        text = formula_text(math) if math is not None else tex_source(str(image["alt"])) if image is not None else ""
        if text:
            _replace(whole, text)
    for math in root.find_all("math"):
        if math.find_parent("math") is not None:
            continue
        for copy in (math.parent.find_all(None, {"aria-hidden": "true"}) if math.parent is not None else []):
            if copy.parent is math.parent and copy.name != "math":
                copy.decompose()
        _replace(math, formula_text(math))
    for script in root.find_all("script", type=re.compile(r"^math/tex", re.I)):
        before = script.find_previous_sibling()
        if before is None or not before.get_text(strip=True) or "MathJax" not in " ".join(before.get("class") or []):
            _replace(script, tex_source(script.get_text()))
    for image in root.find_all("img", alt=True):
        if is_math_image(image) and one_line(str(image["alt"])):
            _replace(image, tex_source(str(image["alt"])))


def _replace(node: Tag, text: str) -> None:
    """Put text in the place of an element, apart from letters beside it."""
    from bs4 import NavigableString

    before, after = node.previous_sibling, node.next_sibling
    left = " " if isinstance(before, NavigableString) and before[-1:].isalnum() else ""
    right = " " if isinstance(after, NavigableString) and after[:1].isalnum() else ""
    node.replace_with(f"{left}{text}{right}")
