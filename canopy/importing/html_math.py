"""Formulas, raised and lowered type of HTML pages as plain text, so that ``10^6`` is not 106."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from canopy.importing.blocks import one_line
from canopy.importing.formulas import linear_formula

if TYPE_CHECKING:
    from bs4 import Tag

# A power or a charge; ordinals ("1st"), marks (TM) and links to notes are none.
POWER = re.compile(r"[+\-\u2212\u2013]?[\dnkxij]+[+\-\u2212\u2013]?")
_ORDINAL = re.compile(r"st|nd|rd|th|er|ers|re|res|e|es|è|ème|eme|nde?|de|a|o|ª|º|\.?[aoª]s?", re.I)
_MARK = re.compile(r"\[.*\]|\(.*\)|TM|SM|[^\w+\-\u2212\u2013]+", re.S)
_CHARGE = re.compile(r"[+\-\u2212\u2013]")
# What stands before a count of atoms: an element, or the end of a group of them.
_ATOM = re.compile(r"(?:(?<![a-z])[A-Z][a-z]?|[)\]])$")
_DISPLAY = re.compile(r"^\{?\\(?:display|text)style\s*(.*?)\}?$", re.S)
_MATH_CLASS = re.compile(r"(?:^|[-_])(?:math|tex|latex|equation|formula)", re.I)


def raised_text(words: str, before: str, is_link: bool = False, after: str = "") -> str:
    """Words in raised type. ``before`` is what stands before them, ``after`` what stands behind.

    A power: ``^6``. A link to a note: ``[1]``. Ordinals and marks stay as they are.
    """
    words = one_line(words)
    last = before[-1:]
    if not words or _MARK.fullmatch(words):
        return words
    if is_link:
        return f"[{words}]" if len(words) <= 4 else f" {words}"
    if after[:1] in ("\u2044", "/") and words.isdigit():  # a fraction: 1 over 2
        return f" {words}" if last.isalnum() else words
    if POWER.fullmatch(words) or _CHARGE.fullmatch(words):
        return f"^{words}"
    if (last.isdigit() and _ORDINAL.fullmatch(words)) or (before[-1:] in ("n", "N") and words == "o"):
        return words
    if words.isalpha() and len(words) > 1:
        return words if len(words) <= 3 else f" {words}"
    return f"^{words}" if re.fullmatch(r"[+\-\u2212\u2013]?[\w.,]+[+\-\u2212\u2013]?", words) else f"^({words})"


def lowered_text(words: str, before: str, after: str = "") -> str:
    """Words in lowered type: ``H2O``, but ``x_1``, ``log_10 5`` and ``V_max``."""
    words = one_line(words)
    if not words or before[-1:] in ("\u2044", "/", "", " ", "\n") or _MARK.fullmatch(words):
        return words
    if len(words) > 20:
        return f" {words} "
    if words.isdigit() and _ATOM.search(before) and not after[:1].isdigit():
        return words
    lowered = f"_{words}" if re.fullmatch(r"[+\-\u2212]?[\w.,]+[+\-\u2212]?", words) else f"_({words})"
    return f"{lowered} " if after[:1].isalnum() else lowered


def tex_source(source: str) -> str:
    """TeX on one line, without the mark of its size that Wikipedia puts around it."""
    source = one_line(source)
    match = _DISPLAY.match(source)
    return match[1].strip() if match else source


def formula_text(math: Tag) -> str:
    """A formula in MathML as text: its alternative text, its TeX source, otherwise its parts on one line."""
    if alternative := one_line(str(math.get("alttext") or "")):
        return tex_source(alternative)
    for annotation in math.find_all("annotation"):
        if "tex" in str(annotation.get("encoding") or "tex").lower() and annotation.get_text(strip=True):
            return tex_source(annotation.get_text())
    text = one_line(_linear(math))
    text = re.sub(r"\s*([\u2061\u2062])\s*", " ", text)
    return re.sub(r"(?<=[(\[√])\s+|\s+(?=[)\],;])", "", " ".join(text.split()))


def is_math_image(image: Tag) -> bool:
    """Whether a picture stands for a formula that its alternative text says."""
    return image.get("role") == "math" or any(_MATH_CLASS.search(str(c)) for c in image.get("class") or ())


def _linear(math: Tag) -> str:
    from bs4 import Tag

    def children(node: Tag) -> list[Tag]:
        parts = [c for c in node.contents if isinstance(c, Tag) and c.name not in ("annotation", "annotation-xml")]
        return parts[:1] if node.name == "semantics" else parts

    return linear_formula(math, lambda node: str(node.name).rpartition(":")[2], children, lambda node: node.get_text())
