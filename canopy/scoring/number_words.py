"""Number words as numbers, exactly as word2number 1.1 reads them, which MultiModalQA's script uses."""

from __future__ import annotations

from collections.abc import Sequence

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9}
VALUES = {**{w: n for n, w in enumerate((*_DIGITS, *_TEENS))}, **{w: 10 * n for n, w in enumerate(_TENS, 2)},
          "hundred": 100, **_SCALES}
_ONCE = (*_SCALES, "point")


def number_of(text: str) -> float | None:
    """The number that the number words of a text say; None if there is none, or word2number refuses them.

    Other words are passed over, and a text of digits alone is its number.
    """
    lowered = text.replace("-", " ").lower()
    if lowered.isdigit():
        return float(int(lowered)) if lowered.isdecimal() else None
    words = [w for w in lowered.split() if w in VALUES or w == "point"]
    if not words or any(words.count(w) > 1 for w in _ONCE):
        return None
    decimals: list[str] = []
    if "point" in words:
        at = words.index("point")
        words, decimals = words[:at], words[at + 1:]
    whole = _whole(words)
    return None if whole is None else whole + _decimal(decimals)


def _whole(words: Sequence[str]) -> float | None:
    if len(words) < 2:
        return float(VALUES[words[0]]) if words else 0.0
    places = {w: words.index(w) for w in ("billion", "million", "thousand") if w in words}
    if list(places.values()) != sorted(places.values()):
        return None
    total, start = 0.0, 0
    for scale, place in places.items():
        part = _hundreds(words[start:place])
        if part is None:
            return None
        total += part * _SCALES[scale]
        start = place + 1
    # The rest stands after the last scale that does not end the number: where one does, word2number reads what stands
    # before it once more.
    after = next((place + 1 for place in reversed(places.values()) if place != len(words) - 1), None if places else 0)
    if after is None:
        return total
    rest = _hundreds(words[after:])
    return None if rest is None else total + rest


def _hundreds(words: Sequence[str]) -> float | None:
    """A number below a thousand, by word2number's rule of how many words there are; None if that rule fails."""
    n = [VALUES[w] for w in words]
    if not n:
        return None
    if len(n) == 4:
        return float(n[0] * n[1] + n[2] + n[3])
    if len(n) == 3:
        return float(n[0] * n[1] + n[2])
    if len(n) == 2:
        return float(n[0] * n[1] if 100 in n else n[0] + n[1])
    return float(n[0])


def _decimal(words: Sequence[str]) -> float:
    """What stands after the point; 0 if anything but digits does."""
    if not words or any(w not in _DIGITS for w in words):
        return 0.0
    return float("0." + "".join(str(VALUES[w]) for w in words))
