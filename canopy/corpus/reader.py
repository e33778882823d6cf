"""The corpus: its items by id, made of their rows on demand, and the representative of each folded item."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.corpus.folds import ITEMS, NEAR, Folds, read_folds
from canopy.corpus.packing import map_packed
from canopy.items import ITEM_SCHEMA, Item, item_from_row

_BATCH = 1024
_CACHED_ITEMS = 50_000


class Corpus(Mapping[str, Item]):
    """Items by id over one Arrow table; only ids and the items last asked for are Python objects.

    Parameters
    ----------
    table : pa.Table
        The items with nodes of their own: representatives, then near-duplicates.
    folds : Folds
        What was folded. An exact duplicate is known too: it is its representative under its own id.
    others : mapping, optional
        Further items by id, such as exact duplicates as their own benchmark has them (with their own media file).
    cached_items : int
        How many items to keep once they are made.
    """

    def __init__(self, table: pa.Table, folds: Folds, others: Mapping[str, Item] | None = None,
                 cached_items: int = _CACHED_ITEMS) -> None:
        self._table, self.folds, self._others = table, folds, others or {}
        self.ids: list[str] = table.column("id").to_pylist()
        self._row = {i: n for n, i in enumerate(self.ids)}
        self._cache: dict[str, Item] = {}
        self._cached_items = cached_items

    @classmethod
    def open(cls, folder: Path, others: Mapping[str, Item] | None = None) -> Corpus:
        """Open the output of the stage ``corpus``."""
        parts = [pq.read_table(folder / name, schema=ITEM_SCHEMA)
                 for name in (ITEMS, NEAR) if name == ITEMS or (folder / name).is_file()]
        return cls(pa.concat_tables(parts).combine_chunks(), read_folds(folder), others)

    @classmethod
    def open_packed(cls, path: Path) -> Corpus:
        """Open the corpus of a bundle, mapped into memory; no item is kept.

        Raises
        ------
        DataError
            If the file is missing or no packed corpus.
        """
        table, exact = map_packed(path)
        return cls(table, Folds(exact), cached_items=0)

    def __getitem__(self, item_id: str) -> Item:
        item = self._cache.get(item_id)
        if item is None:
            item = self._make(item_id)
            if len(self._cache) >= self._cached_items:
                self._cache.clear()
            if self._cached_items:
                self._cache[item_id] = item
        return item

    def _make(self, item_id: str) -> Item:
        if item_id not in self._row and item_id in self._others:
            return self._others[item_id]
        row = self._row[self.folds.exact_representative(item_id)]
        item = item_from_row(self._table.slice(row, 1).to_pylist()[0])
        return item if item.id == item_id else dataclasses.replace(item, id=item_id)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._row or item_id in self._others or self.folds.exact.get(str(item_id)) in self._row

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self.ids, *self._others, *(i for i in self.folds.exact if i in self)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def unknown(self, item_ids: Iterable[str]) -> list[str]:
        """The ids that name no item."""
        return [i for i in item_ids if i not in self]

    def encoded_items(self) -> Iterator[Item]:
        """The items with nodes of their own, in file order: representatives, then near-duplicates."""
        for batch in self._table.to_batches(max_chunksize=_BATCH):
            yield from map(item_from_row, batch.to_pylist())

    def modalities(self, ids: Sequence[str]) -> np.ndarray:
        """The modality of each item that has a row, as str, shape (len(ids),)."""
        column = self._table["modality"].to_pylist()
        return np.array([column[self._row[i]] for i in ids], dtype=str)
