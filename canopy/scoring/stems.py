"""Words without their endings and without function words, as questions are matched with texts."""

from __future__ import annotations

from functools import lru_cache

FUNCTION_WORDS = frozenset((
    "of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or", "is", "are", "was", "were", "be",
    "been", "being", "did", "does", "do", "has", "have", "had", "what", "which", "who", "whom", "whose", "when",
    "where", "why", "how", "many", "much", "that", "this", "these", "those", "it", "its", "as", "than", "then",
    "there", "their", "his", "her", "he", "she", "they", "them", "name", "first"))


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A word without an English plural or verbal ending; what is left has at least three letters."""
    for end in ("ies", "es", "s", "ing", "ed"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[:-len(end)] + ("y" if end == "ies" else "")
    return word
