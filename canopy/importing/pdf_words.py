"""The words of a PDF page with their places.

Letters drawn twice, powers, signs without a character, and values of form fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from canopy.importing.blocks import one_line
from canopy.importing.pdf_layout import Word
from canopy.importing.pdf_turned import direction, turned_letters

if TYPE_CHECKING:
    from pdfplumber.page import Page

# A gap of this share of the type's size parts two words. pdfplumber's own 3 points glue all words of documents without
# blanks.
WORD_GAP = 0.15
# Programs draw a bold letter twice, so far apart (share of its size); an "l" is wider than that.
_TWICE = 0.15
_CELL = 20.0  # points; places are looked up by cells wider than a letter's reach
# A power is in smaller type (share of the size before it), and its foot stands higher.
_SMALL, _RAISED = 0.8, 0.15
_HIDDEN_FIELD = 2


def without_doubles(page: Page) -> Page:
    """The page without the letters that are drawn a second time at nearly the same place (fake bold)."""
    return page.filter(_first_drawn())


def _first_drawn() -> Callable[[Mapping[str, Any]], bool]:
    places: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)

    def is_first(entry: Mapping[str, Any]) -> bool:
        if entry.get("object_type") != "char" or not entry["text"].strip():
            return True
        x, y, reach = float(entry["x0"]), float(entry["top"]), min(_CELL, _TWICE * float(entry["size"]))
        if reach <= 0:
            return True
        column, row = int(x // _CELL), int(y // _CELL)
        sign = (entry["text"],)  # the second drawing may be in another font, or a little larger
        near = (
            place for dx in (-1, 0, 1) for dy in (-1, 0, 1) for place in places.get((*sign, column + dx, row + dy), ())
        )
        if any(abs(x - a) <= reach and abs(y - b) <= reach for a, b in near):
            return False
        places[(*sign, column, row)].append((x, y))
        return True

    return is_first


def page_words(page: Page, boxes: Sequence[tuple[float, float, float, float]]) -> list[Word]:
    """The words of a page outside the given boxes (x0, top, x1, bottom), with the values of its form fields at their
    places."""
    words: list[Word] = []
    for word in _words_of([c for c in page.chars if direction(c) == 0]):
        x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
        if not any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in boxes):
            words.append(word)
    return [*words, *_field_words(page)]


def turned_words(page: Page) -> Iterator[list[Word]]:
    """The words that run up, upside down or down the page, each direction as on a page that is turned to read them."""
    for chars in turned_letters(page.chars, float(page.width), float(page.height)).values():
        yield list(_words_of(chars))


def _words_of(chars: Sequence[Mapping[str, Any]]) -> Iterator[Word]:
    from pdfplumber.utils.text import extract_words

    for word in extract_words(list(chars), return_chars=True, x_tolerance_ratio=WORD_GAP):
        yield {"text": _with_powers(word["chars"]), "x0": word["x0"], "x1": word["x1"], "top": word["top"],
               "bottom": word["bottom"], "size": word["chars"][0]["size"]}


def _with_powers(chars: Sequence[Mapping[str, Any]]) -> str:
    """A word's letters, ``^`` before digits that stand raised after a letter or digit, a blank after them before
    letters."""
    text, raised = "", False
    base: Mapping[str, Any] | None = None
    for char in chars:
        up = (base is not None and char["text"] in "0123456789+-\u2212\u2013" and base["text"].isalnum()
              and char["size"] < _SMALL * base["size"] and base["bottom"] - char["bottom"] > _RAISED * base["size"])
        if up and not raised:
            text += "^"
        elif raised and not up and char["text"].isalnum():
            text += " "
        text, raised = text + char["text"], bool(up)
        base = base if up else char
    return text


def _field_words(page: Page) -> Iterator[Word]:
    """The values of a page's form fields; a box that is ticked is ``[x]``, another one ``[ ]``."""
    for field in page.annots:
        value = _field_value(field.get("data") or {})
        if value:
            size = max(1.0, min(11.0, 0.7 * float(field["height"])))
            middle = (float(field["top"]) + float(field["bottom"])) / 2
            yield {"text": value, "x0": float(field["x0"]), "x1": float(field["x1"]), "top": middle - size / 2,
                   "bottom": middle + size / 2, "size": size}


def _field_value(data: Any) -> str:
    from pdfminer.pdftypes import resolve1
    from pdfminer.psparser import PSLiteral

    entries: Mapping[str, Any] = {}
    for _ in range(8):  # what a field does not say itself, the fields above it do
        if not isinstance(data, dict):
            break
        entries = {**data, **entries}
        data = resolve1(data.get("Parent"))
    flags = resolve1(entries.get("F"))
    if str(getattr(resolve1(entries.get("Subtype")), "name", "")) != "Widget" or (
        isinstance(flags, int) and flags & _HIDDEN_FIELD
    ):
        return ""
    value = resolve1(entries.get("V"))
    if str(getattr(resolve1(entries.get("FT")), "name", "")) == "Btn":
        state = resolve1(entries.get("AS")) or value
        return ("[ ]" if state.name == "Off" else "[x]") if isinstance(state, PSLiteral) else ""
    options = [resolve1(o) for o in resolve1(entries.get("Opt")) or [] if o is not None]
    # A choice is kept by its export value; the page shows what stands beside that.
    labels = {_text(resolve1(o[0])): _text(resolve1(o[1])) for o in options if isinstance(o, list) and len(o) == 2}
    values = [_text(resolve1(v)) for v in value] if isinstance(value, list) else [_text(value)]
    return one_line("; ".join(labels.get(v, v) for v in values if v))


def _text(value: Any) -> str:
    from pdfminer.utils import decode_text

    return decode_text(value) if isinstance(value, bytes) else value if isinstance(value, str) else ""


def remarks(page: Page) -> tuple[list[Word], list[str]]:
    """Words of remarks that are written onto a page, at their places, and of remarks that open on a click."""
    from pdfminer.pdftypes import resolve1

    written: list[Word] = []
    folded: list[str] = []
    for remark in page.annots:
        data = remark.get("data") or {}
        kind, words = str(getattr(resolve1(data.get("Subtype")), "name", "")), one_line(_text(resolve1(
            data.get("Contents"))))
        if not words or kind in ("Widget", "Link", "Popup"):
            continue
        if kind == "FreeText":
            top = float(remark["top"])
            written.append({"text": words, "x0": float(remark["x0"]), "x1": float(remark["x1"]), "top": top,
                            "bottom": top + 11.0, "size": 11.0})
        else:
            folded.append(words)
    return written, folded
