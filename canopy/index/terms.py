"""What BM25 searches for: words without endings, codes whole and in parts, and pairs of letters where no blanks are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from canopy.items import Item
from canopy.scoring.metric import ARTICLE_WORDS
from canopy.scoring.stems import FUNCTION_WORDS, stem

# Scripts that are written without blanks between words.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
# One sign for every dash, so that a code is found however a word processor has joined it; signs without a width and
# the dot that lower-casing leaves over a Turkish I go.
_SIGNS = {**dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-"), 0x2019: "'",
          **dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x307])}
_SECTION = re.compile(r"([§#])\s+(?=\d)")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A term, and a part of one. ``\\w`` leaves out the vowel signs of Indic and Arabic words: they are added."""
    marks = "".join(chr(c) for c in range(0x300, 0x1_2000) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    word = f"[\\w{marks}]+"
    return (re.compile(f"[§#]*{word}(?:[-./_:§#+&]{word})*[#+]*"),
            re.compile(f"(?:[^\\W_]|[{marks}])+"))


def terms(text: str) -> list[str]:
    """The terms of a text, in order.

    ``TCK-00417`` gives itself, ``tck`` and ``00417``: a question finds a code by either. ``C#`` is not ``C``. Function
    words are left out. ``§ 14`` is a term as a whole too.
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold().translate(_SIGNS))
    return list(_terms(_SECTION.sub(r"\1", plain)))


def item_terms(item: Item) -> list[str]:
    """The terms of an item, wherever they stand in it; those of its title twice, as they say what it is about."""
    return terms(" ".join((item.title, *item.texts())))


def _terms(text: str) -> Iterator[str]:
    term, piece = _patterns()
    for match in term.finditer(text):
        whole = match[0]
        parts = piece.findall(whole)
        if parts != [whole]:
            yield whole
        for part in parts:
            runs = _UNSPACED.findall(part)
            for run in runs:
                yield from (run[n:n + 2] for n in range(max(1, len(run) - 1)))
            for word in _UNSPACED.split(part) if runs else (part,):
                if word and word not in FUNCTION_WORDS and word not in ARTICLE_WORDS:
                    yield stem(word)
