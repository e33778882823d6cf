"""Where a document states an answer: spans in a text, rows of a table.

For gold that a release names only in part (TAT-QA's train and dev).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from canopy.benchmarks.reading.financial_tables import Rows, number_of

# characters that releases write in two ways, one for one so that offsets stay
_SAME = str.maketrans("’‘“”–—−\u00a0\u2009", "''\"\"---  ")
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_FIGURE = re.compile(r"(?<![\w.])(?:\d[\d,]*(?:\.\d+)?|\.\d+)")


def spans_of(answer: str, text: str) -> list[tuple[int, int]]:
    """Character spans of an answer in a text: as it stands, else ignoring case, else without its last mark; whole words
    and numbers only.

    Spacing, and the two forms of quotes and dashes, make no difference: "$1,452.4" is found in "$  1,452.4", "32.0%" in
    "32.0 to 33.0%", and "5" not in "1,452.5". Empty if the text does not state it.
    """
    a, t = answer.translate(_SAME), text.translate(_SAME)
    for needle, flags in ((a, 0), (a, re.IGNORECASE), (re.sub(r"[\s.,;:%]+$", "", a), re.IGNORECASE)):
        tokens = re.findall(r"\w+|[^\w\s]", needle)
        if tokens:
            before = r"(?<!\w)(?<!\d[.,])" if tokens[0][0].isalnum() else ""
            after = r"(?!\w)(?![.,]\d)" if tokens[-1][-1].isdigit() else r"(?!\w)" if tokens[-1][-1].isalnum() else ""
            spans = [m.span() for m in re.finditer(before + r"\s*".join(map(re.escape, tokens)) + after, t, flags)]
            if spans:
                return spans
    return []


def numbers_in(derivation: str) -> list[str]:
    """The numbers of a derivation that a document must state, in order: ``(44.1-56.7)/56.7*100`` gives 44.1 and 56.7.

    Left out: 0; a whole number of at most two digits, or 100, beside a sign of multiplication or division (a count, or
    per cent); and the 1 that is taken from a ratio.
    """
    numbers = []
    for m in _FIGURE.finditer(derivation):
        before, after = derivation[:m.start()].rstrip(" ($€£¥")[-1:], derivation[m.end():].lstrip(" )")[:1]
        short = m[0] == "100" or (len(m[0]) <= 2 and m[0].isdigit())
        constant = short and bool(set(before) & set("/*x×÷") or set(after) & set("*x×"))
        if m[0] != "0" and not constant and not (m[0] == "1" and before and before in "-+" and "/" in derivation):
            numbers.append(m[0])
    return list(dict.fromkeys(numbers))


def rows_of(facts: Iterable[str], rows: Rows, question: str) -> tuple[set[int], set[str]]:
    """The rows that state facts, and the facts that no row states.

    Where several rows state a fact, those that state more of the facts come first, then those whose label shares more
    words with the question, then the upper ones.
    """
    facts = [f for f in dict.fromkeys(facts) if f.strip()]
    question_words = set(_folded(question))
    near = [len(question_words & set(_folded(r[0]))) if r else 0 for r in rows]
    holders = {f: set(stating_rows(f, rows)) for f in facts}
    chosen_rows: set[int] = set()
    left = [f for f in facts if holders[f]]
    while left:
        best = max(set().union(*(holders[f] for f in left)),
                   key=lambda r: (sum(r in holders[f] for f in left), near[r], -r))
        chosen_rows.add(best)
        left = [f for f in left if best not in holders[f]]
    return chosen_rows, {f for f in facts if not holders[f]}


def stating_rows(fact: str, rows: Rows) -> list[int]:
    """The rows with a cell that is the fact, else those with a cell that holds it.

    A cell is the fact as a number without sign, currency and brackets, or as words without case, marks and a footnote's
    figure ("Incentive schemes1").
    """
    number, words = number_of(fact), _folded(fact)

    def is_fact(cell: str) -> bool:
        if number is not None:
            return number_of(cell) == number
        folded = _folded(cell)
        return bool(words) and (folded == words or (folded[-1:] != words[-1:] and folded[:-1] == words
                                                    and folded[-1].isdigit()))

    same = [i for i, row in enumerate(rows) if any(is_fact(c) for c in row)]
    return same or [i for i, row in enumerate(rows) if any(number_of(c) is None and spans_of(fact, c) for c in row)]


def _folded(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())
