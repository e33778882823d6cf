"""CSV and TSV files to tables, row by row, so that a huge file costs no more memory than a small one."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, TypedDict

from canopy.importing.blocks import Document
from canopy.importing.decoding import Encoding, find_encoding
from canopy.importing.row_notes import noted_rows
from canopy.importing.sheets import LOOK_AHEAD, strip_marks, table_blocks
from canopy.importing.tables import is_number, looks_like_header
from canopy.ingest.sink import Unusable

SAMPLE_CHARS = 64 << 10
_MAX_LINE = 16 << 20
_SEPARATOR = re.compile(r"\ufeff?\"?sep=([^\r\n])\"?[ \t]*(?:\r\n?|\n|$)", re.I)
_COMMENT = re.compile(r"^\s*\"?(#|//|--(?=\s)|%(?=[\s%])|;(?=[\s;])|!(?=\s))")


class Dialect(TypedDict):
    """How `csv.reader` is to read a file."""

    delimiter: str
    quotechar: str
    skipinitialspace: bool
    escapechar: str | None


def read_csv(path: Path) -> Document:
    """A .csv or .tsv file as one table; its delimiter is the one that gives the most even rows.

    Lines above the table that begin as comments do (``#``, ``//``, ``--``, ``%``, ``;``, ``!``) are its title.
    Unusable, once the bound is reached, if it has more than ``MAX_CELLS`` cells, or is broken.
    """
    document = Document(())
    encoding = find_encoding(path)
    title = ". ".join(filter(None, (strip_marks(line.strip('",; \t\r\n')) for line in _comments(path, encoding))))
    document.blocks = table_blocks(csv_rows(path, document.notes, encoding), title)
    return document


def csv_rows(path: Path, notes: list[str], encoding: Encoding | None = None) -> Iterator[list[str]]:
    """The rows of a .csv or .tsv file as they stand, without comments above them; odd ones are noted by their line.

    Unusable if it cannot be read to its end.
    """
    encoding = encoding or find_encoding(path)
    if encoding.note:
        notes.append(encoding.note)
    above = len(_comments(path, encoding))
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        for _ in range(above):
            f.readline()
        at = f.tell()
        start = f.read(SAMPLE_CHARS)
        f.seek(at)
        dialect = find_dialect(start, "\t" if path.suffix.lower() == ".tsv" else "")
        if _SEPARATOR.match(start):
            f.readline()
            above += 1
        try:
            yield from noted_rows(csv.reader(_lines(f), **dialect), notes, above)
        except csv.Error as e:
            raise Unusable(f"not a table that can be read: {e}; a quotation mark that is never closed?") from None
        except UnicodeDecodeError as e:
            raise Unusable(f"looks like {encoding.name}, but not all of it is: {str(e)[:120]}") from None


def _comments(path: Path, encoding: Encoding) -> list[str]:
    """Lines above a table that begin as comments, with empty ones between them.

    The last of them is the header instead if it has as many cells as the row below it, which is no header itself.
    """
    with open(path, encoding=encoding.name, errors=encoding.errors, newline="") as f:
        try:
            lines = f.read(SAMPLE_CHARS).lstrip("\ufeff").splitlines(keepends=True)
        except UnicodeDecodeError:
            return []
    first = next((line for line in lines if line.strip()), "")
    mark = next(iter(_COMMENT.findall(first)), "")
    if not mark:
        return []
    is_comment = [line.strip().lstrip('"').startswith(mark) for line in lines]
    count = next((n for n, line in enumerate(lines) if line.strip() and not is_comment[n]), 0)
    while count and not is_comment[count - 1]:
        count -= 1
    if not count:
        return []
    rest = [line for line in lines[count:] if line.strip()]
    dialect = find_dialect("".join(rest), "\t" if path.suffix.lower() == ".tsv" else "")
    try:
        last, *rows = csv.reader([lines[count - 1], *rest[:6]], **dialect)
    except (csv.Error, ValueError):
        return lines[:count]
    if mark == ";" and dialect["delimiter"] == ";":  # an empty first cell
        return []
    numbers = any(is_number(cell) for row in rows[1:] for cell in row)
    own = mark == "#" and len(last) == len(rows[0]) and (len(last) > 1 or count == 1) and not (
        numbers and looks_like_header(rows[0], rows[1:]))
    return lines[:count - 1] if own else lines[:count]


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise Unusable(f"a line of more than {_MAX_LINE:,} characters: not a table of rows")
        yield line.replace("\x00", "")


def find_dialect(sample: str, delimiter: str = "") -> Dialect:
    """How a table's cells are separated and quoted, from its beginning."""
    declared = _SEPARATOR.match(sample)  # Excel's own mark
    delimiter = declared[1] if declared else delimiter or find_delimiter(sample)
    mark = re.escape(delimiter)
    first = next((line for line in sample.splitlines() if line.strip()), "")
    single = re.fullmatch(rf"\s*'[^'\"]*'(?:{mark}\s*'[^'\"]*')+\s*", first)
    blank = re.search(rf"{mark} +\"[^\"\r\n]*\"\s*(?:{mark}|[\r\n]|$)", sample)
    escaped = '\\"' in sample and '""' not in sample
    return {"delimiter": delimiter, "quotechar": "'" if single else '"', "skipinitialspace": bool(blank or single),
            "escapechar": "\\" if escaped else None}


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
