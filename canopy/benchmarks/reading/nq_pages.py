"""A Natural Questions page: tokens with HTML among them, and its top-level long-answer candidates as passages and
tables.

Both official page forms come down to a list of words and a list saying which of them are HTML: the full form's
``document_tokens`` say so themselves, the simplified form's ``document_text.split(" ")`` shows it
(``<Td_colspan="2">``). Candidates and answers are half-open ranges of tokens.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from canopy.benchmarks.reading.records import Record, list_of, object_of
from canopy.ingest.fields import item_id, text_of
from canopy.ingest.sink import Unusable
from canopy.items import Annotation, Item

MAX_SPAN, MAX_CELLS = 100, 200_000
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:[_\s/][^<>]*)?)>")
_EDIT = re.compile(r"\s*[(\[]\s*edit\s*[)\]]\s*$")


@dataclass(frozen=True, slots=True)
class Page:
    """``words`` and ``tags`` run in parallel, a token each; a tag is (name, closes, attributes), None for a word."""

    title: str
    words: list[str]
    tags: list[tuple[str, bool, str] | None]

    def text(self, start: int, end: int) -> str:
        """The words of a range of tokens, HTML left out."""
        return " ".join(w for w, t in zip(self.words[start:end], self.tags[start:end], strict=True) if t is None
                        and w.strip())


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens ``[start, end)`` of a page as an item.

    ``places`` has one entry a token: its characters ``(from, to)`` in the item's text, or ``(row, row + 1)`` in a
    table; None for HTML and for what no row holds (a column's name).
    """

    item: Item
    start: int
    end: int
    places: list[tuple[int, int] | None]

    def gold(self, qid: str, spans: list[tuple[int, int]], group: int) -> Annotation | None:
        """Token ranges as an annotation of this item, one span a range (one a row in a table).

        None if they hold nothing of it.
        """
        places: list[tuple[float, float]] = []
        for start, end in spans:
            inside = [p for p in self.places[max(0, start - self.start):max(0, end - self.start)] if p is not None]
            if inside and self.item.modality == "table":
                places += [(float(a), float(b)) for a, b in dict.fromkeys(inside)]
            elif inside:
                places.append((float(inside[0][0]), float(inside[-1][1])))
        unit: Literal["rows", "chars"] = "rows" if self.item.modality == "table" else "chars"
        return Annotation(qid, self.item.id, unit, tuple(dict.fromkeys(places)), group) if places else None


def read_page(record: Record) -> Page:
    """A record's tokens in either form, and its title (from the URL, whose form both releases share)."""
    listed = record.get("document_tokens")
    if listed:
        tokens = [object_of(t, "a document token") for t in list_of(listed, "document_tokens")]
        words = [text_of(t["token"], "a token", empty=True) for t in tokens]
        tags = [_tag(w) or (("", False, "") if t.get("html_token") else None) if t.get("html_token", True) else None
                for w, t in zip(words, tokens, strict=True)]
    else:
        words = text_of(record["document_text"], "document_text").split(" ")
        tags = [_tag(w) for w in words]
    if not words:
        raise Unusable("the page has no tokens")
    return Page(_title(record) or _first_heading(words, tags), words, tags)


def _tag(word: str) -> tuple[str, bool, str] | None:
    match = _TAG.fullmatch(word) if word.startswith("<") else None
    return (match[2].lower(), bool(match[1]), match[3]) if match else None


def _title(record: Record) -> str:
    url = html.unescape(text_of(record.get("document_url") or "", "document_url", empty=True))
    try:
        parts = urlsplit(url)
        named = parse_qs(parts.query).get("title") or [parts.path.partition("/wiki/")[2]]
    except ValueError:
        named = [""]
    title = named[0] or text_of(record.get("document_title") or "", "document_title", empty=True)
    return text_of(" ".join(html.unescape(title).replace("_", " ").split()), "title", empty=True)


def _first_heading(words: list[str], tags: list[tuple[str, bool, str] | None]) -> str:
    start = next((i for i, t in enumerate(tags) if t and t[0] == "h1" and not t[1]), None)
    end = next((i for i, t in enumerate(tags) if t and t[0] == "h1" and t[1]), None)
    return "" if start is None or end is None else " ".join(words[start + 1:end])


def sections(page: Page) -> list[str]:
    """The heading that each token stands under: the last <H2> to <H6> that ended before it."""
    out, current, opened = [], "", None
    for i, tag in enumerate(page.tags):
        if tag and tag[0] in ("h2", "h3", "h4", "h5", "h6"):
            if not tag[1]:
                opened = i
            elif opened is not None:
                current, opened = _EDIT.sub("", page.text(opened, i)), None
        out.append(current)
    return out


def span_of(value: Any, length: int, what: str) -> tuple[int, int] | None:
    """A token range ``start_token``, ``end_token``; None if it is null (-1).

    Unusable if it lies outside the page.
    """
    value = object_of(value, what)
    start, end = value.get("start_token"), value.get("end_token")
    if start in (None, -1) and not isinstance(start, float):
        return None
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in (start, end)) or not 0 <= start < end <= length:
        raise Unusable(f"{what}: tokens {str([start, end])[:80]} are no range within the page's {length}")
    return start, end


def candidates(record: Record, page: Page) -> tuple[list[tuple[int, int]], int]:
    """Top-level candidates in page order, and how many lie outside the page.

    One within another is left out, whatever its flag says.
    """
    spans, outside = [], 0
    for c in list_of(record.get("long_answer_candidates"), "long_answer_candidates"):
        try:
            span = span_of(c, len(page.words), "a long-answer candidate")
        except Unusable:
            outside += 1
            continue
        if span and c.get("top_level", True) is not False:
            spans.append(span)
    out: list[tuple[int, int]] = []
    for start, end in sorted(set(spans), key=lambda s: (s[0], -s[1])):
        if not out or start >= out[-1][1]:
            out.append((start, end))
    return out, outside


def passages(page: Page, spans: list[tuple[int, int]], benchmark: str, source: str) -> list[Passage]:
    """The ranges that have any words, as items: a table if its HTML makes rows plain, otherwise a text."""
    under = sections(page)
    out = []
    for start, end in spans:
        passage = _table(page, start, end, benchmark, under[start], source) or _text(page, start, end, benchmark,
                                                                                     under[start], source)
        out += [passage] if passage else []
    return out


def _text(page: Page, start: int, end: int, benchmark: str, section: str, source: str) -> Passage | None:
    """Words joined by a space.

    Where HTML stood between them (the next list entry, the next row) by a blank line, which ends a sentence.
    """
    text: list[str] = []
    places: list[tuple[int, int] | None] = []
    length, broke = 0, False
    for word, tag in zip(page.words[start:end], page.tags[start:end], strict=True):
        if tag is not None or not word.strip():
            broke |= tag is not None and tag[0] not in ("td", "th")
            places.append(None)
            continue
        gap = "" if not text else "\n\n" if broke else " "
        text += [gap, word] if gap else [word]
        start_at = length + len(gap)
        length, broke = start_at + len(word), False
        places.append((start_at, length))
    if not text:
        return None
    whole = text_of("".join(text), "a passage")
    return Passage(Item(item_id(benchmark, page.title, section, whole), benchmark, "text", title=page.title,
                        section=section, text=whole,
                        source=source), start, end, places)


@dataclass(slots=True)
class _Cell:
    words: list[str]
    names: bool
    columns: int
    rows: int


def _table(page: Page, start: int, end: int, benchmark: str, section: str, source: str) -> Passage | None:
    """A <Table> as a table item, None if its rows are not plain: a table in a table, words outside cells, fewer than
    two rows or columns.

    A first row of two or more <Th> names the columns. A cell over several columns stands in the first, one over several
    rows in each of them.
    """
    read = _cells(page, start, end)
    if read is None:
        return None
    rows, at = read
    kept = [n for n, row in enumerate(rows) if any(c.words for c in row)]
    grid = _grid(rows, kept)
    if len(grid) < 2 or len(grid[0]) < 2:
        return None
    names = len(rows[kept[0]]) > 1 and all(c.names for c in rows[kept[0]])
    header, body = (grid[0], grid[1:]) if names else (("",) * len(grid[0]), grid)
    number = {n: i - names for i, n in enumerate(kept)}
    places = [None if n is None or number[n] < 0 else (number[n], number[n] + 1) for n in at]
    content = "\x1e".join("\x1d".join(r) for r in (header, *body))
    item = Item(item_id(benchmark, page.title, section, "table", text_of(content, "a table")), benchmark, "table",
                title=page.title,
                section=section, header=header, rows=tuple(body), source=source)
    return Passage(item, start, end, places)


def _cells(page: Page, start: int, end: int) -> tuple[list[list[_Cell]], list[int | None]] | None:
    """Rows of cells, and the row that each token's words stand in; None if the tokens are no plain table."""
    first, last = page.tags[start], page.tags[end - 1]
    if not (first and first[:2] == ("table", False) and last and last[:2] == ("table", True)):
        return None
    rows: list[list[_Cell]] = []
    at: list[int | None] = []
    cell: _Cell | None = None
    for i in range(start, end):
        tag, row = page.tags[i], None
        if tag is None:
            if page.words[i].strip():
                if cell is None:
                    return None
                cell.words.append(page.words[i])
                row = len(rows) - 1
        elif tag[0] == "table" and not tag[1] and i > start:
            return None
        elif tag[0] == "tr":
            cell = None
            if not tag[1]:
                rows.append([])
        elif tag[0] in ("td", "th"):
            cell = None
            if not tag[1]:
                if not rows:
                    return None
                cell = _Cell([], tag[0] == "th", _times(tag[2], "colspan"), _times(tag[2], "rowspan"))
                rows[-1].append(cell)
        at.append(row)
    return rows, at


def _times(attributes: str, name: str) -> int:
    match = re.search(rf"\b_?{name}\s*=\s*[\"']?(\d{{1,6}})", attributes, re.IGNORECASE)
    return min(MAX_SPAN, max(1, int(match[1]))) if match else 1


def _grid(rows: list[list[_Cell]], kept: list[int]) -> list[tuple[str, ...]]:
    """The kept rows at equal width, cells laid out as a browser would; [] if that takes too many."""
    if sum(c.columns * c.rows for row in rows for c in row) > MAX_CELLS:
        return []
    hanging: dict[int, tuple[int, str]] = {}  # column -> rows still to come, text
    out: list[list[str]] = []
    for row in rows:
        line = {column: text for column, (_, text) in hanging.items()}
        hanging = {column: (n - 1, text) for column, (n, text) in hanging.items() if n > 1}
        column = 0
        for cell in row:
            while column in line:
                column += 1
            for offset in range(cell.columns):
                text = "" if offset else " ".join(cell.words)
                line[column + offset] = text
                if cell.rows > 1:
                    hanging[column + offset] = (cell.rows - 1, text)
            column += cell.columns
        out.append([line.get(c, "") for c in range(max(line, default=-1) + 1)])
    out = [out[n] for n in kept]
    width = max((c + 1 for r in out for c, text in enumerate(r) if text), default=0)
    return [tuple((r + [""] * (width - len(r)))[:width]) for r in out] if width * len(out) <= MAX_CELLS else []
