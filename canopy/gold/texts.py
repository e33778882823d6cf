"""What the split compares: the words of every gold item, and of the parts of it that are gold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from canopy.corpus.duplicates import comparable
from canopy.corpus.minhash import normalise
from canopy.hierarchy.leaves import cut_item
from canopy.items import Item

TEXT_SCHEMA = pa.schema([("item_id", pa.string()), ("modality", pa.string()), ("part", pa.bool_()),
                         ("text", pa.string())])


class GoldText(NamedTuple):
    """The words of a gold item, or of a ``part`` of it that is gold."""

    item_id: str
    modality: str
    part: bool
    text: str


def gold_texts(rows: Iterable[Mapping[str, Any]], items: Mapping[str, Item],
               segment_seconds: float) -> list[GoldText]:
    """The gold items of gold rows, each whole and, for texts and tables, each run of gold fragments of it.

    Titles and headings do not count: what a passage says is the same under any of them. Of a media file the digest
    stands for the words, so that only copies match. A table's rows that repeat its header are left out: rows of years
    stand in many tables.

    Parameters
    ----------
    rows : iterable of dict
        As ``canopy.gold.fragments.map_annotations`` gives them.
    """
    texts: dict[GoldText, None] = {}
    for r in rows:
        item = items[r["item_id"]]
        texts[GoldText(item.id, item.modality, False, comparable(item))] = None
        if item.modality in ("text", "table") and len(r["fragments"]) < r["count"]:
            bounds = cut_item(item, segment_seconds).bounds
            header = set(normalise(" ".join(item.header)).split())
            for lo, hi in _runs(r["fragments"]):
                part = _part_text(item, int(bounds[lo]), int(bounds[hi]))
                if item.modality == "text" or not header.issuperset(normalise(part).split()):
                    texts[GoldText(item.id, item.modality, True, part)] = None
    return list(texts)


def _part_text(item: Item, start: int, end: int) -> str:
    if item.modality == "text":
        return item.text[start:end]
    return " ".join(" ".join(cells) for cells in item.rows[start:end])


def _runs(fragments: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Half-open runs of consecutive numbers among sorted ones."""
    starts = [n for n, f in enumerate(fragments) if not n or f > fragments[n - 1] + 1]
    for a, b in zip(starts, [*starts[1:], len(fragments)], strict=True):
        yield fragments[a], fragments[b - 1] + 1
