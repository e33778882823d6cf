"""CSV and TSV files to tables, row by row, so that a huge file costs no more memory than a small one."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from canopy.importing.blocks import Document
from canopy.importing.decoding import Encoding, find_encoding
from canopy.importing.sheets import LOOK_AHEAD, table_blocks
from canopy.ingest.sink import Unusable

SAMPLE_CHARS = 64 << 10
_MAX_LINE = 16 << 20


def read_csv(path: Path) -> Document:
    """A .csv or .tsv file as one table; its delimiter is the one that gives the most even rows.

    Lines above the table that begin with ``#`` are its title. Unusable, once the bound is reached, if it has more than
    ``MAX_CELLS`` cells, or is broken.
    """
    document = Document(())
    encoding = find_encoding(path)
    title = ". ".join(filter(None, (line.strip("#-=*~_ \t\r\n") for line in _comments(path, encoding))))
    document.blocks = table_blocks(csv_rows(path, document.notes, encoding), title)
    return document


def csv_rows(path: Path, notes: list[str], encoding: Encoding | None = None) -> Iterator[list[str]]:
    """The rows of a .csv or .tsv file as they stand, without comments above them.

    Unusable if it cannot be read to its end.
    """
    encoding = encoding or find_encoding(path)
    if encoding.note:
        notes.append(encoding.note)
    comments = _comments(path, encoding)
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        for _ in comments:
            f.readline()
        at = f.tell()
        start = f.read(SAMPLE_CHARS)
        f.seek(at)
        delimiter = _delimiter(path, start)
        if start.lstrip("\ufeff").startswith("sep=") and len(start) > 4:  # Excel's own mark
            delimiter = start.lstrip("\ufeff")[4]
            f.readline()
        try:
            yield from csv.reader(_lines(f), delimiter=delimiter)
        except csv.Error as e:
            raise Unusable(f"not a table that can be read: {e}; a quotation mark that is never closed?") from None
        except UnicodeDecodeError as e:
            raise Unusable(f"looks like {encoding.name}, but not all of it is: {str(e)[:120]}") from None


def _delimiter(path: Path, sample: str) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else find_delimiter(sample)


def _comments(path: Path, encoding: Encoding) -> list[str]:
    """Lines above a table that begin with ``#``, with empty ones between them.

    The last of them is the header instead if it has as many cells as the row below it.
    """
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        try:
            lines = f.read(SAMPLE_CHARS).lstrip("\ufeff").splitlines(keepends=True)
        except UnicodeDecodeError:
            return []
    count = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    while count and not lines[count - 1].startswith("#"):
        count -= 1
    if not count:
        return []
    rest = [line for line in lines[count:] if line.strip()]
    delimiter = _delimiter(path, "".join(rest))
    try:
        last, first = csv.reader([lines[count - 1], rest[0]], delimiter=delimiter)
    except (csv.Error, ValueError):
        return lines[:count]
    return lines[:count - 1] if len(last) == len(first) and (len(last) > 1 or count == 1) else lines[:count]


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise Unusable(f"a line of more than {_MAX_LINE:,} characters: not a table of rows")
        yield line.replace("\x00", "")


def find_delimiter(sample: str) -> str:
    """Comma, semicolon, tab or bar.

    The one by which most of the first rows have the same number of cells, more than one.
    """
    best, choice = (0.0, 0), ","
    lines = sample.splitlines()[:LOOK_AHEAD + 1]
    lines = lines[:-1] if len(lines) > 1 and len(sample) == SAMPLE_CHARS else lines
    for delimiter in (",", ";", "\t", "|"):
        try:
            widths = Counter(len(r) for r in csv.reader(lines, delimiter=delimiter) if r)
        except csv.Error:
            continue
        width, rows = max(widths.items(), key=lambda w: (w[0] > 1, w[1], w[0]), default=(1, 0))
        if width > 1 and (rows / widths.total(), width) > best:
            best, choice = (rows / widths.total(), width), delimiter
    return choice
