"""Numbers by a pattern of digits: leading zeros, thousands, decimals, shares, powers of ten, fractions."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

_GENERAL_DIGITS = 10


class Token(NamedTuple):
    """A piece of a format code: its kind (``digit``, ``sign``, ``literal``, ``date``, ...) and its characters."""

    kind: str
    text: str


def show_general(value: Decimal) -> str:
    """A number without a format: whole ones in full, others to ten digits, tiny ones as a power of ten."""
    if value == value.to_integral_value():
        return f"{value:.0f}" if abs(value) < Decimal(10) ** 15 else f"{value:.5E}"
    if abs(value) < Decimal("0.0001"):
        mantissa, power = f"{value:.5E}".split("E")
        return f"{mantissa.rstrip('0').rstrip('.')}E{power[0]}{power[1:].zfill(2)}"
    decimals = max(0, _GENERAL_DIGITS - max(1, value.adjusted() + 1))
    rounded = f"{_round(value, decimals):f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def show_digits(magnitude: Decimal, tokens: Sequence[Token]) -> str:
    """An absolute value by a section's tokens."""
    if any(t.kind == "general" for t in tokens):
        return "".join(show_general(magnitude) if t.kind == "general" else t.text for t in tokens)
    magnitude *= Decimal(100) ** sum(t == Token("sign", "%") for t in tokens)
    powers = [i for i, t in enumerate(tokens) if t.kind == "exponent"]
    if powers:
        return _show_power(magnitude, tokens[:powers[0]], tokens[powers[0]], tokens[powers[0] + 1:])
    slashes = [i for i, t in enumerate(tokens) if t == Token("sign", "/")]
    if slashes and any(t.kind == "digit" for t in tokens[:slashes[0]]):
        return _show_fraction(magnitude, tokens, slashes[0])
    return _show_decimal(magnitude, tokens)


def _round(value: Decimal, decimals: int) -> Decimal:
    with localcontext(Context(prec=400)):
        return value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _show_decimal(magnitude: Decimal, tokens: Sequence[Token]) -> str:
    """Digits into their places, signs between them where they stand (``000-00-0000``)."""
    point = next((i for i, t in enumerate(tokens) if t == Token("sign", ".")), len(tokens))
    places = [i for i, t in enumerate(tokens) if t.kind == "digit"]
    whole, decimals = [i for i in places if i < point], [i for i in places if i > point]
    commas = [i for i, t in enumerate(tokens) if t == Token("sign", ",") and places and i > places[0]]
    scaling = [i for i in commas if i > ((whole if i < point else decimals) or [point])[-1]]
    grouped = any(i < point and i not in scaling for i in commas)
    integer, _, fraction = f"{_round(magnitude.scaleb(-3 * len(scaling)), len(decimals)):f}".partition(".")
    integer = integer.lstrip("0")
    marks = [tokens[i].text for i in decimals]
    pieces: list[str] = []
    if not whole and integer and point < len(tokens):  # ``.00`` of 12.5 is 12.50
        whole = [point]
    for i, token in enumerate(tokens):
        if i in whole:
            pieces.append(_places(integer, len(whole) - whole.index(i), i == whole[0], token.text, grouped))
            pieces += ["."] if i == point else []
        elif i in decimals:
            pieces.append(_decimal(fraction, decimals.index(i), marks))
        elif i not in commas and not (i == point and decimals and "0" not in marks and not fraction.strip("0")):
            pieces.append(token.text)
    return "".join(pieces)


def _places(integer: str, place: int, first: bool, mark: str, grouped: bool) -> str:
    """The digits that stand at one place of the whole part, counted from the right; the first takes all before it."""
    digits = ""
    for p in range(max(place, len(integer)) if first else place, place - 1, -1):
        digit = integer[-p] if p <= len(integer) else "0" if mark == "0" else ""
        digits += digit
        if grouped and digit and p > 1 and p % 3 == 1:
            digits += ","
    return digits


def _decimal(fraction: str, place: int, marks: Sequence[str]) -> str:
    """The digit at one place after the point; zeros at the end show only where the pattern says ``0``."""
    return fraction[place] if marks[place] == "0" or fraction[place:].strip("0") or "0" in marks[place:] else ""


def _show_power(magnitude: Decimal, mantissa: Sequence[Token], sign: Token, rest: Sequence[Token]) -> str:
    """A power of ten; with several whole digits (``##0.0E+0``) the power is a multiple of their number."""
    point = next((i for i, t in enumerate(mantissa) if t == Token("sign", ".")), len(mantissa))
    width = max(1, sum(t.kind == "digit" for t in mantissa[:point]))
    decimals = sum(t.kind == "digit" for t in mantissa[point:])
    power = magnitude.adjusted() if magnitude else 0
    power -= power % width
    if _round(magnitude.scaleb(-power), decimals) >= Decimal(10) ** width:
        power += width
    digits = sum(1 for t in rest if t.kind == "digit")
    mark = "-" if power < 0 else sign.text[1].replace("-", "")
    tail = "".join(t.text for t in rest if t.kind != "digit")
    return f"{_show_decimal(magnitude.scaleb(-power), mantissa)}E{mark}{str(abs(power)).zfill(digits)}{tail}"


def _show_fraction(magnitude: Decimal, tokens: Sequence[Token], slash: int) -> str:
    """A fraction (``# ?/?``, ``?/8``): the nearest one whose denominator is as given or has as many digits."""
    start = end = slash
    while start and tokens[start - 1].kind == "digit":
        start -= 1
    while end + 1 < len(tokens) and (tokens[end + 1].kind == "digit" or tokens[end + 1].text.isdigit()):
        end += 1
    bottom = "".join(t.text for t in tokens[slash + 1:end + 1])
    number = Fraction(magnitude)
    mixed = any(t.kind == "digit" for t in tokens[:start])
    whole, part = (int(number), number - int(number)) if mixed else (0, number)
    if any(c in "123456789" for c in bottom):
        below = int(bottom)
        above = int(part * below + Fraction(1, 2))
    else:
        nearest = part.limit_denominator(10 ** max(1, len(bottom)) - 1)
        above, below = nearest.numerator, nearest.denominator
    if mixed and above >= below:
        whole, above = whole + 1, 0
    head = _show_decimal(Decimal(whole), tokens[:start]) if mixed and (whole or not above) else ""
    ratio = f"{above}/{below}" if above or not mixed else ""
    return f"{head.strip()} {ratio}".strip() + "".join(t.text for t in tokens[end + 1:])
