"""Numbers of list items as they are shown: digits, letters, Roman numerals."""

from __future__ import annotations

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def show_number(number: int, style: str) -> str:
    """An item's number in a style.

    Parameters
    ----------
    style : str
        HTML's ``type``: ``a``, ``A``, ``i``, ``I``; anything else, and numbers that have no such form: digits.
    """
    if style in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, rest = divmod(number - 1, 26)
            letters = chr(97 + rest) + letters
        return letters if style == "a" else letters.upper()
    if style in ("i", "I") and 0 < number < 4000:
        numeral = ""
        for value, letters in _ROMAN:
            count, number = divmod(number, value)
            numeral += letters * count
        return numeral if style == "i" else numeral.upper()
    return str(number)
