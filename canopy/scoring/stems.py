"""Words without their endings and without function words, as questions are matched with texts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import Stemmer

FUNCTION_WORDS = frozenset((
    "of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or", "is", "are", "was", "were", "be",
    "been", "being", "did", "does", "do", "has", "have", "had", "what", "which", "who", "whom", "whose", "when",
    "where", "why", "how", "many", "much", "that", "this", "these", "those", "it", "its", "as", "than", "then",
    "there", "their", "his", "her", "he", "she", "they", "them", "name", "first"))


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A word, in lower case, without its English endings (Snowball's rules): ``rises`` and ``rising`` are ``rise``."""
    return str(_stemmer().stemWord(word))


def content_stems(words: Iterable[str]) -> list[str]:
    """The stems of the words that are no function words, each once, in order."""
    return list(dict.fromkeys(stem(w) for w in words if w not in FUNCTION_WORDS))
