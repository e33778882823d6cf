"""CSV and TSV files to tables, row by row, so that a huge file costs no more memory than a small one."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from canopy.importing.blocks import Document
from canopy.importing.decoding import find_encoding
from canopy.importing.sheets import LOOK_AHEAD, table_blocks
from canopy.ingest.sink import Unusable

_MAX_LINE = 16 << 20


def read_csv(path: Path) -> Document:
    """A .csv or .tsv file as one table; its delimiter is the one that gives the most even rows.

    Unusable, once the bound is reached, where it has more than ``MAX_CELLS`` cells, or is broken.
    """
    document = Document(())
    document.blocks = table_blocks(csv_rows(path, document.notes))
    return document


def csv_rows(path: Path, notes: list[str]) -> Iterator[list[str]]:
    """The rows of a .csv or .tsv file as they stand. Unusable where it cannot be read to its end."""
    encoding = find_encoding(path)
    if encoding.note:
        notes.append(encoding.note)
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        start = f.read(64 << 10)
        f.seek(0)
        delimiter = "\t" if path.suffix.lower() == ".tsv" else find_delimiter(start)
        if start.lstrip("\ufeff").startswith("sep=") and len(start) > 4:  # Excel's own mark
            delimiter = start.lstrip("\ufeff")[4]
            f.readline()
        try:
            yield from csv.reader(_lines(f), delimiter=delimiter)
        except csv.Error as e:
            raise Unusable(f"not a table that can be read: {e}; a quotation mark that is never closed?") from None
        except UnicodeDecodeError as e:
            raise Unusable(f"looks like {encoding.name}, but not all of it is: {str(e)[:120]}") from None


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
    lines = lines[:-1] if len(lines) > 1 and len(sample) == 64 << 10 else lines
    for delimiter in (",", ";", "\t", "|"):
        try:
            widths = Counter(len(r) for r in csv.reader(lines, delimiter=delimiter) if r)
        except csv.Error:
            continue
        width, rows = max(widths.items(), key=lambda w: (w[0] > 1, w[1], w[0]), default=(1, 0))
        if width > 1 and (rows / widths.total(), width) > best:
            best, choice = (rows / widths.total(), width), delimiter
    return choice
