"""What the corpus folded away: the representative of each folded item, for node scores and for retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.items import write_table

Kind = Literal["exact", "equal", "near"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FOLDED_SCHEMA = pa.schema([
    ("item_id", pa.string()), ("into", pa.string()), ("kind", pa.string()), ("similarity", pa.float64())])
ITEMS, NEAR, FOLDED = "items.parquet", "near.parquet", "folded.parquet"


@dataclass(frozen=True, slots=True)
class Fold:
    """An item that retrieval leaves out, and the representative that stands for it.

    ``exact``: everything an encoder sees is equal. ``equal``: a reader cannot tell them apart; spacing, Unicode
    composition, typographic quotes or dashes differ. ``near``: it says the same; ``similarity`` is the Jaccard
    similarity of the word triples (1.0: equal words).
    """

    item_id: str
    representative: str
    kind: Kind
    similarity: float


@dataclass(frozen=True, slots=True)
class Folds:
    """All folds of a corpus: ``exact`` and ``near`` map each folded item's id to that of its representative.

    ``near`` holds all that are not exact: they have nodes of their own.
    An item in neither is its own representative.
    """

    exact: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[str, str] = field(default_factory=dict)

    def representative(self, item_id: str) -> str:
        """The item that retrieval finds in place of this one."""
        return self.exact.get(item_id) or self.near.get(item_id, item_id)

    def exact_representative(self, item_id: str) -> str:
        """The item whose nodes the node store has for this one: equal content, equal hierarchy.

        Near-duplicates have nodes of their own.
        """
        return self.exact.get(item_id, item_id)

    def representatives(self) -> dict[str, str]:
        """Every folded item and its representative."""
        return {**self.exact, **self.near}


def write_folds(folder: Path, folds: Iterable[Fold]) -> pa.Table:
    """Write ``folded.parquet``, sorted by item id; its column ``into`` is the representative."""
    rows = [{"item_id": f.item_id, "into": f.representative, "kind": f.kind, "similarity": f.similarity}
            for f in sorted(folds, key=lambda f: f.item_id)]
    return write_table(folder / FOLDED, rows, FOLDED_SCHEMA)


def read_folds(corpus: Path) -> Folds:
    """Read what a corpus folded; a corpus without ``folded.parquet`` folded nothing."""
    if not (corpus / FOLDED).is_file():
        return Folds()
    exact: dict[str, str] = {}
    near: dict[str, str] = {}
    for row in pq.read_table(corpus / FOLDED, schema=FOLDED_SCHEMA).to_pylist():
        (exact if row["kind"] == "exact" else near)[row["item_id"]] = row["into"]
    return Folds(exact, near)
