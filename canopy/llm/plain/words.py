"""What the LLM-free roles see in words: content words, names, quoted strings, numbers.

English, by rules, without any model.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\w+")
STOP = frozenset(_WORD.findall(
    "a an the of in on at by for to from with and or nor but is are was were be been being am do does did done has "
    "have had having who whom whose what which when "
    "where why how that this these those it its as than then both either between into during after before about over "
    "under not no so such same also there their "
    "they he she his her him them we our you your i my me us one two first out up more most other another any all each "
    "can could will would shall should may might "
    "must s t named called name"))
OF = frozenset({"&", *_WORD.findall("of the de la le du di da del der den von van y")})
CONNECTING = OF | {"and", "in", "for", "on", "at", "to"}
_TOKEN = re.compile(r"[^\W_](?:[\w'’.&/-]*\w)?\.?", re.UNICODE)
_QUOTED = re.compile(r"\"([^\"\n]{2,120})\"|“([^”\n]{2,120})”|``([^'`\n]{2,120})''")
_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ers", "ors", "est", "es", "ed", "er", "or", "ly", "s")
NUMBER = re.compile(r"[$€£¥]?\d[\d,]*(?:\.\d+)?(?:\s?%)?")


def words(text: str) -> list[str]:
    """Words in lower case, in order."""
    return _WORD.findall(text.lower())


def stem(word: str) -> str:
    """A word without its commonest English ending, if at least four letters are left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[:-len(ending)]
    return word


@lru_cache(maxsize=100_000)
def content(text: str) -> frozenset[str]:
    """Stems of a text's words that are no function words."""
    return frozenset(stem(w) for w in words(text) if w not in STOP)


def bare_title(title: str) -> str:
    """A title without what tells it from others in brackets: ``Mercury (planet)`` is ``Mercury``."""
    return re.sub(r"\s*\([^()]*\)\s*$", "", title).strip()


@lru_cache(maxsize=100_000)
def names(text: str, connecting: frozenset[str] = CONNECTING) -> tuple[str, ...]:
    """Capitalised spans and numbers in their order, each once.

    ``University of Oxford``, ``1945``, ``Kiss and Tell``.
    """
    return tuple(dict.fromkeys(name for name, _ in name_spans(text, connecting)))


def name_spans(text: str, connecting: frozenset[str]) -> list[tuple[str, int]]:
    """Names with where they begin.

    Tokens that begin with a capital or a digit, side by side or joined by one or two ``connecting`` words (``the``
    alone joins no number). A function word that begins the text or a sentence is dropped. Text without capitals has no
    names but its numbers. White space inside a name becomes one space.
    """
    out: list[tuple[str, int]] = []
    span: list[tuple[str, int]] = []
    pending: list[tuple[str, int]] = []
    end, opening = -1, True  # opening: the span begins the text or a sentence

    def close() -> None:
        while opening and span and span[0][0].lower() in STOP:
            span.pop(0)
        name = " ".join(token for token, _ in span).rstrip(" .,'’-&/")
        if len(name) > 2 or (name.isdigit() and len(name) > 1):
            out.append((name, span[0][1]))
        span.clear()
        pending.clear()

    for match in _TOKEN.finditer(text):
        token, start = match.group(), match.start()
        if span and not text[end:start].isspace():
            close()
        end = match.end()
        if token[0].isupper() or token[0].isdigit():
            if [t for t, _ in pending] == ["the"] and span[-1][0][0].isdigit():
                close()
            if not span:
                before = text[max(0, start - 8):start].rstrip(" \t\"“('’`")
                opening = before[-1:] in ".!?:\n" if before else start < 8
            span += [*pending, (token, start)]
            pending.clear()
            if token.endswith(".") and len(token) > 3:  # the end of a sentence, not an initial
                close()
        elif span and len(pending) < 2 and token.lower() in connecting:
            pending.append((token, start))
        elif span:
            close()
    close()
    return out


def quoted(text: str) -> list[str]:
    """Strings in double quotes."""
    return [next(g for g in m.groups() if g) for m in _QUOTED.finditer(text)]


def question_entities(question: str) -> list[str]:
    """What a question names: quoted strings, capitalised spans, numbers."""
    return list(dict.fromkeys([*quoted(question), *names(question, OF)]))
