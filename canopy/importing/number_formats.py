"""Cells as a spreadsheet shows them: the format codes of ECMA-376 (18.8.31), as Excel and LibreOffice apply them.

A code has up to four sections (positive, negative, zero, text) or conditions of its own (``[<100]``). This module
chooses the section and reads its tokens; `canopy.importing.digit_patterns` writes numbers, `date_patterns` times.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from canopy.importing.date_patterns import Moment, show_moment
from canopy.importing.digit_patterns import Token, show_digits, show_general

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<fill>[_*].?)|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<condition>(?:[<>]=?|<>|=)\s*-?[\d.]+(?:E[+-]?\d+)?)\]|(?P<other>\[[^\]]*\])"
    r"|(?P<general>General|Standard)|(?P<half>AM/PM|A/P)|(?P<exponent>E[+-](?=[0#?]))|(?P<date>y+|m+|d+|h+|s+|e+|b+)"
    r"|(?P<digit>[0#?])|(?P<text>@)|(?P<sign>.)",
    re.I | re.S,
)
_CONDITION = re.compile(r"([<>=]+)\s*(.+)")
# Excel's own date formats follow the reader's country, so that their code says nothing of what a person sees.
_ISO = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm", "m/d/yy": "yyyy-mm-dd"}


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a format code: its tokens, and the condition that it has of its own (operator and bound)."""

    tokens: tuple[Token, ...]
    condition: tuple[str, Decimal] | None = None

    def has(self, *kinds: str) -> bool:
        """Whether a token of one of these kinds is in it."""
        return any(t.kind in kinds for t in self.tokens)

    @property
    def is_date(self) -> bool:
        """Whether it shows a date, a time or a duration."""
        return any(t.kind == "elapsed" or (t.kind == "date" and t.text[0] in "ymdhs") for t in self.tokens)

    def holds_for(self, value: Decimal) -> bool:
        """Whether its condition is true of a number; False if it has none."""
        if self.condition is None:
            return False
        sign, bound = self.condition
        return {"<": value < bound, ">": value > bound, "=": value == bound, "<=": value <= bound,
                ">=": value >= bound, "<>": value != bound}.get(sign, False)


@lru_cache(4096)
def sections_of(code: str) -> tuple[Section, ...]:
    """The sections of a format code."""
    sections: list[Section] = []
    tokens: list[Token] = []
    condition = None
    for match in _TOKEN.finditer(_ISO.get(code, code)):
        kind, text = match.lastgroup or "sign", match.group(match.lastgroup or 0)
        if kind == "sign" and text == ";":
            sections.append(Section(tuple(tokens), condition))
            tokens, condition = [], None
        elif kind == "condition" and (parts := _CONDITION.fullmatch(text)):
            condition = (parts[1], Decimal(parts[2]))
        elif kind in ("quoted", "escaped", "currency"):
            tokens.append(Token("literal", text))
        elif kind == "fill":
            tokens.append(Token("literal", " " if text.startswith("_") else ""))
        elif kind != "other":
            tokens.append(Token(kind, text.lower() if kind in ("date", "elapsed") else text))
    return *sections, Section(tuple(tokens), condition)


def show_number(value: float, code: str) -> str:
    """A number in a format code; rounding is half up, as spreadsheets do. Empty if the code shows nothing of it."""
    magnitude = Decimal(repr(value))
    section, signed = _section_for(magnitude, sections_of(code))
    if section is None:
        return show_general(magnitude)
    if section.is_date:
        from openpyxl.utils.datetime import from_excel

        try:
            return show_moment(from_excel(value, timedelta=section.has("elapsed")), section.tokens).strip()
        except (ValueError, OverflowError):
            return show_general(magnitude)
    if section.has("text") and not section.has("digit"):
        return _fill_text(show_general(magnitude), section)
    minus = "-" if signed and magnitude < 0 and section.has("digit", "general") else ""
    return f"{minus}{show_digits(abs(magnitude), section.tokens)}".strip()


def show_time(value: Moment, code: str) -> str:
    """A date, a time or a duration in a format code; in ISO form if the code is no date's."""
    dates = [section for section in sections_of(code) if section.is_date]
    if not dates:
        if isinstance(value, datetime.timedelta):
            return show_moment(value, sections_of("[h]:mm:ss")[0].tokens)
        if isinstance(value, datetime.datetime):
            return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
        return value.isoformat()
    return show_moment(value, dates[0].tokens).strip()


def show_text(value: str, code: str) -> str:
    """A text in a format code, whose last section may add words to it (``"Nr. "@``) or hide it (``;;;``)."""
    sections = sections_of(code)
    section = sections[-1]
    if len(sections) < 4 and not section.has("text"):
        return value
    return _fill_text(value, section)


def _fill_text(value: str, section: Section) -> str:
    return "".join(value if t.kind == "text" else t.text for t in section.tokens)


def _section_for(value: Decimal, sections: Sequence[Section]) -> tuple[Section | None, bool]:
    """The section that shows a number, and whether a negative one keeps its sign there."""
    numeric = [*sections]
    if len(numeric) > 1 and (len(numeric) == 4 or numeric[-1].has("text")):
        numeric.pop()
    if any(s.condition for s in numeric):
        for place, section in enumerate(numeric):
            # Negative amounts of the second of two sections are left to its own signs and brackets.
            if section.holds_for(value) or (section.condition is None and place):
                below = section.condition is not None and section.condition[0].startswith("<") \
                    and section.condition[1] <= 0
                return section, not below
        return (numeric[0] if numeric[0].condition is None else None), True
    if value < 0 and len(numeric) > 1:
        return numeric[1], False
    return numeric[2 if not value and len(numeric) > 2 else 0], True
