"""Multiple-choice questions: the options inside a question's words, and which of them the answer is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from canopy.ingest.fields import text_of
from canopy.ingest.sink import Unusable
from canopy.scoring.options import LETTERS

_OPTION = re.compile(r"(?:^|\n)[ \t]*(?:\(([A-E])\)|([A-E])\))[ \t]*")
_LETTER, _BEFORE = re.compile(r"\(?\s*([A-E])\s*\)?[.:]?"), re.compile(r"(?:\(([A-E])\)|([A-E])[.:)])\s")
Options = tuple[tuple[str, str], ...]


def options_of(question: str) -> Options:
    """The options that stand in a question as lines ``(A) ...`` or ``A) ...``, as (letter, words).

    Letters run from A on; a line that breaks the run belongs to the option before it. Empty if there are fewer than
    two.
    """
    lines: list[tuple[str, int, int]] = []
    for m in _OPTION.finditer(question):
        letter = m.group(1) or m.group(2)
        if letter == chr(ord("A") + len(lines)):
            lines.append((letter, m.start(), m.end()))
    if len(lines) < 2:
        return ()
    ends = [start for _, start, _ in lines[1:]] + [len(question)]
    return tuple((letter, question[at:end].strip()) for (letter, _, at), end in zip(lines, ends, strict=True))


def with_options(question: str, candidates: Sequence[str]) -> tuple[str, Options]:
    """A question and its candidates as LVBench publishes them: the options as lines ``(A) ...`` below the question."""
    if not 2 <= len(candidates) <= len(LETTERS):
        raise Unusable(f"a question of {len(candidates)} options")
    options = tuple(zip(LETTERS, candidates, strict=False))
    return "\n".join([question, *(f"({letter}) {words}" for letter, words in options)]), options


def letter_of(answer: Any, options: Options) -> str:
    """The letter of the right option, from a letter (``B``, ``(B)``, ``B. words``) or the option's own words.

    Unusable if it is none.
    """
    text = text_of(answer, "answer").strip()
    by_words = {words.casefold(): letter for letter, words in reversed(options)}
    bare, before = _LETTER.fullmatch(text), _BEFORE.match(text)
    letters = [bare.group(1) if bare else "", by_words.get(text.casefold(), ""), (before.group(1) or before.group(2))
               if before else ""]
    letter = next((x for x in letters if x in dict(options)), "")
    if not letter:
        raise Unusable(f"answer {text[:60]!r} is none of the options {', '.join(dict(options))}")
    return letter
