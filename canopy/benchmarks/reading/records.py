"""Reading release files whose container varies.

JSON lists, JSON Lines, compressed or not, Parquet, and copies of one file in several folders.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from canopy.benchmarks.reading.mirrors import publishers_shape
from canopy.errors import DataError
from canopy.ingest.fields import text_of
from canopy.ingest.files import iterate_jsonl, load_json_list
from canopy.ingest.sink import Sink, Unusable

Record = dict[str, Any]  # a JSON object as published, its shape not yet checked
# Splits that no training or test side is made of by name: what a release holds back has no gold, and its own test file
# may share gold with train.
BLIND, HELD_OUT = "blind test", "annotated test"


def distinct_files(paths: Iterable[Path], sink: Sink) -> list[Path]:
    """One path a file name, the first given; a note names the copies, which people keep of a release (``data``,
    ``data_ids``).

    Names that end in neither .json, .jsonl, .jsonl.gz nor .parquet (a download that has not finished) are left out with
    a note.
    """
    kept: dict[str, Path] = {}
    for path in dict.fromkeys(paths):  # one file may be known under two roles
        if not path.name.endswith((".json", ".jsonl", ".jsonl.gz", ".parquet")):
            sink.notes.append(f"{path.name}: not read: neither .json, .jsonl, .jsonl.gz nor .parquet")
        elif path.name.removesuffix(".gz") in kept:
            sink.notes.append(f"{path}: not read: {kept[path.name.removesuffix('.gz')]} has the same name")
        else:
            kept[path.name.removesuffix(".gz")] = path
    return list(kept.values())


def iterate_records(path: Path, sink: Sink, holds: str = "question") -> Iterator[tuple[str, Any]]:
    """Records of a file with their place: a JSON list (``record N``, from 0), JSON Lines (``line N``, from 1), whatever
    its name ends in, or Parquet. Records of mirrors come in their publisher's shape
    (`canopy.benchmarks.reading.mirrors`).

    ``holds``: a field of every record, which tells a line of a .json file from any other object.

    Raises
    ------
    DataError
        If the whole file is broken or holds neither.
    """
    records: Iterable[tuple[str, Any]]
    if path.suffix == ".parquet":
        records = ((f"row {n}", r) for n, r in enumerate(_parquet(path)))
    elif path.suffix == ".json" and not _is_lines(path, holds):
        records = ((f"record {n}", r) for n, r in enumerate(load_json_list(path)))
    else:
        records = iterate_jsonl(path, sink)
    yield from ((place, publishers_shape(record)) for place, record in records)


def _is_lines(path: Path, holds: str) -> bool:
    """Whether a .json file is JSON Lines in truth: its first line is an object with that field."""
    try:
        with open(path, "rb") as f:
            first = f.readline(1 << 24).removeprefix(b"\xef\xbb\xbf")
        record = json.loads(first) if first.lstrip().startswith(b"{") else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(record, dict) and holds in record


def _parquet(path: Path) -> Iterator[Record]:
    """Rows of a Parquet file, as mirrors publish them.

    Few at a time, since a small file can say a long string a million times.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=64):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as e:
        raise DataError(f"{path}: not a Parquet file that can be read: {str(e)[:160]}; download it again") from None


def given_id(record: Any, *fields: str) -> str:
    """A record's own id, the first of the fields that holds a string or a whole number; "" if none does."""
    for name in fields:
        value = record.get(name) if isinstance(record, dict) else None
        if isinstance(value, str) and value.strip() and "\x00" not in value:
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def object_of(record: Any, what: str = "a record") -> Record:
    """A JSON object; Unusable if it is something else."""
    if not isinstance(record, dict):
        raise Unusable(f"{what} must be an object, not {type(record).__name__}")
    return record


def list_of(value: Any, what: str) -> list[Any]:
    """A JSON list, empty for null; Unusable if it is something else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unusable(f"{what} must be a list, not {type(value).__name__}")
    return value


def pair_of(value: Any, what: str) -> tuple[Any, Any]:
    """A JSON list of two; Unusable if it is something else."""
    if not isinstance(value, list) or len(value) != 2:
        raise Unusable(f"{what} must be a list of two, not {str(value)[:60]!r}")
    return value[0], value[1]


def pairs_of(firsts: Any, seconds: Any, what: str) -> list[tuple[Any, Any]]:
    """Two JSON lists of equal length as pairs; Unusable if they are something else."""
    left, right = list_of(firsts, what), list_of(seconds, what)
    if len(left) != len(right):
        raise Unusable(f"{what} must be lists of equal length, not of {len(left)} and {len(right)}")
    return list(zip(left, right, strict=True))


def strings_of(value: Any, what: str) -> tuple[str, ...]:
    """A list of strings, or one string, without repeats and blanks, in order; Unusable if it is something else."""
    texts = [value] if isinstance(value, str) else list_of(value, what)
    return tuple(dict.fromkeys(t for t in (text_of(x, what, empty=True) for x in texts) if t.strip()))
