"""Texts that stand whole inside others: one passage cut at different places."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from canopy.corpus.minhash import normalise

MIN_WORDS = 8  # shorter texts occur inside others by chance
P = TypeVar("P", bound=Hashable)
W = TypeVar("W", bound=Hashable)


def contained_texts(parts: Mapping[P, str], wholes: Mapping[W, str]) -> Iterator[tuple[P, W]]:
    """Pairs of a part and a whole whose words hold the part's words side by side, case and punctuation aside.

    Of equal wholes only the first is given, so that thousands of copies do not give millions of pairs; every part
    is given with each of the different wholes that hold it. A whole holds itself.

    Parameters
    ----------
    parts, wholes : mapping of name to text
        A part of fewer than ``MIN_WORDS`` words is passed over.
    """
    by_anchor: dict[str, dict[str, list[P]]] = {}
    for part, text in parts.items():
        normal = normalise(text)
        words = normal.split(" ")
        if len(words) >= MIN_WORDS:
            by_anchor.setdefault(" ".join(words[:MIN_WORDS]), {}).setdefault(normal, []).append(part)
    first: dict[str, W] = {}
    for whole, text in wholes.items():
        normal = normalise(text)
        if first.setdefault(normal, whole) == whole:
            yield from ((part, whole) for part in _parts_inside(normal, by_anchor))


def _parts_inside(normal: str, by_anchor: Mapping[str, Mapping[str, list[P]]]) -> Iterator[P]:
    """The parts that a normalised text holds: those whose first words stand in it, if all that follow do too."""
    starts = [0, *(i + 1 for i, c in enumerate(normal) if c == " ")]
    ends = [*(s - 1 for s in starts[1:]), len(normal)]
    inside: dict[str, list[P]] = {}
    for start, end in zip(starts, ends[MIN_WORDS - 1:], strict=False):
        for part, names in by_anchor.get(normal[start:end], {}).items():
            after = start + len(part)
            if normal.startswith(part, start) and normal[after:after + 1] in ("", " "):
                inside[part] = names
    for names in inside.values():
        yield from names
