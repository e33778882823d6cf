"""Numbers in texts that people read: which of them have more than four significant digits."""

from __future__ import annotations

import re

# A decimal number that is no part of a version, a digest, an id, a path or a date.
_DECIMAL = re.compile(r"(?<![\w./:#-])[-+−]?(\d[\d,]*)\.(\d+)(?:e[-+]?\d+)?(?![\w./-]*[\w/])")


def long_numbers(text: str) -> list[str]:
    """Decimal numbers of more than four significant digits; whole numbers are counts, seeds or ids.

    arXiv ids are none.
    """
    numbers = []
    for match in _DECIMAL.finditer(text):
        if set(match[2]) == {"0"} or re.fullmatch(r"\d{4}\.\d{5}", match[0]):
            continue  # a whole number; an arXiv id
        digits = (match[1].replace(",", "") + match[2]).lstrip("0")
        if len(digits) > 4:
            numbers.append(match[0])
    return numbers


def visible(page: str) -> str:
    """The words of an HTML page as a reader sees them."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.S)
    return re.sub(r"<[^>]*>", " ", page)
