"""The words of a PDF page with their places: letters drawn twice, powers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from canopy.importing.pdf_layout import Word

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


def words_of(letters: Sequence[Mapping[str, Any]],
             boxes: Sequence[tuple[float, float, float, float]] = ()) -> list[Word]:
    """The words that letters make, outside the given boxes (x0, top, x1, bottom)."""
    from pdfplumber.utils.text import extract_words

    words: list[Word] = []
    for word in extract_words(list(letters), return_chars=True, x_tolerance_ratio=WORD_GAP):
        x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
        if not any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in boxes):
            words.append({"text": _with_powers(word["chars"]), "x0": word["x0"], "x1": word["x1"], "top": word["top"],
                          "bottom": word["bottom"], "size": word["chars"][0]["size"]})
    return words


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
