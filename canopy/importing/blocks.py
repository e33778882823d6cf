"""What every kind of document is read into (headings, paragraphs, tables, pictures), and the one rule that makes items of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from canopy.hierarchy.leaves import sentence_bounds

MAX_CHARS = 2_000
MAX_ROWS = 500
# sentencex looks at a whole text; a "paragraph" of megabytes (a log, a minified file) is cut at white space first.
_STRETCH = 50_000
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its level, 1 being the highest."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A stretch of running text; ``place`` says where it stands (``p3``: page 3) and goes into its item's id."""

    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table: column names (may be empty) and rows of cells, which may come one after the other from a long file."""

    header: tuple[str, ...]
    rows: Iterable[tuple[str, ...]]
    caption: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture inside a document: its bytes, the ending of its file name (``.png``) and its alternative text."""

    data: bytes
    suffix: str
    alt: str = ""
    place: str = ""


Block = Heading | Paragraph | TableBlock | Picture


@dataclass(slots=True)
class Document:
    """A document as read.

    Parameters
    ----------
    blocks : iterable of Block
        In reading order; read once. ``title``, ``captions`` and ``notes`` are complete when it has been read to its end.
    title : str
        Its own title; empty where it has none (the file's name then stands in).
    captions : dict of str to str
        Alternative texts of the pictures it refers to, by the reference as written.
    notes : list of str
        What a person should know about how it was read.
    """

    blocks: Iterable[Block]
    title: str = ""
    captions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def clean(text: str) -> str:
    """Text without control and invisible characters, with plain line ends; everything that shows stays as it is."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    return _INVISIBLE.sub("", text).strip()


def one_line(text: str) -> str:
    """Cleaned text with every stretch of white space made one blank, as in a heading or a cell."""
    return " ".join(clean(text).split())


def cut_text(text: str, limit: int = MAX_CHARS) -> list[str]:
    """A text in parts of at most ``limit`` characters: between sentences, within a longer sentence at white space, else hard.

    Joined with the white space between them the parts give the text again.
    """
    if len(text) <= limit:
        return [text] if text.strip() else []
    pieces: list[str] = []
    for stretch in _at_white_space(text, _STRETCH):
        bounds = sentence_bounds(stretch)
        pieces += [p for a, b in zip(bounds[:-1], bounds[1:], strict=True) for p in _at_white_space(stretch[a:b], limit)]
    parts = [""]
    for piece in pieces:
        if parts[-1] and len(parts[-1]) + len(piece.rstrip()) > limit:
            parts.append("")
        parts[-1] += piece
    return [p.strip() for p in parts if p.strip()]


def _at_white_space(text: str, limit: int) -> Iterator[str]:
    start = 0
    while len(text) - start > limit:
        window = text[start:start + limit]
        end = max((m.end() for m in re.finditer(r"\s+", window)), default=0)
        end = end if end > limit // 2 else limit
        yield text[start:start + end]
        start += end
    yield text[start:]


def compose(document: Document, name: str) -> Iterator[dict[str, Any] | Picture]:
    """A document's blocks as native records without ids, and its pictures.

    The rule: paragraphs under one heading are joined, in order and with a blank line between them, into text items of at most
    ``MAX_CHARS`` characters and of about equal length; a longer paragraph is cut between sentences. A new heading starts a
    new item. An item's title is the document's, followed by the headings above it; a heading without anything below it is an item of its
    own, so that no word is lost. A table is an item, in parts of ``MAX_ROWS`` rows where it is longer.

    Parameters
    ----------
    name : str
        Words that stand in for a title (the file's name).
    """
    maker = _Composer(document, name)
    for block in document.blocks:
        yield from maker.take(block)
    yield from maker.finish()


class _Composer:
    """Where `compose` is in a document: the headings above, and the paragraphs that wait for company."""

    def __init__(self, document: Document, name: str) -> None:
        self.document, self.name = document, name
        if not document.title and isinstance(document.blocks, list):
            heads = [b for b in document.blocks[:10] if isinstance(b, Heading) and b.text.strip()]
            top = [h for h in heads if h.level == 1] or heads[:1]
            document.title = one_line(top[0].text)[:300] if top else ""
        self.above: list[list[Any]] = []  # [level, text, has anything below it]
        self.waiting: list[Paragraph] = []
        self.made = 0

    def take(self, block: Block) -> Iterator[dict[str, Any] | Picture]:
        if isinstance(block, Heading):
            text = one_line(block.text)
            if text:
                yield from self._flush()
                yield from self._close(block.level)
                self.above.append([block.level, text, False])
            return
        if isinstance(block, Paragraph):
            text = clean(block.text)
            if text:
                self.waiting += [Paragraph(t, block.place) for t in cut_text(text)]
                self._use()
            return
        yield from self._flush()
        self._use()
        if isinstance(block, Picture):
            self.made += 1
            yield block
        else:
            yield from self._table(block)

    def finish(self) -> Iterator[dict[str, Any]]:
        yield from self._flush()
        yield from self._close(0)
        if not self.made and self.document.title:
            yield self._text(self.document.title, [], "")

    def _use(self) -> None:
        for heading in self.above:
            heading[2] = True

    def _path(self) -> list[str]:
        path = [text for _, text, _ in self.above]
        return path[1:] if path and path[0].casefold() in self._title().casefold() else path

    def _title(self) -> str:
        return one_line(self.document.title) or self.name

    def _close(self, level: int) -> Iterator[dict[str, Any]]:
        """Leave the headings of this level and below; one that had nothing below it says what it says as an item."""
        bare = []
        while self.above and self.above[-1][0] >= level:
            _, text, used = self.above[-1]
            path = self._path()
            self.above.pop()
            if not used and text.casefold() not in self._title().casefold():
                bare.append(self._text(text, path[:-1], ""))
                self._use()
        yield from reversed(bare)

    def _text(self, text: str, path: list[str], place: str) -> dict[str, Any]:
        self.made += 1
        # The encoder reads a text's title, not its section, so the headings stand in both.
        title = f"{self._title()}: {' > '.join(path)}" if path else self._title()
        return {"modality": "text", "title": title, "section": " > ".join(path), "text": text, "place": place}

    def _flush(self) -> Iterator[dict[str, Any]]:
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

    def _table(self, block: TableBlock) -> Iterator[dict[str, Any]]:
        rows = iter(block.rows)
        first, part = 0, list(islice(rows, MAX_ROWS))
        while part:
            after = list(islice(rows, MAX_ROWS))
            path = [*self._path(), *([one_line(block.caption)] if block.caption.strip() else [])]
            if first or after:
                path.append(f"rows {first + 1}-{first + len(part)}")
            self.made += 1
            # As with texts: what the encoder reads of a table is title and section, so the caption is part of the section.
            header, lines = _without_empty_columns(block.header, part)
            yield {"modality": "table", "title": self._title(), "section": " > ".join(path), "header": header, "rows": lines, "place": block.place}
            first, part = first + len(part), after


def _without_empty_columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows less the columns that have neither a name nor, in these rows, a value (a stray cell far out makes thousands)."""
    used = sorted({x for line in (header, *rows) for x, cell in enumerate(line) if cell})
    return [header[x] if x < len(header) else "" for x in used] if header else [], [[r[x] if x < len(r) else "" for x in used] for r in rows]
