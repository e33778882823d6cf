"""PDF files to blocks through pdfplumber.

Running text in reading order, ruled tables as tables, pages without words as pictures.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canopy.importing.blocks import Block, Document, Picture, TableBlock, one_line
from canopy.importing.pdf_annotations import page_annotations
from canopy.importing.pdf_layout import (
    Line,
    body_size,
    heading_levels,
    page_blocks,
    page_lines,
    running_key,
    running_lines,
    shown_signs,
)
from canopy.importing.pdf_streams import check_streams
from canopy.importing.pdf_turned import by_direction, direction, turn
from canopy.importing.pdf_words import WORD_GAP, without_doubles, words_of
from canopy.importing.tables import normalise_table
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from pdfplumber.page import Page

MAX_PAGES = 5_000
MAX_OBJECTS = 200_000
_SCAN_DPI, _SCAN_SIDE = 150, 2_000
_TURNED = 100_000.0  # points down the page, for lines that are turned
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
        document.notes += _other_parts(pdf.doc.catalog)
    return document


def _other_parts(catalog: Any) -> list[str]:
    """Notes on what a file holds beside its pages: forms in XFA, other files."""
    from pdfminer.pdftypes import resolve1

    entries = catalog if isinstance(catalog, dict) else {}
    form, names = resolve1(entries.get("AcroForm")), resolve1(entries.get("Names"))
    notes = []
    if isinstance(form, dict) and resolve1(form.get("XFA")):
        notes.append("it holds a form in XFA, which is not read: only what its pages show is; print it to a PDF file")
    if isinstance(names, dict) and resolve1(names.get("EmbeddedFiles")):
        notes.append("files attached to it are not read: save them beside it")
    return notes


def _reason(error: BaseException) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return one_line(f"{type(inner).__name__}: {inner}")[:160]


def _metadata_title(metadata: Any) -> str:
    title = metadata.get("Title") if isinstance(metadata, dict) else ""
    return title if isinstance(title, str) else ""


def _blocks(pages: list[Page], path: Path, document: Document) -> Iterator[Block]:
    lines: list[list[Line]] = []
    tables: list[list[tuple[float, TableBlock]]] = []
    known: set[str] = set()
    bare = []
    for number, page in enumerate(pages, 1):
        try:
            page_tables, read = _read_page(page, number, document.notes)
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
    unreadable = [number for number, page in enumerate(lines, 1) if any("\ufffd" in line.text for line in page)]
    if unreadable:
        document.notes.append(
            f"signs that the file gives no character for stand as \ufffd on {len(unreadable)} pages, "
            f"the first: {unreadable[0]}"
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


def _read_page(page: Page, number: int, notes: list[str]) -> tuple[list[tuple[float, TableBlock]], list[Line]]:
    """A page's tables with their tops, and the lines of the words outside them."""
    if len(page.chars) + len(page.rects) + len(page.lines) + len(page.curves) > MAX_OBJECTS:
        raise Unusable(f"page {number} holds more than {MAX_OBJECTS:,} characters and lines")
    tables, boxes = [], []
    single = without_doubles(page)
    letters = by_direction(single.chars)
    straight = single if len(letters) == 1 else single.filter(
        lambda entry: entry.get("object_type") != "char" or direction(entry) == 0)
    for table in straight.find_tables():
        rows = [[shown_signs(cell or "") for cell in row] for row in table.extract(x_tolerance_ratio=WORD_GAP)]
        block = normalise_table(rows, place=f"p{number}")
        if block is None or len(block.header) < 2 or (len(list(block.rows)) < 2 and not any(block.header)):
            continue  # a frame around something
        tables.append((float(table.bbox[1]), block))
        boxes.append(table.bbox)
    written, folded = page_annotations(page)
    width, height = float(page.width), float(page.height)
    lines = page_lines([*words_of(letters[0], boxes), *written], width)
    for way, group in letters.items():  # after all that reads straight
        if way:
            side = page_lines(words_of(turn(group, way, width, height)), max(width, height))
            lines += [dataclasses.replace(line, top=line.top + _TURNED, bottom=line.bottom + _TURNED) for line in side]
    if folded:
        notes.append(f"page {number}: {len(folded)} remarks are left out, the first: {folded[0][:60]!r}")
    if slanted := "".join(str(letter["text"]) for letter in letters.get(None, ())).strip():
        notes.append(f"page {number}: slanted text is left out: {slanted[:60]!r}")
    return tables, lines


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
