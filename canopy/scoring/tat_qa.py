"""TAT-QA's rules (tatqa_metric.py and tatqa_utils.py).

EM and F1 over answers written with their scale, numbers compared as numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from canopy.items import Question
from canopy.scoring.metric import Support, details_of
from canopy.scoring.numbers import list_scores, may_be_one, split_parts, tidy

PRIMARY = ("em", "f1")
RULES = ("EM and F1 of tatqa_metric.py: numbers rounded to two digits and multiplied by their scale, a percentage also "
         "accepted as a fraction, F1 equal to EM for "
         "arithmetic and counting questions. A reader's reply may end with its scale (thousand, million, billion, "
         "percent), which counts as the predicted scale; "
         "semicolons and line breaks part its spans. A number in brackets is negative, unless a percent sign stands in "
         "them, as the script has it.")
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "percent": 0.01}
_NOT_IN_NUMBERS = "'\"\\$€£¥%(),[]"
_LONGEST = 200  # characters of a number
_SCALED = re.compile(r"(.*\d[)%]?)\s*\(?(?:in\s+)?(thousand|million|billion|percent)s?\W*", re.I | re.S)


def scale_factor(scale: str) -> float:
    """What a number of this scale is multiplied by: the first scale word found in it, else 1."""
    lowered = scale.lower().strip()
    return next((f for word, f in _SCALES.items() if word in lowered), 1)


def _bare(text: str) -> str:
    return "".join(c for c in str(text) if c not in _NOT_IN_NUMBERS)


def is_number(text: str) -> bool:
    """Whether a text is a number, at most followed by a scale word."""
    words = " ".join(_bare(w) for w in text.split()).split()
    try:
        if not words or math.isnan(float(words[0])):
            return False
    except ValueError:
        return False
    return len(words) < 2 or scale_factor(words[1]) != 1


def to_number(text: str) -> float | None:
    """The number in a text, with scale word, brackets for negatives and percent sign applied, to four digits.

    None if there is none, or one too long to be reckoned with: a model may write digits without end, at which the
    official script stops.
    """
    match = re.search(r"([+-]?\d+(\.\d+)?)|([+-]?\.\d+)", _bare(text))
    if not match or not match.group(1) or len(match.group(1)) > _LONGEST:
        return None
    number = float(match.group(1)) if "." in match.group(1) else int(match.group(1))
    word = re.search(r"[\d.]+\s?[a-zA-Z]+", text)
    sign = -1 if re.search(r"\([\d.\s]+\)", text.strip()) else 1
    percent = 0.01 if re.search(r"[\d.\s]+%", text.strip()) else 1
    return round(number * (scale_factor(word.group(0)) if word else 1) * sign * percent, 4)


def write_answers(answers: Sequence[str], scale: str) -> str:
    """Answers as one string the way the official script compares them.

    Sorted, numbers as ``%.4f`` times their scale.
    """
    out = []
    for answer in sorted(answers):
        number = to_number(answer) if is_number(answer) else None
        if number is None:
            out.append(f"{answer} {scale}" if scale else answer)
        else:
            out.append(f"{number:.4f}" if "%" in answer else f"{round(number, 2) * scale_factor(scale):.4f}")
    return " ".join(out)


def normalise(text: str) -> str:
    """One written answer, token by token."""
    return tidy(text.split(" "), lambda t: str(to_number(t)) if is_number(t) else t, is_number)


def split_scale(reply: str) -> tuple[list[str], str]:
    """A reply's spans and the scale they are in, empty if it names none: the last span's, if the others are numbers
    that name the same one or none.

    A percent sign stays with its number.
    """
    parts = split_parts(reply)
    matches = [_SCALED.fullmatch(p) for p in parts]
    scales = {f.group(2).lower() for f in matches if f}
    if not parts or not matches[-1] or len(scales) > 1 or any(not f and not is_number(p) for p,
                                                              f in zip(parts, matches, strict=True)):
        return parts, ""
    return [_closed(f.group(1).strip()) if f else p for p, f in zip(parts, matches, strict=True)], scales.pop()


def _closed(number: str) -> str:
    """A number whose closing bracket stood behind its scale, ``$(9.8 million)``, with the bracket again."""
    return number + ")" * (number.count("(") - number.count(")"))


def answer_scores(predicted: Sequence[str], unit: str, answers: Sequence[str], scale: str,
                  kind: str) -> tuple[float, float]:
    """EM and F1 of predicted spans in a predicted scale, as ``TaTQAEmAndF1`` takes them."""
    candidates = [write_answers(predicted, unit)]
    if (
        len(predicted) == 1
        and not unit
        and "%" not in predicted[0]
        and is_number(predicted[0])
        and (number := to_number(predicted[0])) is not None
    ):
        candidates.append(f"{number:.4f}")  # 0.2342 for 23.42 percent
    gold = normalise(write_answers(answers, scale))
    em, f1 = max(list_scores([normalise(c)], [gold]) for c in candidates)
    return em, em if kind in ("arithmetic", "count") else f1


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``em`` and ``f1``.

    ``scale_right`` says whether the scale alone was (a percent sign may stand for the scale, or be part of a span).
    """
    details = details_of(question)
    kind, scale = details.get("answer_type", question.type), details.get("scale", "")
    parts, unit = split_scale(prediction)
    right = float(unit == scale or (scale == "percent" and not unit and bool(parts) and parts[-1].endswith("%")))
    if not parts or not question.answers:
        return {"em": 0.0, "f1": 0.0, "scale_right": right}
    readings = [(parts, unit), ([prediction.strip()], "")] if may_be_one(question.answers) else [(parts, unit)]
    em, f1 = max(answer_scores(spans, of, question.answers, scale, kind) for spans, of in readings)
    return {"em": em, "f1": f1, "scale_right": right}
