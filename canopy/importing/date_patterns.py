"""Dates, times and durations by a format code's tokens (``dd.mm.yyyy``, ``h:mm AM/PM``, ``[h]:mm``)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from canopy.importing.digit_patterns import Token

Moment = datetime.datetime | datetime.date | datetime.time | datetime.timedelta
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime.datetime(1899, 12, 30)


def show_moment(value: Moment, tokens: Sequence[Token]) -> str:
    """A moment by a section's tokens, which hold at least one of a date or a duration."""
    minus = "-" if isinstance(value, datetime.timedelta) and value < datetime.timedelta() else ""
    fraction = _fraction_digits(tokens)
    moment = _round(_as_datetime(value), fraction)
    total = moment - _EPOCH
    twelve = any(t.kind == "half" for t in tokens)
    pieces: list[str] = []
    last, skip = "", 0
    for i, token in enumerate(tokens):
        kind, text = token
        if skip:
            skip -= 1
        elif kind == "elapsed":
            seconds = total.days * 86400 + total.seconds
            pieces.append(str(seconds // {"h": 3600, "m": 60, "s": 1}[text[0]]).zfill(len(text)))
            last = text[0]
        elif kind == "date":
            minutes = text[0] == "m" and len(text) < 3 and (last == "h" or _next_unit(tokens[i + 1:]) == "s")
            pieces.append(_unit("i" * len(text) if minutes else text, moment, twelve))
            last = "i" if minutes else text[0]
        elif kind == "half":
            half = "AP"[moment.hour >= 12]
            pieces.append(half if len(text) == 3 else f"{half}M")
        elif (kind, text) == ("sign", ".") and last == "s" and fraction and tokens[i + 1].kind == "digit":
            pieces.append(f".{moment.microsecond:06}"[:fraction + 1])
            skip = fraction
        else:
            pieces.append(text)
    return minus + "".join(pieces)


def _as_datetime(value: Moment) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.timedelta):
        return _EPOCH + abs(value)
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(_EPOCH.date(), value.replace(tzinfo=None))
    return datetime.datetime.combine(value, datetime.time())


def _round(moment: datetime.datetime, digits: int) -> datetime.datetime:
    """To the last digit that shows: a time is stored as a part of a day, and 59.9999996 s is a minute."""
    step = 10 ** (6 - min(digits, 6)) if digits else 1_000_000
    rest = moment.microsecond % step
    near = rest * 2 >= step if digits else rest >= 999_000
    try:
        return moment + datetime.timedelta(microseconds=step - rest if near and rest else -rest)
    except OverflowError:
        return moment


def _fraction_digits(tokens: Sequence[Token]) -> int:
    """How many digits of a second the tokens show."""
    for i, token in enumerate(tokens[:-1]):
        if token == Token("sign", ".") and i and tokens[i - 1].text[:1] == "s" and tokens[i + 1].kind == "digit":
            return next((n for n, t in enumerate(tokens[i + 1:]) if t.kind != "digit"), len(tokens) - i - 1)
    return 0


def _next_unit(tokens: Sequence[Token]) -> str:
    return next((t.text[0] for t in tokens if t.kind in ("date", "elapsed")), "")


def _unit(text: str, moment: datetime.datetime, twelve: bool) -> str:
    """One unit of a date or time; ``i`` stands for minutes, which Excel writes as months."""
    kind, width = text[0], len(text)
    if kind in "ye":
        return f"{moment.year % 100:02}" if width <= 2 and kind == "y" else f"{moment.year:04}"
    if kind == "b":
        return f"{(moment.year + 543) % 100:02}" if width <= 2 else str(moment.year + 543)
    if kind == "m" and width > 2:
        name = _MONTHS[moment.month - 1]
        return {3: name[:3], 5: name[0]}.get(width, name)
    if kind == "d" and width > 2:
        name = _DAYS[moment.weekday()]
        return name[:3] if width == 3 else name
    number = {"m": moment.month, "d": moment.day, "i": moment.minute, "s": moment.second,
              "h": (moment.hour + 11) % 12 + 1 if twelve else moment.hour}[kind]
    return str(number).zfill(min(width, 2))
