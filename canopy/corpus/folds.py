"""What the corpus folded away: which item stands for an item that another one repeats, for node scores and for retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.items import Item, read_items, write_table

Kind = Literal["exact", "near"]
FOLDED_SCHEMA = pa.schema([("item_id", pa.string()), ("into", pa.string()), ("kind", pa.string()), ("similarity", pa.float64())])
ITEMS, NEAR, FOLDED = "items.parquet", "near.parquet", "folded.parquet"


@dataclass(frozen=True, slots=True)
class Fold:
    """An item that is left out of retrieval, and the representative ``into`` that is searched in its place.

    ``exact``: everything an encoder sees is equal. ``near``: it says the same; ``similarity`` is the Jaccard similarity of the word
    triples (1.0: equal words, or the same media file).
    """

    item_id: str
    into: str
    kind: Kind
    similarity: float


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded items by id: ``exact`` and ``near`` map each to its representative; an item in neither is a representative."""

    exact: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[str, str] = field(default_factory=dict)

    def stored(self, item_id: str) -> str:
        """The item whose nodes the node store holds for this one: equal content, equal hierarchy; near-duplicates have their own."""
        return self.exact.get(item_id, item_id)

    def searched(self, item_id: str) -> str:
        """The item that retrieval finds in place of this one."""
        return self.exact.get(item_id) or self.near.get(item_id, item_id)

    def into(self) -> dict[str, str]:
        """Every folded item and its representative."""
        return {**self.exact, **self.near}


def write_folds(folder: Path, folds: Iterable[Fold]) -> pa.Table:
    """Write ``folded.parquet``, sorted by item id."""
    return write_table(folder / FOLDED, [{"item_id": f.item_id, "into": f.into, "kind": f.kind, "similarity": f.similarity}
                                         for f in sorted(folds, key=lambda f: f.item_id)], FOLDED_SCHEMA)


def read_folded(corpus: Path) -> Folded:
    """What a corpus folded; nothing where it was written without a table of that."""
    if not (corpus / FOLDED).is_file():
        return Folded()
    exact: dict[str, str] = {}
    near: dict[str, str] = {}
    for row in pq.read_table(corpus / FOLDED, schema=FOLDED_SCHEMA).to_pylist():
        (exact if row["kind"] == "exact" else near)[row["item_id"]] = row["into"]
    return Folded(exact, near)


def read_encoded_items(corpus: Path) -> list[Item]:
    """The items that have nodes of their own: representatives, then near-duplicates, each in file order."""
    return [i for name in (ITEMS, NEAR) if name == ITEMS or (corpus / name).is_file() for i in read_items(corpus / name)]
