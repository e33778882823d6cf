"""PDF files to blocks through pdfplumber.

Running text in reading order, ruled tables as tables, pages without words as pictures.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canopy.importing.blocks import Block, Document, Picture, TableBlock, one_line
from canopy.importing.pdf_layout import (
    Line,
    body_size,
    heading_levels,
    page_blocks,
    page_lines,
    running_key,
    running_lines,
)
from canopy.importing.tables import normalise_table
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from pdfplumber.page import Page

MAX_PAGES = 5_000
MAX_STREAM = 256 << 20
MAX_OBJECTS = 200_000
_SCAN_DPI, _SCAN_SIDE = 150, 2_000
# A gap of this share of the type's size parts two words. pdfplumber's own 3 points glue all words of documents that
# hold no blanks.
_WORD_GAP = 0.15
_STREAM = re.compile(rb"stream\r?\n")
# Titles that programs leave behind.
_NO_TITLE = re.compile(
    r"\.(docx?|pdf|indd|tex|xlsx?|pptx?|rtf|odt)$|^(untitled|microsoft word|document\d*|slide \d+)\b", re.I
)


def read_pdf(path: Path) -> Document:
    """A .pdf file.

    Headings are lines of larger type; the words of a table that pdfplumber finds (drawn lines) are in the table only.
    Headers and footers that repeat from page to page are left out, with a note. A page without words is kept as a
    picture, whose words ingestion reads (`ingest.ocr`).

    Raises
    ------
    Unusable
        If the file is broken, wants a password, or a stream in it unpacks to too much.
    """
    import logging

    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfplumber.utils.exceptions import PdfminerException

    check_streams(path)
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # its warnings are about how PDF files are written
    document = Document(())
    try:
        pdf = pdfplumber.open(path)
    except PdfminerException as e:
        if isinstance(e.args[0] if e.args else None, PDFPasswordIncorrect):
            raise Unusable("encrypted: it opens with a password only; save it without one") from None
        raise Unusable(f"not a PDF file that can be read: {_reason(e)}; is the file complete?") from None
    with pdf:
        if len(pdf.pages) > MAX_PAGES:
            raise Unusable(f"{len(pdf.pages):,} pages; at most {MAX_PAGES:,}: split it")
        title = one_line(_metadata_title(pdf.metadata))
        document.title = "" if _NO_TITLE.search(title) else title[:300]
        document.blocks = list(_blocks(pdf.pages, path, document))
    return document


def _reason(error: BaseException) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return one_line(f"{type(inner).__name__}: {inner}")[:160]


def _metadata_title(metadata: Any) -> str:
    title = metadata.get("Title") if isinstance(metadata, dict) else ""
    return title if isinstance(title, str) else ""


def check_streams(path: Path) -> None:
    """Inflate every compressed stream without keeping it, and refuse the file where one gives more than ``MAX_STREAM``
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


def _blocks(pages: list[Page], path: Path, document: Document) -> Iterator[Block]:
    lines: list[list[Line]] = []
    tables: list[list[tuple[float, TableBlock]]] = []
    known: set[str] = set()
    bare = []
    for number, page in enumerate(pages, 1):
        try:
            page_tables, read = _read_page(page, number)
            if _is_scan(page, read, page_tables):
                bare.append(number)
        finally:
            page.close()  # forgets what was parsed; else every page stays in memory
        known.update(w.lower() for line in read for w in re.findall(r"[^\W\d_]+", line.text))
        lines.append(read)
        tables.append(page_tables)
    running = running_lines(lines)
    kept = [[line for line in page if running_key(line) not in running] for page in lines]
    if running:
        document.notes.append(
            f"left out {sum(map(len, lines)) - sum(map(len, kept))} repeated header and footer lines, such as "
            f"{next(line.text for page in lines for line in page if running_key(line) in running)[:60]!r}"
        )
    levels = heading_levels(kept, body_size(kept))
    for number, (page, page_tables) in enumerate(zip(kept, tables, strict=True), 1):
        yield from _merge(page_blocks(page, levels, known, f"p{number}"), page_tables)
        if number in bare:
            yield from _page_picture(path, number, document)


def _merge(texts: list[tuple[float, Block]], tables: list[tuple[float, TableBlock]]) -> Iterator[Block]:
    """Tables between the texts, each before the first text below it that no text above it follows (columns keep
    their order)."""
    waiting = sorted(tables, key=lambda t: t[0])
    for i, (top, block) in enumerate(texts):
        while waiting and top > waiting[0][0] and all(t > waiting[0][0] for t, _ in texts[i:]):
            yield waiting.pop(0)[1]
        yield block
    yield from (table for _, table in waiting)


def _read_page(page: Page, number: int) -> tuple[list[tuple[float, TableBlock]], list[Line]]:
    """A page's tables with their tops, and the lines of the words outside them."""
    if len(page.chars) + len(page.rects) + len(page.lines) + len(page.curves) > MAX_OBJECTS:
        raise Unusable(f"page {number} holds more than {MAX_OBJECTS:,} characters and lines")
    tables, boxes = [], []
    for table in page.find_tables():
        block = normalise_table(table.extract(x_tolerance_ratio=_WORD_GAP), place=f"p{number}")
        if block is None or len(block.header) < 2 or (len(list(block.rows)) < 2 and not any(block.header)):
            continue  # a frame around something
        tables.append((float(table.bbox[1]), block))
        boxes.append(table.bbox)
    words = [
        {**w, "size": w["chars"][0]["size"]}
        for w in page.extract_words(return_chars=True, x_tolerance_ratio=_WORD_GAP)
        if not any(
            x0 <= (w["x0"] + w["x1"]) / 2 <= x1 and y0 <= (w["top"] + w["bottom"]) / 2 <= y1 for x0, y0, x1, y1 in boxes
        )
    ]
    return tables, page_lines(words, float(page.width))


def _is_scan(page: Page, lines: list[Line], tables: list[tuple[float, TableBlock]]) -> bool:
    """Whether a page is to be kept as a picture.

    It has no words, or hardly any (a stamp, a page number) on one large image.
    """
    if tables or sum(len(line.text) for line in lines) > 100:
        return False
    covered = max((float(i["width"]) * float(i["height"]) for i in page.images), default=0.0)
    return not lines or covered > 0.6 * float(page.width) * float(page.height)


def _page_picture(path: Path, number: int, document: Document) -> Iterator[Picture]:
    """A page drawn as a grey PNG of bounded size; nothing if it is blank, a note if it cannot be drawn."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(str(path))
        try:
            page = pdf[number - 1]
            image = (
                page.render(scale=min(_SCAN_DPI / 72, _SCAN_SIDE / max(1.0, *page.get_size()))).to_pil().convert("L")
            )
        finally:
            pdf.close()
    except (pypdfium2.PdfiumError, ValueError, OSError, MemoryError) as e:
        document.notes.append(f"page {number} has no words and cannot be drawn: {one_line(str(e))[:80]}")
        return
    low, high = image.getextrema()
    if high - low >= 16:
        stream = io.BytesIO()
        image.save(stream, "PNG")
        yield Picture(stream.getvalue(), ".png", f"page {number}", f"p{number}")
