"""The one rule that makes items of a document's blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from canopy.importing.blocks import Block, Document, Heading, Paragraph, Picture, TableBlock, clean, one_line
from canopy.importing.cutting import cut_text
from canopy.ingest.records import ItemRecord

MAX_CHARS = 2_000
MAX_ROWS = 500


class DocumentRecord(ItemRecord, total=False):
    """An item of a document; ``place`` says where it stands (``p3``: page 3) and goes into its id."""

    place: str


def compose(document: Document, name: str) -> Iterator[DocumentRecord | Picture]:
    """A document's blocks as native records without ids, and its pictures.

    Paragraphs under one heading are joined, in order and with a blank line between them, into text items of at most
    `MAX_CHARS` characters and of about equal length. A longer paragraph is cut between sentences. A new heading starts
    a new item. An item's title is the document's, followed by the headings above it. A heading without anything below
    it is an item of its own, so that no word is lost. A table is an item; a longer one gives an item for each
    `MAX_ROWS` rows.

    Parameters
    ----------
    name : str
        The title of a document that has none (the words of its file's name).
    """
    composer = _Composer(document, name)
    for block in document.blocks:
        yield from composer.take(block)
    yield from composer.finish()


@dataclass(slots=True)
class _Above:
    """A heading above the current place, and whether anything stands below it."""

    level: int
    text: str
    used: bool = False


class _Composer:
    """The state of `compose` in a document: the headings above, and the paragraphs not yet in an item."""

    def __init__(self, document: Document, name: str) -> None:
        self.document, self.name = document, name
        if not document.title and isinstance(document.blocks, list):
            heads = [b for b in document.blocks[:10] if isinstance(b, Heading) and b.text.strip()]
            top = [h for h in heads if h.level == 1] or heads[:1]
            document.title = one_line(top[0].text)[:300] if top else ""
        self.above: list[_Above] = []
        self.waiting: list[Paragraph] = []
        self.count = 0

    def take(self, block: Block) -> Iterator[DocumentRecord | Picture]:
        """Add the next block; gives the records that it completes, and a picture as it is."""
        if isinstance(block, Heading):
            text = one_line(block.text)
            if text:
                yield from self._flush()
                yield from self._close(block.level)
                self.above.append(_Above(block.level, text))
            return
        if isinstance(block, Paragraph):
            text = clean(block.text)
            if text:
                self.waiting += [Paragraph(t, block.place) for t in cut_text(text, MAX_CHARS)]
                self._use()
            return
        yield from self._flush()
        self._use()
        if isinstance(block, Picture):
            self.count += 1
            yield block
        else:
            yield from self._table(block)

    def finish(self) -> Iterator[DocumentRecord]:
        """The records still open after the last block; a document without any is its title."""
        yield from self._flush()
        yield from self._close(0)
        if not self.count and self.document.title:
            yield self._text(self.document.title, [], "")

    def _use(self) -> None:
        for heading in self.above:
            heading.used = True

    def _path(self) -> list[str]:
        path = [heading.text for heading in self.above]
        return path[1:] if path and path[0].casefold() in self._title().casefold() else path

    def _title(self) -> str:
        return one_line(self.document.title) or self.name

    def _close(self, level: int) -> Iterator[DocumentRecord]:
        """Leave the headings of this level and below; one that had nothing below it says what it says as an item."""
        bare = []
        while self.above and self.above[-1].level >= level:
            path = self._path()
            heading = self.above.pop()
            if not heading.used and heading.text.casefold() not in self._title().casefold():
                bare.append(self._text(heading.text, path[:-1], ""))
                self._use()
        yield from reversed(bare)

    def _text(self, text: str, path: list[str], place: str) -> DocumentRecord:
        self.count += 1
        # The encoder reads a text's title, not its section, so the headings stand in both.
        title = f"{self._title()}: {' > '.join(path)}" if path else self._title()
        return {"modality": "text", "title": title, "section": " > ".join(path), "text": text, "place": place}

    def _flush(self) -> Iterator[DocumentRecord]:
        """The waiting paragraphs as items of about equal length."""
        waiting, self.waiting = self.waiting, []
        total = sum(len(p.text) + 2 for p in waiting)
        aim = total / max(1, -(-total // MAX_CHARS))
        group: list[Paragraph] = []
        size = 0
        for p in waiting:
            if group and (size + len(p.text) > MAX_CHARS or size + len(p.text) / 2 > aim):
                yield self._text("\n\n".join(g.text for g in group), self._path(), group[0].place)
                group, size = [], 0
            group.append(p)
            size += len(p.text) + 2
        if group:
            yield self._text("\n\n".join(g.text for g in group), self._path(), group[0].place)

    def _table(self, block: TableBlock) -> Iterator[DocumentRecord]:
        rows = iter(block.rows)
        first, part = 0, list(islice(rows, MAX_ROWS))
        while part:
            after = list(islice(rows, MAX_ROWS))
            path = [*self._path(), *([one_line(block.caption)] if block.caption.strip() else [])]
            if first or after:
                path.append(f"rows {first + 1}-{first + len(part)}")
            self.count += 1
            # As with texts: the encoder reads a table's title and section, so the caption is part of the section.
            header, lines = _without_empty_columns(block.header, part)
            yield {
                "modality": "table",
                "title": self._title(),
                "section": " > ".join(path),
                "header": header,
                "rows": lines,
                "place": block.place,
            }
            first, part = first + len(part), after


def _without_empty_columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows less the columns that have neither a name nor, in these rows, a value.

    A stray cell far out makes thousands of them.
    """
    used = sorted({x for line in (header, *rows) for x, cell in enumerate(line) if cell})
    names, *lines = ([line[x] if x < len(line) else "" for x in used] for line in (header, *rows))
    return names if header else [], lines
