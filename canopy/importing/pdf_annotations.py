"""What is written onto a PDF page beside its text: values of form fields, and remarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from canopy.importing.blocks import one_line
from canopy.importing.pdf_layout import Word

if TYPE_CHECKING:
    from pdfplumber.page import Page

_HIDDEN = 2
_SIZE = 11.0  # points of type, where the page does not say


def page_annotations(page: Page) -> tuple[list[Word], list[str]]:
    """Values of fields and remarks that are written onto a page, at their places, and the words of remarks that open
    on a click. Hidden ones are left out, as a reader does not see them."""
    from pdfminer.pdftypes import resolve1

    written: list[Word] = []
    folded: list[str] = []
    for entry in page.annots:
        data = entry.get("data") or {}
        kind, flags = str(getattr(resolve1(data.get("Subtype")), "name", "")), resolve1(data.get("F"))
        if kind in ("Link", "Popup") or (isinstance(flags, int) and flags & _HIDDEN):
            continue
        words = _field_value(data) if kind == "Widget" else one_line(_text(resolve1(data.get("Contents"))))
        if not words:
            continue
        if kind in ("Widget", "FreeText"):
            top, bottom = float(entry["top"]), float(entry["bottom"])
            size = max(1.0, min(_SIZE, 0.7 * (bottom - top)))
            top = (top + bottom - size) / 2 if kind == "Widget" else top
            written.append({"text": words, "x0": float(entry["x0"]), "x1": float(entry["x1"]), "top": top,
                            "bottom": top + size, "size": size})
        else:
            folded.append(words)
    return written, folded


def _field_value(data: Any) -> str:
    """A form field's value as the page shows it; a box that is ticked is ``[x]``, another one ``[ ]``."""
    from pdfminer.pdftypes import resolve1
    from pdfminer.psparser import PSLiteral

    entries: Mapping[str, Any] = {}
    for _ in range(8):  # what a field does not say itself, the fields above it do
        if not isinstance(data, dict):
            break
        entries = {**data, **entries}
        data = resolve1(data.get("Parent"))
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
