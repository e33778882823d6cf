"""Tables of financial reports as lists of rows of strings (TAT-QA).

Which leading rows are column heads, and which cells say a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

Rows = Sequence[Sequence[str]]
_YEAR = re.compile(r"(?:fy\s*)?(?:19|20)\d\d(?:\s*[-–/]\s*(?:19|20)?\d\d)?\s*(?:(?:\(\d+\))+|\*)?", re.IGNORECASE)
_NUMBER = re.compile(
    r"[^\w<>]*?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s*(?:%|pts?|bps|[x)¢])*[^\w,]*(?:\(\d\)|\*)*",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"[^\w%]*[-–—_]+[^\w%]*%?")
_MONTH = (r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
          r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?")
_PERIOD = re.compile(rf"\b(?:{_MONTH}|years?|months?|weeks?|quarters?|ended|ending|fiscal|fy|as "
                     r"(?:of|at)|(?:19|20)\d\d|notes?|(?:un)?audited|restated|"
                     r"total|change|chg|variance)\b", re.IGNORECASE)
_UNIT = re.compile(
    r"in|of|and|except|per|thousands?|millions?|billions?|mil|mm|m|k|bn|lakhs?|crores?|usd|eur|gbp|rmb|hk|us|dollars?|"
    r"euros?|shares?|data|amounts?|percentages?|percent|number|no|bps|0+"
)
_LONGEST = 60  # characters of a cell that is one number or one dash


def number_of(cell: str) -> Decimal | None:
    """The number that a cell is, without sign, currency, brackets and footnote marks; None if it is more or less
    than one number.

    A year, and a unit such as ``$'000``, is not a number here.
    """
    text = cell.strip()
    if len(text) > _LONGEST:
        return None
    match = None if _YEAR.fullmatch(text) or re.fullmatch(r"\W*0{3}s?\W*", text) else _NUMBER.fullmatch(text)
    return Decimal(match[1].replace(",", "")).normalize() if match else None


def is_value(cell: str) -> bool:
    """Whether a cell is what a table's body holds: a number, or a dash in its place."""
    text = cell.strip()
    return number_of(text) is not None or (len(text) <= _LONGEST and bool(_NOTHING.fullmatch(text)))


def header_count(rows: Rows) -> int:
    """How many leading rows are column heads; the last row never is one.

    Rule: rows count from the top until one holds a value outside its first column. A row whose first cell is empty, the
    first row, and a row of periods or units only is a head. A row with another label is one where columns still lack a
    name or the label itself is a period or a unit; a row with nothing but a label is one where a head follows it, so
    that a section's title ("Americas:") ends the heads.
    """
    heads, named = 0, [False] * max((len(r) for r in rows), default=0)
    for i, row in enumerate(rows[:-1]):
        label, cells = (row[0].strip() if row else ""), [c.strip() for c in row[1:]]
        filled = [c for c in cells if c]
        if any(is_value(c) for c in cells):
            break
        if not filled:
            if label and any(named[1:]):
                break
            continue
        soft = all(_says_period_or_unit(c) for c in filled)
        if (
            label
            and heads
            and not soft
            and all(named[1 : len(row)])
            and not _says_period_or_unit(label)
            and label[0] not in "(["
        ):
            break
        for j, c in enumerate(row):
            named[j] = named[j] or bool(c.strip())
        heads = i + 1
    return heads


def _says_period_or_unit(cell: str) -> bool:
    """Whether a cell names a time or a measure: "Years ended", "2019 (1)", "(in thousands)", "S$ Mil", "%"."""
    words = re.findall(r"[^\W\d]+|\d+", re.sub(r"[^\W\d]{0,3}[$€£¥₹]", " ", cell.casefold()))
    return bool(_YEAR.fullmatch(cell) or _PERIOD.search(cell)) or all(_UNIT.fullmatch(w) for w in words)


def column_names(rows: Rows, heads: int) -> tuple[str, ...]:
    """One name a column: the cells of its head rows from top to bottom, a repeated one once.

    A spanning head stays at its own column.
    """
    width = max((len(r) for r in rows), default=0)
    parts: list[list[str]] = [[] for _ in range(width)]
    for row in rows[:heads]:
        for j, cell in enumerate(row):
            if cell.strip() and cell.strip() not in parts[j]:
                parts[j].append(cell.strip())
    return tuple(" ".join(p) for p in parts)
