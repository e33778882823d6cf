"""HTML pages to blocks: what a browser shows, in document order.

The tree is not walked by recursion, since pages may nest without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.importing.blocks import Block, Document, Heading, Paragraph, one_line
from canopy.importing.decoding import read_text
from canopy.importing.encoding_labels import declared_encoding
from canopy.importing.html_tables import holds_data, read_table
from canopy.importing.html_words import BLOCKS, SKIPPED, STRUCK_OUT, is_hidden, replacement, shown_text
from canopy.importing.list_numbers import show_number
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from bs4 import Tag

MAX_NODES = 2_000_000
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
# A browser looks for a declaration in 1,024 bytes first, but also heeds one that it meets later.
_HEAD = 64 << 10
_SPACE = re.compile(r"\s+")


def read_html(path: Path) -> Document:
    """A page: title from <title>, otherwise the first heading; pictures' captions by their address."""
    document = Document(())
    with open(path, "rb") as f:
        declared = declared_encoding(f.read(_HEAD))
    source = read_text(path, document.notes, declared)
    soup = _parse(source)
    if soup.title is not None:
        document.title = one_line(soup.title.get_text())
    document.blocks = list(_Walk(document).blocks(soup))
    if document.struck_out:
        document.notes.append(f"{document.struck_out} struck-out passages are left out")
    return document


def fragment_blocks(source: str, document: Document) -> Iterator[Block]:
    """The blocks of a piece of HTML (as it stands in Markdown)."""
    yield from _Walk(document).blocks(_parse(source))


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


class _Walk:
    """A walk through a page.

    The words since the last block, the item of a list that they belong to, and the headings.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.words: list[str] = []
        self.marker = ""
        self.numbers: dict[int, int] = {}  # of ordered lists, by identity: the next item's number
        self.heading = Heading(1, "")
        self.titled: set[int] = set()  # elements whose words stand under a button or summary
        self.resume = False
        self.opens = False  # whether the last heading is itself a button

    def blocks(self, root: Tag) -> Iterator[Block]:
        """Blocks in document order. The stack holds nodes to enter and, as (node, True), nodes to leave."""
        from bs4 import CData, NavigableString, Tag

        outer = {id(table.find_parent("table")) for table in root.find_all("table")}
        stack: list[tuple[object, bool]] = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving:
                yield from self._flush()
                self.marker = "" if getattr(node, "name", "") == "li" else self.marker
                if id(node) in self.titled:
                    self.resume = True
            elif isinstance(node, NavigableString):
                if type(node) in (NavigableString, CData):
                    self.words.append(_SPACE.sub(" ", str(node)))
            elif isinstance(node, Tag):
                name = (node.name or "").lower()
                if name in SKIPPED or is_hidden(node):
                    continue
                if name == "br":
                    self.words.append("\n")
                elif name == "img":
                    _keep_caption(node, self.document)
                elif (whole := replacement(node)) is not None:
                    self.words.append(whole)
                elif _heading_level(node) or _is_disclosure(node) or name == "pre" or (
                        name == "table" and id(node) not in outer and holds_data(node)):
                    yield from self._whole(node, name)
                else:
                    if name in BLOCKS:
                        yield from self._flush()
                        stack.append((node, True))
                        self._mark(node, name)
                    stack.extend((child, False) for child in reversed(node.contents))
        yield from self._flush()
        passages = root.find_all(list(STRUCK_OUT))
        self.document.struck_out += sum(bool(passage.get_text(strip=True)) for passage in passages)

    def _whole(self, node: Tag, name: str) -> Iterator[Block]:
        """An element that makes a block of its own: a heading, a table, preformatted text, or what opens a panel."""
        yield from self._flush()
        for image in node.find_all("img"):
            _keep_caption(image, self.document)
        level = _heading_level(node)
        if level:
            self.heading, self.resume = Heading(level, shown_text(node)), False
            self.opens = node.find("button") is not None
            yield self.heading
        elif name == "pre":
            yield from self._below(Paragraph(node.get_text().strip("\n")))
        elif name == "table":
            table = read_table(node)
            if table:
                yield from self._below(table)
        elif text := shown_text(node):
            self.resume = False
            self.titled.add(id(node.parent))
            yield Heading(self.heading.level + (not self.opens), text)

    def _below(self, block: Block) -> Iterator[Block]:
        """A block, after the page's own heading if a panel with its own has just ended."""
        if self.resume and self.heading.text:
            yield self.heading
        self.resume = False
        yield block

    def _flush(self) -> Iterator[Block]:
        """The words since the last block, white space as a browser shows it (a line break only for a <br>)."""
        text = "\n".join(filter(None, (" ".join(line.split()) for line in "".join(self.words).split("\n"))))
        self.words.clear()
        if text:
            marker, self.marker = self.marker, ""
            yield from self._below(Paragraph(marker + text))

    def _mark(self, node: Tag, name: str) -> None:
        """Keep what stands before an item of a list: its number, and a dash for each list around its own."""
        if name in ("ol", "ul"):
            own = len(node.find_all("li", recursive=False)) if node.has_attr("reversed") else 1
            start = str(node.get("start") or own)
            self.numbers[id(node)] = int(start) if re.fullmatch(r"-?\d{1,9}", start) else own
        above = node.find_parent(["ol", "ul"]) if name == "li" else None
        if above is None:
            return
        depth = 0
        outer = above.find_parent(["ol", "ul"])
        while outer is not None and depth < 6:
            depth += 1
            outer = outer.find_parent(["ol", "ul"])
        self.marker = "- " * depth
        if above.name == "ol":
            value = str(node.get("value") or "")
            number = int(value) if re.fullmatch(r"-?\d{1,9}", value) else self.numbers.get(id(above), 1)
            self.numbers[id(above)] = number + (-1 if above.has_attr("reversed") else 1)
            style = str(node.get("type") or above.get("type") or "")
            self.marker += f"{show_number(number, style)}. "


def _heading_level(node: Tag) -> int:
    """The level of a heading, also of an element that is one by its role (level 2 unless it says); 0 if it is none."""
    name = (node.name or "").lower()
    if name in _HEADINGS:
        return _HEADINGS[name]
    if str(node.get("role") or "").strip().lower() != "heading":
        return 0
    level = str(node.get("aria-level") or "")
    return int(level) if re.fullmatch(r"[1-9]", level) else 2


def _is_disclosure(node: Tag) -> bool:
    """Whether an element opens a panel of words: a <summary> with words beside it, or a button that says
    so or stands right above one."""
    if node.name == "summary" and node.parent is not None:
        return len(node.parent.get_text(strip=True)) > len(node.get_text(strip=True))
    if node.name != "button":
        return False
    panel = node.find_next_sibling()
    return node.has_attr("aria-expanded") or (
        panel is not None and panel.name in BLOCKS and bool(panel.get_text(strip=True))
    )


def _keep_caption(image: Tag, document: Document) -> None:
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
