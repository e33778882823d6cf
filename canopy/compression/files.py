"""Files as items: text files as they are, JSON Lines in the native format, documents by `canopy.importing`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from canopy.compression.sources import Source
from canopy.errors import DataError
from canopy.importing.blocks import Picture
from canopy.importing.composing import compose
from canopy.importing.decoding import read_text
from canopy.importing.media import name_words
from canopy.importing.readers import READERS
from canopy.ingest.sink import Unusable

PLAIN = frozenset({".txt", ".text", ".log", ""})
LINES = frozenset({".jsonl", ".ndjson"})


def read_files(paths: Iterable[Path]) -> tuple[list[Source], list[str]]:
    """The items of files, and notes on what is left out.

    A plain text is one item, so that spans count in the file's characters. A document (Markdown, HTML, PDF, DOCX, CSV,
    XLSX) becomes items as ``canopy import`` would make them; pictures inside it are left out.

    Raises
    ------
    DataError
        If a file cannot be read, or holds nothing to read.
    """
    items: list[Source] = []
    notes: list[str] = []
    for path in paths:
        before = len(items)
        try:
            items += _read_file(path, notes)
        except OSError as e:
            raise DataError(f"{path}: cannot be read: {e.strerror or e}") from None
        except Unusable as e:
            raise DataError(f"{path}: {e}") from None
        if len(items) == before:
            raise DataError(f"{path}: no words in it")
    return items, notes


def _read_file(path: Path, notes: list[str]) -> Iterator[Source]:
    if path.is_dir():
        raise DataError(f"{path}: a folder; name its files, or make a corpus of it with `canopy import` in a checkout")
    kind = path.suffix.lower()
    if kind in LINES:
        yield from _read_lines(path)
    elif kind in PLAIN:
        text = read_text(path, notes)
        if text.strip():
            yield {"id": path.name, "modality": "text", "text": text.replace("\x00", "")}
    elif kind in READERS:
        yield from _read_document(path, kind, notes)
    else:
        raise DataError(f"{path}: {kind} is not a kind of file that is read; these are: "
                        f"{', '.join(sorted({*READERS, *LINES, '.txt'}))}")


def _read_lines(path: Path) -> Iterator[Source]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as e:
            raise DataError(f"{path}: line {number} is not JSON: {str(e)[:120]}") from None
        if not isinstance(record, dict):
            raise DataError(f"{path}: line {number}: an object is expected, not {type(record).__name__}")
        yield {**record, "id": record.get("id") or f"{path.name}:{number}"}


def _read_document(path: Path, kind: str, notes: list[str]) -> Iterator[Source]:
    pictures = number = 0
    try:
        document = READERS[kind](path)
        for block in compose(document, name_words(path.name)):
            if isinstance(block, Picture):
                pictures += 1
                continue
            number += 1
            yield {"id": f"{path.name}#{number}", **{k: v for k, v in block.items() if k != "place"}}
    except (DataError, Unusable, OSError):
        raise
    except Exception as e:  # whatever a reader of foreign files raises
        reason = " ".join(str(e).split())[:160]
        raise DataError(f"{path}: cannot be read as {kind}: {type(e).__name__}: {reason}") from None
    notes += [f"{path}: {note}" for note in document.notes]
    if pictures:
        notes.append(f"{path}: {pictures} pictures are left out")
