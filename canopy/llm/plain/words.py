"""What the LLM-free roles see in words: content words, names, quoted strings, numbers; English, by rules, without any model."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\w+")
STOP = frozenset(_WORD.findall(
    "a an the of in on at by for to from with and or nor but is are was were be been being am do does did done has have had having who whom whose what which when "
    "where why how that this these those it its as than then both either between into during after before about over under not no so such same also there their "
    "they he she his her him them we our you your i my me us one two first out up more most other another any all each can could will would shall should may might "
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
    """A word without its commonest English ending, where at least four letters are left."""
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
    """Capitalised spans and numbers in their order: ``University of Oxford``, ``1945``, ``Kiss and Tell``.

    Tokens that begin with a capital or a digit, side by side or joined by one or two ``connecting`` words. A function word in front, such as
    the first word of a sentence, is dropped. Text without capitals has no names but its numbers.
    """
    out: list[str] = []
    span: list[str] = []
    pending: list[str] = []
    end = -1

    def close() -> None:
        while span and span[0].lower() in STOP:
            span.pop(0)
        said = " ".join(span).strip(" .,'’-&/")
        if len(said) > 2 or (said.isdigit() and len(said) > 1):
            out.append(said)
        span.clear()
        pending.clear()

    for found in _TOKEN.finditer(text):
        token, near = found.group(), text[end:found.start()].isspace() if end >= 0 else False
        end = found.end()
        if span and not near:
            close()
        if token[0].isupper() or token[0].isdigit():
            span += [*pending, token]
            pending.clear()
            if token.endswith(".") and len(token) > 3:  # the end of a sentence, not an initial
                close()
        elif span and len(pending) < 2 and token.lower() in connecting:
            pending.append(token)
        elif span:
            close()
    close()
    return tuple(dict.fromkeys(out))


def quoted(text: str) -> list[str]:
    """Strings in double quotes."""
    return [next(g for g in m.groups() if g) for m in _QUOTED.finditer(text)]


def question_entities(question: str) -> list[str]:
    """What a question names: quoted strings, capitalised spans, numbers."""
    return list(dict.fromkeys([*quoted(question), *names(question)]))
