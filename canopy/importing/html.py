"""HTML pages to blocks.

What a browser shows, in document order, without walking the tree by recursion (pages may nest without end).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.importing.blocks import Block, Document, Heading, Paragraph, one_line
from canopy.importing.decoding import read_text
from canopy.importing.tables import Cell, expand_spans, normalise_table
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from bs4 import Tag

MAX_NODES = 2_000_000
# Not shown, or not the page's content: scripts, menus, form controls.
SKIPPED = frozenset(
    {
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "head",
        "svg",
        "math",
        "iframe",
        "object",
        "select",
        "option",
        "button",
        "input",
        "textarea",
        "canvas",
        "audio",
        "video",
    }
)
BLOCKS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    }
)
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.I)
_SPACE = re.compile(r"\s+")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def read_html(path: Path) -> Document:
    """A page: title from <title>, else the first heading; pictures' alternative texts and captions by their address."""
    document = Document(())
    with open(path, "rb") as f:
        declared = _CHARSET.search(f.read(4096))
    source = read_text(path, document.notes, declared[1].decode("ascii") if declared else "")
    soup = _parse(source)
    if soup.title is not None:
        document.title = one_line(soup.title.get_text())
    document.blocks = list(_walk(soup, document))
    return document


def fragment_blocks(source: str, document: Document) -> Iterator[Block]:
    """The blocks of a piece of HTML (as it stands in Markdown)."""
    yield from _walk(_parse(source), document)


def _parse(source: str) -> Tag:
    import warnings

    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    if source.count("<") > MAX_NODES:
        raise Unusable(f"more than {MAX_NODES:,} tags")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "looks more like a file name", "looks like XML": words to programmers
            return BeautifulSoup(source, "lxml")
    except (ParserRejectedMarkup, AssertionError, ValueError) as e:
        raise Unusable(f"cannot be parsed as HTML: {str(e)[:120]}") from None


def _walk(root: Tag, document: Document) -> Iterator[Block]:
    """Blocks in document order; ``stack`` holds nodes to enter and, as (node, True), nodes to leave."""
    from bs4 import CData, NavigableString, Tag

    words: list[str] = []
    outer = {id(table.find_parent("table")) for table in root.find_all("table")}
    stack: list[tuple[object, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            yield from _flush(words)
        elif isinstance(node, NavigableString):
            if type(node) in (NavigableString, CData):
                words.append(_SPACE.sub(" ", str(node)))
        elif isinstance(node, Tag):
            name = (node.name or "").lower()
            if name in SKIPPED or _hidden(node):
                continue
            if name == "br":
                words.append("\n")
            elif name == "img":
                _picture(node, document)
            elif name in _HEADINGS:
                yield from _flush(words)
                _pictures(node, document)
                yield Heading(_HEADINGS[name], shown_text(node))
            elif name == "pre":
                yield from _flush(words)
                yield Paragraph(node.get_text().strip("\n"))
            elif name == "table" and id(node) not in outer and _is_data(node):
                yield from _flush(words)
                _pictures(node, document)
                yield from _table(node)
            else:
                if name in BLOCKS:
                    yield from _flush(words)
                    stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.contents))
    yield from _flush(words)


def _flush(words: list[str]) -> Iterator[Block]:
    """What was said since the last block, white space as a browser shows it (a line break is only where a <br> was)."""
    text = "\n".join(filter(None, (" ".join(line.split()) for line in "".join(words).split("\n"))))
    words.clear()
    if text:
        yield Paragraph(text)


def _hidden(node: Tag) -> bool:
    return node.has_attr("hidden") or bool(_HIDDEN.search(str(node.get("style") or "")))


def shown_text(tag: Tag) -> str:
    """A tag's words on one line: inline parts joined as written, blocks and line breaks by a blank."""
    from bs4 import CData, NavigableString, Tag

    words: list[str] = []
    stack: list[object] = [tag]
    while stack:
        node = stack.pop()
        if isinstance(node, NavigableString):
            if type(node) in (NavigableString, CData):
                words.append(str(node))
        elif isinstance(node, Tag) and node.name not in SKIPPED and not _hidden(node):
            gap = [" "] if node.name in BLOCKS or node.name == "br" else []
            stack += [*gap, *reversed(node.contents), *gap]
        elif isinstance(node, str):
            words.append(node)
    return one_line("".join(words))


def _pictures(tag: Tag, document: Document) -> None:
    for image in tag.find_all("img"):
        _picture(image, document)


def _picture(image: Tag, document: Document) -> None:
    """Keep an image's alternative text, with the caption of the figure that it is alone in."""
    source = str(image.get("src") or image.get("data-src") or "")
    if not source or source.startswith("data:"):
        return
    words = [one_line(str(image.get("alt") or image.get("title") or ""))]
    figure = image.find_parent("figure")
    caption = figure.find("figcaption") if figure is not None and len(figure.find_all("img", limit=2)) == 1 else None
    if caption is not None:
        words.append(shown_text(caption))
    document.captions.setdefault(source, ". ".join(dict.fromkeys(w for w in words if w)))


def _is_data(table: Tag) -> bool:
    """Whether a table without a table inside holds data.

    With a single row or column and no header cell it only places things.
    """
    lines = [r for r in table.find_all("tr") if r.find(["td", "th"]) is not None]
    widest = max((len(r.find_all(["td", "th"])) for r in lines), default=0)
    return bool(lines) and (table.find("th") is not None or (len(lines) > 1 and widest > 1))


def _table(table: Tag) -> Iterator[Block]:
    lines: list[list[Cell]] = []
    heads = 0
    for row in table.find_all("tr"):
        cells = row.find_all(["td", "th"], recursive=False)
        if not cells:
            continue
        lines.append([Cell(shown_text(c), _span(c, "colspan"), _span(c, "rowspan")) for c in cells])
        filled = [c for c, read in zip(cells, lines[-1], strict=True) if read.text]
        if heads == len(lines) - 1 and (
            row.find_parent("thead") is not None or (filled and all(c.name == "th" for c in filled))
        ):
            heads += 1
    caption = table.find("caption")
    block = normalise_table(expand_spans(lines), heads or None, shown_text(caption) if caption is not None else "")
    if block:
        yield block


def _span(cell: Tag, attribute: str) -> int:
    digits = re.match(r"\s*(\d{1,6})", str(cell.get(attribute) or "1"))
    value = int(digits[1]) if digits else 1
    return value if value or attribute == "rowspan" else 1
