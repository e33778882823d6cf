"""Spans of a sentence that could be an answer, each with how well its form fits the kind of answer asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from canopy.llm.plain.asking import Kind
from canopy.llm.plain.sentences import Sentence
from canopy.llm.plain.words import OF, STOP, name_spans, quoted, words

_MONTH = (r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|"
          r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?")
_DATE = re.compile(
    rf"\b(?:{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:\s?,\s?\d{{4}})?|"
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:\s,?\d{{4}})?|{_MONTH}\s\d{{4}}|"
    r"(?:1\d|20)\d{2}s?(?:\s?[-–]\s?(?:(?:1\d|20)\d{2}|\d{2}))?|\d{1,2}(?:st|nd|rd|th)\scentury)\b"
)
_AMOUNT = re.compile(r"[$€£¥]?\d[\d,]*(?:\.\d+)?(?:\s?(?:%|percent|thousand|million|billion|trillion))?")
_SPELLED = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|"
    r"thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion)(?:[- "
    r"](?:one|two|three|four|five|six|seven|eight|nine|hundred|"
    r"thousand|million|billion))*\b",
    re.I,
)
_CLAUSE = re.compile(r"; ")
_BEFORE_PLACE = re.compile(r"\b(?:in|at|from|near|to|of|on)\s+(?:the\s+)?$", re.I)
_TOKEN = re.compile(r"[^\W_][\w'’-]*")
LONGEST = 9  # words


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span.

    ``at``: where it begins in its sentence, in characters; ``fit``: 0 to 1, its form against the kind asked for;
    ``column``: of a table's cell.
    """

    text: str
    at: int
    fit: float
    column: str = ""


def find_candidates(sentence: Sentence, kind: Kind) -> list[Candidate]:
    """A sentence's candidates in order of appearance, the title of its item last."""
    candidates = list(_cells(sentence.text, kind) if sentence.modality == "table" and " is " in sentence.text
                 else _spans(sentence.text, kind))
    if sentence.title and kind not in ("time", "number"):
        candidates.append(Candidate(sentence.title, len(sentence.text), 0.6 if kind in ("person", "place", "other")
                               else 0.3))
    return candidates


def _cells(row: str, kind: Kind) -> Iterator[Candidate]:
    """Cells of a row given as ``column is cell`` clauses."""
    at = 0
    for clause in _CLAUSE.split(row):
        column, between, cell = clause.partition(" is ")
        if not between:
            column, cell = "", clause
        if cell.strip():
            # What a column holds may have any form if the question does not say which.
            yield Candidate(cell.strip(), at + len(clause) - len(cell), 0.7 if kind == "other"
                            else fit_of(cell.strip(), kind), column.strip())
        at += len(clause) + 2


def _spans(text: str, kind: Kind) -> Iterator[Candidate]:
    if kind == "time":
        for m in _DATE.finditer(text):
            yield Candidate(m.group(), m.start(), 1.0 if len(m.group()) > 4 else 0.9)
        return
    if kind == "number":
        for pattern, fit in ((_AMOUNT, 1.0), (_SPELLED, 0.8)):
            for m in pattern.finditer(text):
                # A bare year is seldom the amount asked for.
                yield Candidate(m.group().strip(), m.start(), 0.3 if re.fullmatch(r"(?:1[5-9]|20)\d\d", m.group())
                                else fit)
        return
    for name, where in [*((q, text.find(q)) for q in quoted(text)), *name_spans(text, OF)]:
        fit = fit_of(name, kind)
        if kind == "place" and _BEFORE_PLACE.search(text[max(0, where - 12):where]):
            fit = min(1.0, fit + 0.2)
        yield Candidate(name, where, fit)
    if kind == "other":
        yield from _phrases(text)


def _phrases(text: str) -> Iterator[Candidate]:
    """Runs of words without a function word, at most four of them: what common nouns an answer may be."""
    run: list[re.Match[str]] = []
    for m in [*_TOKEN.finditer(text), None]:
        broken = m is None or m.group().lower() in STOP or (run and text[run[-1].end():m.start()].strip())
        if broken and run:
            if len(run) <= 4 and not all(r.group()[0].isupper() for r in run):
                yield Candidate(text[run[0].start():run[-1].end()], run[0].start(), 0.35)
            run = []
        if m is not None and m.group().lower() not in STOP:
            run.append(m)


def fit_of(text: str, kind: Kind) -> float:
    """How well a name's or cell's form fits, 0 to 1."""
    tokens = words(text)
    if not tokens or len(tokens) > 2 * LONGEST:
        return 0.0
    date, digits = _DATE.fullmatch(text), sum(c.isdigit() for c in text) / max(1, len(text))
    if kind == "time":
        return 1.0 if date else 0.5 if _DATE.search(text) else 0.0
    if kind == "number":
        return 1.0 if _AMOUNT.fullmatch(text) or _SPELLED.fullmatch(text) else 0.4 if digits else 0.0
    if digits > 0.5 or date:
        return 0.1
    if kind == "person":
        return (1.0 if 2 <= len(tokens) <= 4 and all(w[0].isupper() for w in text.split() if w[0].isalpha()
                                                   and len(w) > 3) else 0.5) - 0.3 * (digits > 0)
    if kind == "place":
        return 0.8
    return 0.7


def years(text: str) -> list[int]:
    """The years in a text, in order."""
    return [int(y) for y in re.findall(r"\b(1[0-9]\d\d|20\d\d)\b", text)]


def amounts(text: str) -> list[float]:
    """The numbers in a text that are no years, in order."""
    numbers = [m.group().replace(",", "").strip("$€£¥% ") for m in re.finditer(r"[$€£¥]?\d[\d,]*(?:\.\d+)?", text)]
    return [float(x) for x in numbers if x and not re.fullmatch(r"(?:1[5-9]|20)\d\d", x)]
