"""When two items read the same: what a reader cannot tell apart, and what near-duplicates may never differ in."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from canopy.items import Cue, Item

# Invisible characters go. Typographic quotes and dashes become plain, the minus sign among them; primes stay, since
# they are units (6′ 2″).
_PLAIN = {ord(c): plain for chars, plain in (
    ("\u00ad\u200b\u2060\ufeff", ""), ("\u2018\u2019\u201a\u201b", "'"), ("\u201c\u201d\u201e\u201f", '"'),
    ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"), ("\u2026", "...")) for c in chars}
_WORD = re.compile(r"\w+")
_PUNCTUATION = ".,;:!?'\"()[]{}`"
_SIGNS = frozenset("%\u2030\u2031&#@*/\\\u2032\u2033\u00b7\u2022")  # punctuation by category, signs by meaning


def as_read(text: str) -> str:
    """The text with all that a reader cannot tell apart made one.

    That is white space, Unicode composition (NFC), invisible characters, typographic quotes and dashes. Case, signs,
    digits, superscripts, currencies and punctuation stay: ``-20`` is not ``20``, and ``C#`` is not ``C++``.
    """
    # What is invisible goes first: it would keep a letter and its accent apart.
    return " ".join(unicodedata.normalize("NFC", text.translate(_PLAIN)).split())


def item_as_read(item: Item) -> Item:
    """An item with every text that a reader sees as `as_read` gives it; items that read the same have equal digests."""
    return dataclasses.replace(
        item, title=as_read(item.title), section=as_read(item.section), text=as_read(item.text),
        header=tuple(map(as_read, item.header)), rows=tuple(tuple(map(as_read, row)) for row in item.rows),
        caption=as_read(item.caption), cues=_cues(item.cues), words=as_read(item.words), screen=_cues(item.screen))


def _cues(cues: Iterable[Cue]) -> tuple[Cue, ...]:
    return tuple(Cue(c.start, c.end, as_read(c.text)) for c in cues)


def words_of(text: str) -> str:
    """The words of a text joined by single blanks, compatible forms as one; case counts (US and us, MW and mW)."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text)))


def figures(text: str) -> tuple[tuple[str, str, str], ...]:
    """Every piece of a text with a digit or a sign in it, between the pieces before and after it.

    Near-duplicates must have the same ones in the same order, so that they never differ in a number, a sign, a
    currency, an exponent or a unit: the unit is in the piece (``20°C``, ``$5``) or beside it (``20 kg``, ``minus 20``).
    """
    chunks = ["", *as_read(text).split(), ""]
    pieces = [piece for before, chunk, after in zip(chunks, chunks[1:], chunks[2:], strict=False)
              if (piece := _piece(before, chunk, after))]
    edged = ["", *pieces, ""]
    return tuple((edged[n], piece, edged[n + 2]) for n, piece in enumerate(pieces) if has_figure(piece))


@lru_cache(maxsize=100_000)  # most words of a corpus are few words
def has_figure(text: str) -> bool:
    """Whether a digit, a number sign or another sign with a meaning occurs in a text."""
    return any(c in _SIGNS or unicodedata.category(c)[0] in "NS" for c in text)


def _piece(before: str, chunk: str, after: str) -> str:
    """A chunk without the punctuation around it, as far as that belongs to no number: `.5`, `6'`, `3 : 2`."""
    core = chunk.strip(_PUNCTUATION)
    if core == chunk:
        return chunk
    if not core:
        return chunk if has_figure(before) and has_figure(after) else ""
    start, end = chunk.index(core), chunk.index(core) + len(core)
    if core[0].isdigit() and chunk[:start].endswith((".", ",")):
        start -= 1
    if core[-1].isdigit() and chunk[end:].startswith(("'", '"')) and chunk[:start].count(chunk[end]) == 0:
        end += 1
    return chunk[start:end]
