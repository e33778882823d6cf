"""Items by id without holding the corpus in memory: a memory-mapped Arrow file beside the model."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.errors import DataError
from canopy.items import ITEM_SCHEMA, Item, item_from_row

_BATCH = 1024
_ALIASES = b"canopy.aliases"


def write_corpus(source: Path, target: Path, near: Path | None = None, aliases: Mapping[str, str] | None = None) -> None:
    """Rewrite the corpus (Parquet) as an uncompressed Arrow file, in which any row is one memory access away.

    Parameters
    ----------
    near : Path, optional
        Parquet file of near-duplicates: not searched, but known by id like the items of ``source``.
    aliases : mapping, optional
        Ids of exact duplicates, each to the item that has their content; kept in the file's metadata.
    """
    schema = ITEM_SCHEMA.with_metadata({_ALIASES: json.dumps(aliases, sort_keys=True)}) if aliases else ITEM_SCHEMA
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in (b for part in (source, near) if part for b in pq.ParquetFile(part).iter_batches(batch_size=_BATCH)):
            writer.write_batch(pa.RecordBatch.from_arrays(
                [batch.column(n).cast(ITEM_SCHEMA.field(n).type) for n in ITEM_SCHEMA.names], schema=schema))


class Corpus:
    """The items of a bundle: ids in memory, everything else on disk until it is asked for."""

    def __init__(self, path: Path) -> None:
        try:
            self._table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (OSError, pa.ArrowInvalid) as e:
            raise DataError(f"{path}: not a readable corpus ({e}); export the bundle again with `canopy serve`") from None
        self._rows = {name: row for row, name in enumerate(self._table.column("id").to_pylist())}
        self._aliases: dict[str, str] = json.loads((self._table.schema.metadata or {}).get(_ALIASES, b"{}"))

    def __contains__(self, item_id: str) -> bool:
        return self.held(item_id) in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def unknown(self, item_ids: Iterable[str]) -> list[str]:
        """The ids that name no item."""
        return [i for i in item_ids if i not in self]

    def held(self, item_id: str) -> str:
        """The id under which the node store has an item: its own, or that of the equal item it was folded into."""
        return self._aliases.get(item_id, item_id)

    def item(self, item_id: str) -> Item:
        """One item, read from the map, under the id that was asked for."""
        found = item_from_row(self._table.slice(self._rows[self.held(item_id)], 1).to_pylist()[0])
        return found if found.id == item_id else dataclasses.replace(found, id=item_id)
