"""Compressed streams of a PDF file, looked at before a library unpacks them."""

from __future__ import annotations

import re
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path

from canopy.ingest.sink import Unusable

MAX_STREAM = 256 << 20
_STREAM = re.compile(rb"stream\r?\n")


def check_streams(path: Path) -> None:
    """Inflate every compressed stream without keeping it, and refuse the file if one gives more than ``MAX_STREAM``
    bytes.

    pdfminer unpacks a stream in one go: a few kilobytes could fill the memory. A stream packed twice is looked through
    as well.
    """
    if not path.stat().st_size:
        raise Unusable("the file is empty")
    with open(path, "rb") as f, mmap(f.fileno(), 0, access=ACCESS_READ) as data:
        if data.find(b"%PDF-", 0, 4096) < 0:
            raise Unusable("not a PDF file: it does not begin like one")
        for match in _STREAM.finditer(data):
            if _inflated(data, match.end()) > MAX_STREAM:
                raise Unusable(f"a stream in it unpacks to more than {MAX_STREAM >> 20} MiB: not opened")


def _inflated(data: mmap, start: int) -> int:
    """Bytes that the zlib stream at a place gives, twice packed ones fully unpacked.

    Stops soon after ``MAX_STREAM``.
    """
    if not _is_zlib(data[start:start + 2]):
        return 0
    outer, inner = zlib.decompressobj(), None
    total, at = 0, start
    try:
        while total <= MAX_STREAM and not outer.eof:
            packed = outer.unconsumed_tail or data[at:at + 65536]
            if not packed:
                break
            at += 0 if outer.unconsumed_tail else len(packed)
            piece = outer.decompress(packed, 1 << 20)
            if total == 0 and _is_zlib(piece[:2]):
                inner = zlib.decompressobj()
            total += len(piece)
            while inner is not None and piece and total <= MAX_STREAM and not inner.eof:
                total += len(inner.decompress(piece, 1 << 20))
                piece = inner.unconsumed_tail
    except zlib.error:
        pass  # damaged, or no zlib stream after all: pdfminer will say
    return total


def _is_zlib(head: bytes) -> bool:
    return len(head) == 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and int.from_bytes(head, "big") % 31 == 0
