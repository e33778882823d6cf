"""Items by id without holding the corpus in memory: a memory-mapped Arrow file beside the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.errors import DataError
from canopy.items import ITEM_SCHEMA, Item, item_from_row

_BATCH = 1024


def write_corpus(source: Path, target: Path) -> None:
    """Rewrite the corpus (Parquet) as an uncompressed Arrow file, in which any row is one memory access away."""
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_file(sink, ITEM_SCHEMA) as writer:
        for batch in pq.ParquetFile(source).iter_batches(batch_size=_BATCH):
            writer.write_batch(pa.RecordBatch.from_arrays(
                [batch.column(n).cast(ITEM_SCHEMA.field(n).type) for n in ITEM_SCHEMA.names], schema=ITEM_SCHEMA))


class Corpus:
    """The items of a bundle: ids in memory, everything else on disk until it is asked for."""

    def __init__(self, path: Path) -> None:
        try:
            self._table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (OSError, pa.ArrowInvalid) as e:
            raise DataError(f"{path}: not a readable corpus ({e}); export the bundle again with `canopy serve`") from None
        self._rows = {name: row for row, name in enumerate(self._table.column("id").to_pylist())}

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def unknown(self, item_ids: Iterable[str]) -> list[str]:
        """The ids that name no item."""
        return [i for i in item_ids if i not in self._rows]

    def item(self, item_id: str) -> Item:
        """One item, read from the map."""
        return item_from_row(self._table.slice(self._rows[item_id], 1).to_pylist()[0])
