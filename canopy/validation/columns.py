"""Column operations that the checked tables are made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Tables = Mapping[str, pa.Table]


def count_chars(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Characters of each text without the white space around it; null counts as empty."""
    return pc.utf8_length(pc.utf8_trim_whitespace(pc.fill_null(column, "")))


def count_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Length of each list; null counts as empty."""
    return pc.fill_null(pc.list_value_length(column), 0)


def is_known(ids: pa.ChunkedArray, table: pa.Table, column: str = "id") -> pa.ChunkedArray:
    """Whether each id stands in a column of the table."""
    return pc.is_in(ids, value_set=pc.unique(table[column]))


def look_up(ids: pa.ChunkedArray, table: pa.Table, column: str, key: str = "id") -> pa.ChunkedArray:
    """The column's values for each id, null for an unknown id; of rows that share an id the first counts."""
    return pc.take(table[column], pc.index_in(ids, value_set=table[key].combine_chunks()))


def item_sizes(items: pa.Table) -> pa.Array:
    """How long each item is in its own unit (characters, rows, seconds); 0 for an image, which has no parts."""
    kinds = [pc.equal(items["modality"], m) for m in ("text", "table", "video")]
    flags = pa.StructArray.from_arrays(
        [pc.fill_null(k, False).combine_chunks() for k in kinds], names=["text", "table", "video"])
    lengths = [pc.utf8_length(pc.fill_null(items["text"], "")), count_values(items["rows"]), items["duration"]]
    return pc.case_when(flags, *[pc.cast(x, pa.float64()).combine_chunks() for x in lengths], pa.scalar(0.0))


def from_rows(columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    """A table of rows that have a value for each column."""
    return pa.Table.from_pylist([dict(zip(columns, r, strict=True)) for r in rows],
                                schema=pa.schema(list(columns.items())))
