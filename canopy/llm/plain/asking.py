"""What kind of answer a question asks for, by its own words."""

from __future__ import annotations

import re
from typing import Literal

from canopy.llm.plain.words import names, quoted

Kind = Literal["verdict", "choice", "person", "place", "time", "number", "other"]
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)"
_VERDICT = re.compile(rf"^{_AUXILIARY}\b", re.I)
_ASKS = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b", re.I)
# Up to three words between "what" and the noun that it asks for, none of them a verb: "what famous American author",
# not "what did the author".
_GAP = rf"(?:(?!{_AUXILIARY}\b)[\w'-]+ ){{0,3}}?"
_PERSON = re.compile(
    r"(?:who|whom|whose)\b|(?:what|which) "
    rf"{_GAP}(?:actor|actress|author|singer|songwriter|person|man|woman|player|director|president|king|queen|"
    r"politician|artist|writer|musician|composer|scientist|coach|driver|character|athlete|founder|footballer|poet|painter|rapper|dj)\b",
    re.I,
)
_PLACE = re.compile(
    r"where\b|(?:what|which) "
    rf"{_GAP}(?:city|town|country|state|place|location|county|province|region|continent|island|village|river|venue|stadium|"
    r"capital|borough|district|neighborhood|nation)\b",
    re.I,
)
_TIME = re.compile(rf"when\b|(?:what|which) {_GAP}(?:year|date|day|month|decade|century|season|birthday)\b|what "
                   r"(?:is|was) (?:\w+ ){0,3}?(?:birthday|date)\b", re.I)
_NUMBER = re.compile(r"how (?:many|much|old|tall|long|far|large|big|high|deep|fast|heavy|wide|often)\b|(?:what|which) "
                     rf"{_GAP}(?:number|amount|population|percentage|"
                     r"percent|age)\b|(?:what|which) (?:is|are|was|were) the (?:[\w'-]+ "
                     r"){0,2}?(?:number|amount|population|percentage|percent|height|length|area|price|cost|"
                     r"rate|value|sum|ratio|size|capacity|distance|change|difference|average|total)\b", re.I)
_SEVERAL = re.compile(r"\b(?:list|name all|names of|(?:which|what)(?: \w+){0,2} (?:\w+s) "
                      r"(?:are|were|have|did|do)|(?:which|what) are|who are|who were|respectively|respective)\b", re.I)
_OR = re.compile(r"(?:,|:|\?)?\s+or\s+", re.I)
_LATE = re.compile(r"\b(later|younger|youngest|latest|last|more recent\w*|newer|newest|after)\b", re.I)
_EARLY = re.compile(r"\b(earlier|older|oldest|earliest|first|before|longer ago)\b", re.I)
_MORE = re.compile(
    r"\b(more|most|larger|largest|bigger|biggest|higher|highest|taller|tallest|longer|longest|greater|greatest)\b", re.I
)
_LESS = re.compile(r"\b(fewer|fewest|less|least|smaller|smallest|lower|lowest|shorter|shortest)\b", re.I)


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (("number", _NUMBER), ("time", _TIME), ("place", _PLACE),
                                                    ("person", _PERSON))


def kind_of(question: str) -> Kind:
    """The kind of answer asked for; a question that names its alternatives (``A or B``) is a ``choice``.

    If the question does not begin with a question word (or one within three words: ``In what year ...``), its last
    one asks: ``... died in what year?``.
    """
    words = question.strip()
    if alternatives(words):
        return "choice"
    if _VERDICT.match(words):
        return "verdict"
    asks = list(_ASKS.finditer(words))
    if not asks:
        return "other"
    asking = asks[0] if len(words[:asks[0].start()].split()) <= 3 else asks[-1]
    return next((kind for kind, pattern in _KINDS if pattern.match(words, asking.start())), "other")


def asks_for_several(question: str) -> bool:
    """Whether the words ask for a list."""
    return bool(_SEVERAL.search(question))


def alternatives(question: str) -> tuple[str, str] | None:
    """The two names that a question lets choose between, None if it names no two.

    ``Which is older, Rome or Paris?``.
    """
    cuts = list(_OR.finditer(question))
    if not cuts:
        return None
    cut = cuts[-1]
    left, right = question[:cut.start()], question[cut.end():].rstrip(" ?.")
    before = [*names(left), *quoted(left)]
    # "or": a name's own first word, such as First, is no beginning of a sentence
    after = [*names(f"or {right}"), *quoted(right)]
    if not before or not after:
        return None
    last = max(before, key=lambda n: (left.rfind(n), len(n)))
    first = min(after, key=lambda n: (right.find(n), -len(n)))
    if right.find(first) > 12 or len(left) - left.rfind(last) - len(last) > 12:
        return None
    last = re.split(r",\s*|\s+between\s+", last)[-1]
    return (last, first) if last.lower() != first.lower() else None


def direction_of(question: str) -> tuple[str, int]:
    """What a comparison goes by.

    (``time`` or ``size`` or empty, +1 if the larger value wins, -1 if the smaller does).
    """
    for pattern, what, sign in ((_LATE, "time", 1), (_EARLY, "time", -1), (_MORE, "size", 1), (_LESS, "size", -1)):
        if pattern.search(question):
            return what, sign
    return "", 0
