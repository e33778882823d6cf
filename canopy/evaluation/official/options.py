"""Multiple choice over videos (LVBench, LongVideoBench): which option a reply means, and accuracy with every miss counted."""

from __future__ import annotations

import re

from canopy.evaluation.official.base import Support, details_of, normalise_answer
from canopy.items import Question

PRIMARY = ("accuracy",)
RULES = ("Accuracy of the option's letter. A letter is taken where it stands alone, in brackets, after 'answer' or before a full stop; else the one option whose "
         "text the reply holds. A reply without an option, and a missing reply, count as wrong; parse_failed counts them.")
_STATED = (
    r"^\W*([A-E])\W*$",
    r"(?:answer|option|choice)\s*(?:is|:|=)?\s*(?:option\s*)?[\(\[\*\"']*([A-E])\b(?![a-z'])",
    r"[\(\[]\s*([A-E])\s*[\)\]]",
    r"^\W*([A-E])\s*[\.\):,]",
    r"\b([B-E])\b(?=\s*(?:$|[\.\):,;]))",
    r"(?:^|[\s\"'*])([A-E])(?:[\"'*]|\s*$)",
)


def options_of(question: Question) -> dict[str, str]:
    """The question's options by letter, out of its details, else out of its text ('\\n(A) ..')."""
    given = {k: v for k, v in details_of(question).items() if re.fullmatch(r"[A-E]", k)}
    return given or dict(re.findall(r"(?:^|\n)\s*\(([A-E])\)\s*(.+)", question.question))


def parse_option(reply: str, options: dict[str, str]) -> str:
    """The letter that a reply means, empty where it means none or several."""
    for pattern in _STATED:
        letters = {m.upper() for m in re.findall(pattern, reply.strip(), re.M)} & (set(options) or set("ABCDE"))
        if len(letters) == 1:
            return letters.pop()
        if len(letters) > 1:
            # The verdict comes last: 'not (A) but (C)' and 'A or B? The answer is C' name what they reject first.
            last = [m for m in re.findall(pattern, reply.strip(), re.M) if m.upper() in letters]
            return last[-1].upper() if "answer" in pattern else ""
    said = normalise_answer(reply)
    held = [k for k, v in options.items() if normalise_answer(v) and re.search(rf"\b{re.escape(normalise_answer(v))}\b", said)]
    if len(held) > 1:  # one option's words may lie inside another's
        held = [k for k in held if not any(k != o and normalise_answer(options[k]) in normalise_answer(options[o]) for o in held)]
    return held[0] if len(held) == 1 else ""


def score(question: Question, prediction: str, support: Support | None = None) -> dict[str, float]:
    """``accuracy`` and ``parse_failed``."""
    chosen = parse_option(prediction, options_of(question))
    right = question.answers[0].strip().strip("()").upper() if question.answers else ""
    return {"accuracy": float(bool(chosen) and chosen == right), "parse_failed": float(not chosen)}
