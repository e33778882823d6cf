"""The corpus as one uncompressed Arrow file, in which any row is one memory access away: what a bundle takes along."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.errors import DataError
from canopy.items import ITEM_SCHEMA

_BATCH = 1024
# Key of the schema's metadata under which the ids of exact duplicates stand, each with its representative.
_EXACT = b"canopy.aliases"


def pack_corpus(source: Path, target: Path, near: Path | None = None, exact: Mapping[str, str] | None = None) -> None:
    """Rewrite the corpus (Parquet) as an uncompressed Arrow file.

    Parameters
    ----------
    near : Path, optional
        Parquet file of near-duplicates: not searched, but known by id like the items of ``source``.
    exact : mapping, optional
        Ids of exact duplicates, each with its representative's; they go into the file's metadata.
    """
    schema = ITEM_SCHEMA.with_metadata({_EXACT: json.dumps(exact, sort_keys=True)}) if exact else ITEM_SCHEMA
    with pa.OSFile(str(target), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in (b for part in (source, near) if part
                      for b in pq.ParquetFile(part).iter_batches(batch_size=_BATCH)):
            columns = [batch.column(n).cast(ITEM_SCHEMA.field(n).type) for n in ITEM_SCHEMA.names]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def map_packed(path: Path) -> tuple[pa.Table, dict[str, str]]:
    """The table of a packed corpus, mapped into memory, and its exact duplicates with their representatives.

    Raises
    ------
    DataError
        If the file is missing or no packed corpus.
    """
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as e:
        raise DataError(f"{path}: not a readable corpus ({e}); export the bundle again with `canopy serve`") from None
    return table, json.loads((table.schema.metadata or {}).get(_EXACT, b"{}"))
