"""What BM25 searches for: words without endings, codes whole and in parts, and pairs of letters where no blanks are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from canopy.items import Item
from canopy.scoring.metric import ARTICLE_WORDS
from canopy.scoring.stems import FUNCTION_WORDS, stem

_TERM = re.compile(r"\w+(?:[-./_:§#+&]\w+)*[#+]*")
_PART = re.compile(r"[^\W_]+")
# Scripts that are written without blanks between words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f\uf900-\ufaff]+")


def terms(text: str) -> list[str]:
    """The terms of a text, in order.

    ``TCK-00417`` gives itself, ``tck`` and ``00417``: a question finds a code by either. ``C#`` is not ``C``. Function
    words are left out.
    """
    return list(_terms(unicodedata.normalize("NFKC", text).casefold()))


def item_terms(item: Item) -> list[str]:
    """The terms of an item, wherever they stand in it; those of its title twice, as they say what it is about."""
    words = " ".join((item.title, item.title, item.section, item.caption, item.text, item.words, *item.header,
                      *(c for row in item.rows for c in row), *(c.text for c in (*item.cues, *item.screen))))
    return terms(words)


def _terms(text: str) -> Iterator[str]:
    for match in _TERM.finditer(text):
        whole = match[0]
        parts = _PART.findall(whole)
        if parts != [whole]:
            yield whole
        for part in parts:
            runs = _UNSPACED.findall(part)
            for run in runs:
                yield from (run[n:n + 2] for n in range(max(1, len(run) - 1)))
            for word in _UNSPACED.split(part) if runs else (part,):
                if word and word not in FUNCTION_WORDS and word not in ARTICLE_WORDS:
                    yield stem(word)
