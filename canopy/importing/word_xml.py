"""Elements of Word's XML: values of properties, words of runs, symbols, and the heading level of a style."""

from __future__ import annotations

import re
from typing import Any

from canopy.importing.formulas import linear_formula
from canopy.importing.html_math import POWER

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Places of common signs in the symbol fonts.
_SYMBOLS = {
    ("symbol", 0xB7): "\u2022",
    ("symbol", 0xB0): "\u00b0",
    ("symbol", 0xB1): "\u00b1",
    ("symbol", 0xB3): "\u2265",
    ("symbol", 0xA3): "\u2264",
    ("symbol", 0x6D): "\u03bc",
    ("symbol", 0x57): "\u03a9",
    ("symbol", 0x61): "\u03b1",
    ("symbol", 0x62): "\u03b2",
    ("symbol", 0x44): "\u0394",
    ("symbol", 0xB4): "\u00d7",
    ("symbol", 0xB9): "\u2260",
    ("symbol", 0xAE): "\u2192",
    ("wingdings", 0xFC): "\u2713",
    ("wingdings", 0xFB): "\u2717",
    ("wingdings", 0xFE): "[x]",
    ("wingdings", 0xA8): "[ ]",
    ("wingdings", 0x6F): "[ ]",
    ("wingdings", 0xE0): "\u2192",
    ("wingdings", 0xA7): "\u2022",
}


def is_on(run: Any, *properties: str) -> bool:
    """Whether one of these properties of a run is switched on."""
    for name in properties:
        element = run.find(f"{WORD}rPr/{WORD}{name}")
        if element is not None and element.get(f"{WORD}val") not in ("0", "false", "off"):
            return True
    return False


def run_words(node: Any) -> str:
    """The words of a text element; ``^`` before a power in raised type."""
    words, run = node.text or "", node.getparent()
    raised = run.find(f"{WORD}rPr/{WORD}vertAlign") if run is not None and run.tag == f"{WORD}r" else None
    is_power = raised is not None and raised.get(f"{WORD}val") == "superscript" and POWER.fullmatch(words.strip())
    return f"^{words.strip()}" if is_power else words


def symbol(node: Any) -> str:
    """A symbol that is given by its place in a font."""
    code = node.get(f"{WORD}char") or ""
    number = int(code, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) else 0xFFFD
    if 0xF000 <= number <= 0xF0FF:  # the private places that symbol fonts use
        return _SYMBOLS.get((str(node.get(f"{WORD}font") or "").split(" ")[0].lower(), number & 0xFF), "\ufffd")
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"


def property_value(element: Any, where: str) -> str:
    """A small whole number that a property below an element gives, as its digits; empty if there is none."""
    element = element.find("/".join(f"{WORD}{step}" for step in where.split("/")))
    value = (element.get(f"{WORD}val") or "") if element is not None else ""
    return value if value.isdecimal() and len(value) < 6 else ""


def style_level(style: Any) -> int | None:
    """The heading level that a paragraph style gives, or the style it is based on: Title and Heading 1 are 1.

    An outline level counts too.
    """
    for _ in range(10):
        name = (style.name or "").lower()
        if name == "title":
            return 1
        if name.startswith("heading ") and name[8:].isdecimal():
            return int(name[8:])
        outline = style.element.find(f"{WORD}pPr/{WORD}outlineLvl")
        if outline is not None:
            value = outline.get(f"{WORD}val") or ""
            return int(value) + 1 if value.isdecimal() and int(value) < 9 else None
        style = getattr(style, "base_style", None)
        if style is None:
            break
    return None


def formula(node: Any) -> str:
    """A formula of Word's (OMML) on one line."""
    def name_of(element: Any) -> str:
        return str(element.tag).rpartition("}")[2]

    def words_of(element: Any) -> str:
        return "".join(t.text or "" for t in element.iter() if name_of(t) == "t")

    def sign_of(element: Any) -> str:
        signs = [e for e in element.iter() if name_of(e) == "chr"]
        return next((v for k, v in signs[0].attrib.items() if k.endswith("val")), "") if signs else "∫"

    return linear_formula(node, name_of, list, words_of, sign_of)


def form_field(node: Any) -> str:
    """The value of an old form field that holds no words: a box, or a menu's choice; empty for other elements."""
    if node.tag == f"{WORD}checkBox":
        state = node.find(f"{WORD}checked")
        state = node.find(f"{WORD}default") if state is None else state
        return "[x] " if state is not None and state.get(f"{WORD}val") not in ("0", "false", "off") else "[ ] "
    if node.tag == f"{WORD}ddList":
        entries = [e.get(f"{WORD}val") or "" for e in node.findall(f"{WORD}listEntry")]
        chosen = int(property_value(node, "result") or property_value(node, "default") or 0)
        return entries[chosen] if chosen < len(entries) else ""
    return ""
