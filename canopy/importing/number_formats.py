"""Numbers as a spreadsheet shows them.

Leading zeros, thousands, decimals, currencies, shares, negative amounts in brackets.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

_SECTIONS = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')
# Quoted words, an escaped sign, a blank or a fill, a currency, a colour or condition, the digits, any other sign.
_TOKEN = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|([0#?,.]*[0#?][0#?,.]*(?:E[+-]0+)?)|(.)')
_PLAIN_SIGNS = frozenset(" $€£¥()+-%:'")


def format_number(value: float, number_format: str) -> str | None:
    """A number in an Excel number format; None if the format is a date's, a fraction's or plain text's.

    Rounding is half up, as spreadsheets do.
    """
    sections = _SECTIONS.split(number_format)
    section, magnitude = sections[0], Decimal(repr(value))
    minus = "-" if value < 0 else ""
    if value < 0 and len(sections) > 1:
        section, minus = sections[1], ""
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    before: list[str] = []
    after: list[str] = []
    digits = ""
    for words, escaped, currency, core, sign in _TOKEN.findall(section):
        if core:
            if digits:
                return None
            digits = core
        elif sign and sign not in _PLAIN_SIGNS:
            return None
        else:
            (after if digits else before).append(words or escaped or currency or sign)
    literal = ("".join(before), "".join(after))
    if not digits:
        return "".join(literal).strip() or None
    if "%" in "".join(literal):
        magnitude *= 100
    try:
        return f"{minus}{literal[0]}{_digits(abs(magnitude), digits)}{literal[1]}".strip()
    except InvalidOperation:
        return None


def _digits(magnitude: Decimal, pattern: str) -> str:
    """An absolute value by a pattern of digits such as ``#,##0.00``."""
    if "E" in pattern:
        mantissa, exponent = pattern.split("E")
        number, power = f"{magnitude:.{len(mantissa.partition('.')[2])}E}".split("E")
        return f"{number}E{power[0]}{power[1:].zfill(len(exponent) - 1)}"
    whole, _, decimals = pattern.partition(".")
    scale = len(pattern) - len(pattern.rstrip(","))  # each comma at the end shows thousands
    decimals = decimals.rstrip(",")
    rounded = (magnitude / 1000**scale).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    integer, _, fraction = f"{rounded:f}".partition(".")
    while fraction.endswith("0") and len(fraction) > decimals.count("0"):
        fraction = fraction[:-1]
    integer = integer.lstrip("0").zfill(whole.count("0"))
    if "," in whole.rstrip(","):
        integer = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", integer)
    return f"{integer}.{fraction}" if fraction else integer or "0"
