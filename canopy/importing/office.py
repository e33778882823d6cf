"""Word documents (.docx) to blocks, from their XML.

Also what python-docx's paragraphs leave out (content controls, text boxes, notes).
"""

from __future__ import annotations

import email
import email.policy
import io
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from canopy.importing.archives import check_office_file
from canopy.importing.blocks import Block, Document, Heading, Paragraph, Picture, clean, one_line
from canopy.importing.decoding import decode_bytes
from canopy.importing.html import fragment_blocks
from canopy.importing.media import IMAGES
from canopy.importing.tables import Cell, expand_spans, normalise_table
from canopy.importing.word_lists import ListNumbers
from canopy.importing.word_xml import WORD, form_field, formula, is_on, property_value, run_words, style_level, symbol
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_BLIP = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_OLD_PICTURE = "{urn:schemas-microsoft-com:vml}imagedata"
_WORDS = f"{WORD}t"
_FORMULA = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_DEPTH = 3  # of documents that are included in one another
_DRAWING_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
# Deleted text of tracked changes, field codes, and the second copy of a drawing for old programs.
_UNSEEN = frozenset({f"{WORD}del", f"{WORD}moveFrom", f"{WORD}instrText", f"{WORD}delText", _FALLBACK})
_AS_TEXT = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}


def read_docx(path: Path) -> Document:
    """A .docx file: headings by style or outline level, paragraphs, tables, text boxes where they are anchored, foot-
    and endnotes last.

    Pictures inside are taken out if they are of a kind that is imported; others are counted in a note. Page headers,
    footers, comments, and hidden and struck-out words are left out with a note.

    Raises
    ------
    Unusable
        If the file is broken, encrypted, or would unpack to too much.
    """
    import docx
    from docx.opc.exceptions import PackageNotFoundError
    from lxml.etree import XMLSyntaxError

    check_office_file(path, "word")
    try:
        word = docx.Document(str(path))
    except (PackageNotFoundError, KeyError, ValueError, XMLSyntaxError) as e:
        raise Unusable(f"not a Word document that can be read: {str(e)[:120]}") from None
    document = Document(())
    document.blocks = blocks = list(_Reader(word, document).blocks())
    title = one_line(word.core_properties.title or "")
    # python-docx says "Word Document" if there are no properties at all; and templates leave their titles behind.
    if title != "Word Document" and not any(isinstance(b, Heading) and b.level == 1 for b in blocks[:10]):
        document.title = title
    return document


def _web_archive(data: bytes) -> str:
    """The page in a web archive (MHTML)."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    page = message.get_body(("html", "plain"))
    return str(page.get_content()) if page is not None else ""


class _Reader:
    """Walks a document's body; knows the levels of its styles and collects the pictures on the way."""

    def __init__(self, word: WordDocument, document: Document, depth: int = 0) -> None:
        self.word, self.document, self.depth = word, document, depth
        self.numbers = ListNumbers(word)
        self.levels = {s.style_id: level for s in word.styles if (level := style_level(s)) is not None}
        self.pictures: list[Picture] = []
        self.other = self.hidden = 0

    def blocks(self) -> Iterator[Block]:
        """The body's blocks in order, then the notes'; what was left out goes to the document's notes."""
        yield from self._content(self.word.element.body)
        for kind in ("footnote", "endnote"):
            notes = [Paragraph(t) for t in self._notes(kind) if t.strip()]
            if notes:
                yield Heading(1, f"{kind.capitalize()}s")
                yield from notes
        if self.document.struck_out and not self.depth:
            self.document.notes.append(f"{self.document.struck_out} struck-out passages are left out")
        if self.hidden:
            self.document.notes.append(f"{self.hidden} hidden passages are left out")
        self.document.notes += self._left_out_parts()
        if self.other:
            self.document.notes.append(
                f"{self.other} pictures inside it are of a kind that is not imported (drawings, charts, EMF, WMF)"
            )

    def _content(self, holder: Any) -> Iterator[Block]:
        """Paragraphs and tables in order, through content controls and tracked insertions."""
        for element in holder:
            if element.tag == f"{WORD}p":
                yield from self._paragraph(element)
            elif element.tag == f"{WORD}tbl":
                table = self._table(element)
                if table:
                    yield table
                yield from self._take_pictures()
            elif element.tag == f"{WORD}altChunk":
                yield from self._included(element)
            elif element.tag not in _UNSEEN and element.tag not in (f"{WORD}sectPr", f"{WORD}tcPr"):
                yield from self._content(element)

    def _included(self, element: Any) -> Iterator[Block]:
        """A document included as a file of its own: web pages and plain text are read, other kinds are noted."""
        part = self.word.part.related_parts.get(element.get(f"{_RELATIONS}id"))
        suffix = PurePosixPath(str(part.partname)).suffix.lower() if part is not None else ""
        if part is not None and suffix == ".docx" and self.depth < _DEPTH:
            yield from self._included_word(part.blob)
            return
        if part is None or suffix not in (".html", ".htm", ".xhtml", ".txt", ".mht", ".mhtml"):
            self.document.notes.append(f"a document included in it is not read ({suffix or 'its file is missing'}): "
                                       "open and save the whole in Word")
            return
        text = _web_archive(part.blob) if suffix in (".mht", ".mhtml") else decode_bytes(part.blob,
                                                                                         self.document.notes)
        if not text.strip():
            self.document.notes.append(f"a document included in it has no words that can be read ({suffix})")
        elif suffix == ".txt":
            yield from (Paragraph(p) for p in re.split(r"\n[ \t]*\n", clean(text)))
        else:
            yield from fragment_blocks(text, self.document)

    def _included_word(self, data: bytes) -> Iterator[Block]:
        import docx

        try:
            word = docx.Document(io.BytesIO(data))
        except Exception as e:  # whatever a damaged archive raises
            self.document.notes.append(f"a document included in it cannot be read: {one_line(str(e))[:80]}")
            return
        yield from _Reader(word, self.document, self.depth + 1).blocks()

    def _left_out_parts(self) -> Iterator[str]:
        """Notes on words in page headers, footers and comments."""
        for kind in ("header", "footer", "comment"):
            parts = [r.target_part for r in self.word.part.rels.values()
                     if not r.is_external and r.reltype.endswith((f"/{kind}", f"/{kind}s"))]
            words = sum(bool(re.search(rb"<w:t[ >][^<]*>?[^<]*\S", p.blob)) for p in parts)
            if words:
                yield f"its {'comments' if kind == 'comment' else f'page {kind}s'} are left out"

    def _paragraph(self, element: Any) -> Iterator[Block]:
        text, boxes = self._words(element)
        level = self._level(element)
        marker = self.numbers.marker(element, bool(level))
        if text.strip():
            text = marker + text.lstrip() if marker else text
            yield Heading(level, text) if level and "\n" not in text.strip() else Paragraph(text)
        yield from self._take_pictures()
        for box in boxes:
            yield from self._content(box)

    def _take_pictures(self) -> Iterator[Picture]:
        yield from self.pictures
        self.pictures = []

    def _level(self, element: Any) -> int | None:
        """The heading level of a paragraph: its own outline level, otherwise its style's."""
        outline = element.find(f"{WORD}pPr/{WORD}outlineLvl")
        if outline is not None and (outline.get(f"{WORD}val") or "").isdecimal():
            value = int(outline.get(f"{WORD}val"))
            return value + 1 if value < 9 else None
        style = element.find(f"{WORD}pPr/{WORD}pStyle")
        return self.levels.get(style.get(f"{WORD}val")) if style is not None else None

    def _words(self, element: Any) -> tuple[str, list[Any]]:
        """A paragraph's words and the text boxes anchored in it; its pictures are taken out on the way."""
        words: list[str] = []
        boxes: list[Any] = []
        stack = list(reversed(element))
        while stack:
            node = stack.pop()
            if node.tag in _UNSEEN:
                continue
            if node.tag == f"{WORD}txbxContent":
                boxes.append(node)
                continue
            if node.tag == f"{WORD}r" and is_on(node, "strike", "dstrike", "vanish"):
                if any((t.text or "").strip() for t in node.iter(_WORDS)):
                    hidden = is_on(node, "vanish")
                    self.hidden += hidden
                    self.document.struck_out += not hidden
                continue
            if node.tag == _FORMULA:
                words.append(formula(node))
                continue
            if node.tag == f"{WORD}rt":
                words.append(f"({''.join(t.text or '' for t in node.iter(_WORDS))})")
                continue
            if node.tag == _WORDS:
                words.append(run_words(node))
            elif node.tag == f"{WORD}sym":
                words.append(symbol(node))
            elif value := form_field(node):
                words.append(value)
            elif node.tag in _AS_TEXT and node.getparent().tag == f"{WORD}r":
                words.append(_AS_TEXT[node.tag])
            elif node.tag in (f"{WORD}drawing", f"{WORD}pict"):
                self._picture(node)
            stack.extend(node if node.tag == f"{WORD}ruby" else reversed(node))  # its base stands after its reading
        return "".join(words), boxes

    def _picture(self, drawing: Any) -> None:
        properties = next(drawing.iter(_DRAWING_PROPERTIES), None)
        alt = one_line((properties.get("descr") or properties.get("title") or "") if properties is not None else "")
        keys = [b.get(f"{_RELATIONS}embed") for b in drawing.iter(_BLIP)] + [
            b.get(f"{_RELATIONS}id") for b in drawing.iter(_OLD_PICTURE)
        ]
        self.other += not keys and next(drawing.iter(f"{WORD}txbxContent"), None) is None
        for key in keys:
            part = self.word.part.related_parts.get(key) if key else None
            suffix = PurePosixPath(str(part.partname)).suffix.lower() if part is not None else ""
            if part is None or suffix not in IMAGES:
                self.other += 1
            else:
                self.pictures.append(Picture(part.blob, suffix, alt))

    def _table(self, element: Any) -> Block | None:
        """A table with merged cells filled in; a table inside a cell becomes part of the cell's words."""
        lines: list[list[Cell]] = []
        open_cells: dict[int, tuple[int, int]] = {}  # column -> place in ``lines`` of the cell that goes on downwards
        heads = 0
        for row in element.iter(f"{WORD}tr"):
            if next(a for a in row.iterancestors(f"{WORD}tbl")) is not element:
                continue
            if heads == len(lines) and row.find(f"{WORD}trPr/{WORD}tblHeader") is not None:
                heads += 1
            line: list[Cell] = []
            at = int(property_value(row, "trPr/gridBefore") or 0)
            line += [Cell("")] * at
            for cell in row.iter(f"{WORD}tc"):
                if next(a for a in cell.iterancestors(f"{WORD}tr")) is not row:
                    continue
                span = min(max(1, int(property_value(cell, "tcPr/gridSpan") or 1)), 1000)
                merge = cell.find(f"{WORD}tcPr/{WORD}vMerge")
                if merge is not None and merge.get(f"{WORD}val") != "restart" and at in open_cells:
                    y, x = open_cells[at]
                    line.append(Cell(lines[y][x].text, span))
                else:
                    line.append(Cell(self._cell_words(cell), span))
                    open_cells.pop(at, None)
                    if merge is not None:
                        open_cells[at] = (len(lines), len(line) - 1)
                at += span
            lines.append(line)
        return normalise_table(expand_spans(lines), heads or None)

    def _cell_words(self, cell: Any) -> str:
        words = []
        for paragraph in cell.iter(f"{WORD}p"):
            if not any(
                a.tag in _UNSEEN or a.tag == f"{WORD}txbxContent" for a in paragraph.iterancestors() if a is not cell
            ):
                text, boxes = self._words(paragraph)
                words += [text, *(self._words(p)[0] for box in boxes for p in box.iter(f"{WORD}p"))]
        return " ".join(words)

    def _notes(self, kind: str) -> Iterator[str]:
        """The words of foot- or endnotes, which stand in a part of their own; separators (of a type) are left out."""
        from lxml import etree

        for relation in self.word.part.rels.values():
            if not relation.is_external and relation.reltype.endswith(f"/{kind}s"):
                root = etree.fromstring(
                    relation.target_part.blob, etree.XMLParser(resolve_entities=False, no_network=True)
                )
                for note in root.iter(f"{WORD}{kind}"):
                    if note.get(f"{WORD}type") in (None, "normal"):
                        yield " ".join(self._words(p)[0] for p in note.iter(f"{WORD}p"))
