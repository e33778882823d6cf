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
from canopy.importing.html_lists import ListNumbers
from canopy.importing.html_pruning import prune
from canopy.importing.html_tables import is_data_table, read_table
from canopy.importing.html_words import BLOCKS, is_apart, is_skipped, replacement, shown_text
from canopy.ingest.sink import Unusable

if TYPE_CHECKING:
    from bs4 import Tag

MAX_NODES = 2_000_000
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
# A browser looks for a declaration in 1,024 bytes first, but also heeds one that it meets later.
_HEAD = 64 << 10
# HTML's white space; a hard blank is shown, and made a blank at the end.
_SPACE = re.compile(r"[ \t\n\r\x0c]+")
_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*:|//)", re.I)


def read_html(path: Path) -> Document:
    """A page: title from <title>, otherwise the first heading; pictures' captions by their address.

    What stands in it for readers without scripts is read only if it holds no other words.
    """
    document = Document(())
    with open(path, "rb") as f:
        declared = declared_encoding(f.read(_HEAD))
    source = read_text(path, document.notes, declared)
    soup = _parse(source)
    title = soup.head.title if soup.head is not None else None
    if title is not None:
        document.title = one_line(title.get_text())
    document.blocks = list(_Walk(document).blocks(soup))
    if document.struck_out:
        document.notes.append(f"{document.struck_out} struck-out passages are left out")
    if not document.blocks:
        plain = soup.find_all("noscript")
        for element in plain:
            element.name = "div"
        document.blocks = list(_Walk(document).blocks(soup)) if plain else []
        document.notes.append("it holds no words but its title: a page that scripts draw, or of pictures" if not
                              document.blocks else "only the words for readers without scripts are in it")
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

    The words since the last block, what stands before the next one, and the headings.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.words: list[str] = []
        self.marker = ""  # of an item of a list
        self.term = ""  # that the next words define
        self.numbers = ListNumbers()
        self.heading = Heading(1, "")
        self.titled: set[int] = set()  # elements whose words stand under a button or summary
        self.resume = False
        self.opens = False  # whether the last heading is itself a button

    def blocks(self, root: Tag) -> Iterator[Block]:
        """Blocks in document order. The stack holds nodes to enter and, as (node, True), nodes to leave."""
        from bs4 import CData, NavigableString, Tag
        from bs4.element import TemplateString

        notes, struck_out = prune(root)
        self.document.notes += notes
        self.document.struck_out += struck_out
        outer = {id(table.find_parent("table")) for table in root.find_all("table")}
        stack: list[tuple[object, bool]] = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if leaving and isinstance(node, Tag):
                yield from self._leave(node)
            elif isinstance(node, NavigableString):
                if type(node) in (NavigableString, CData, TemplateString):
                    self.words.append(_SPACE.sub(" ", str(node)))
            elif isinstance(node, Tag):
                name = (node.name or "").lower()
                if is_skipped(node, name):
                    continue
                if name == "br":
                    self.words.append("\n")
                elif name == "img":
                    self.words.append(_keep_caption(node, self.document))
                elif (whole := replacement(node, self.words)) is not None:
                    self.words.append(whole)
                elif _level(node, name) or _is_disclosure(node) or name in ("pre", "textarea") or (
                        name == "table" and is_data_table(node, id(node) in outer)):
                    yield from self._whole(node, name)
                else:
                    if name in BLOCKS:
                        if name in ("dt", "dd") and node.parent is not None and node.parent.name == "dt":
                            self._name_term()  # the parser leaves a term without an end open
                        yield from self._flush()
                        if name == "dl":
                            yield from self._end_term()  # terms inside a definition are not one with its own
                        stack.append((node, True))
                        if name == "li":
                            self.marker = self.numbers.marker(node)
                    if is_apart(name):
                        self.words.append(" ")
                        stack.append((NavigableString(" "), False))
                    stack.extend((child, False) for child in reversed(node.contents))
        yield from self._flush()
        yield from self._end_term()

    def _leave(self, node: Tag) -> Iterator[Block]:
        """The end of a block."""
        if node.name == "dt":
            self._name_term()
        yield from self._flush()
        if node.name == "li":
            self.marker = ""
        if node.name == "dl":
            yield from self._end_term()
        if id(node) in self.titled:
            self.resume = True

    def _name_term(self) -> None:
        """The words so far are a term. It stands before its definition; several terms may share one."""
        if term := self._take_words():
            self.term = f"{self.term.rstrip(' :')}, {term}" if self.term else term
            self.term += " " if self.term[-1] in ".?!:…" else ": "

    def _whole(self, node: Tag, name: str) -> Iterator[Block]:
        """An element that makes a block of its own: a heading, a table, preformatted text, or what opens a panel."""
        yield from self._flush()
        images = "".join(_keep_caption(image, self.document) for image in node.find_all("img"))
        level = _level(node, name)
        if level:
            yield from self._end_term()
            text = shown_text(node) or one_line(images)
            self.heading, self.resume = Heading(level, self._take_marker() + text if text else ""), False
            self.opens = node.find("button") is not None
            yield self.heading
        elif name in ("pre", "textarea"):
            for line_break in node.find_all("br"):
                line_break.replace_with("\n")
            if text := node.get_text().strip("\n"):
                yield from self._below(Paragraph(self._take_marker() + text))
        elif name == "table":
            table = read_table(node)
            if table:
                yield from self._below(table)
        elif text := shown_text(node):
            yield from self._end_term()
            self.resume = False
            self.titled.add(id(node.parent))
            yield Heading(self.heading.level + (not self.opens), self._take_marker() + text)

    def _below(self, block: Block) -> Iterator[Block]:
        """A block, after the page's own heading if a panel with its own has just ended."""
        if self.resume and self.heading.text:
            yield self.heading
        self.resume = False
        if isinstance(block, Paragraph):
            term, self.term = self.term, ""
            yield Paragraph(term + block.text)
        else:
            yield from self._end_term()
            yield block

    def _take_words(self) -> str:
        """The words since the last block, white space as a browser shows it (a line break only for a <br>)."""
        text = "".join(self.words)
        self.words.clear()
        return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))

    def _take_marker(self) -> str:
        marker, self.marker = self.marker, ""
        return marker

    def _end_term(self) -> Iterator[Block]:
        """A term that nothing defines, as it stands."""
        term, self.term = self.term.removesuffix(" ").removesuffix(":"), ""
        if term:
            yield from self._below(Paragraph(term))

    def _flush(self) -> Iterator[Block]:
        if text := self._take_words():
            yield from self._below(Paragraph(self._take_marker() + text))


def _level(node: Tag, name: str) -> int:
    """The level of a heading; 0 if an element is none."""
    if name in _HEADINGS:
        return _HEADINGS[name]
    if str(node.get("role") or "").strip().lower() != "heading":
        return 0
    digits = re.match(r"\s*([1-9])\b", str(node.get("aria-level") or "2"))
    return int(digits[1]) if digits else 2


def _is_disclosure(node: Tag) -> bool:
    """Whether an element opens a panel of words: a <summary> with words beside it, or a button that says so or stands
    right above one."""
    if node.name == "summary" and node.parent is not None:
        return len(node.parent.get_text(strip=True)) > len(node.get_text(strip=True))
    is_button = node.name == "button" or (node.get("role") == "button" and node.has_attr("aria-expanded"))
    if not is_button or node.find(list(_HEADINGS)) is not None:  # the search is last: it reads all that is inside
        return False
    if node.has_attr("aria-expanded"):
        return True
    panel = node.find_next_sibling()
    return node.get("type") not in ("submit", "reset") and node.find_parent("form") is None and (
        panel is not None and panel.name in BLOCKS and bool(panel.get_text(strip=True)))


def _keep_caption(image: Tag, document: Document) -> str:
    """Keep an image's alternative text, with the caption of the figure that it is alone in, for the picture's own item.

    Returns
    -------
    str
        The alternative text in brackets if the picture has no file that could stand beside the page; a sign among words
        as it is.
    """
    source = one_line(str(image.get("src") or image.get("data-src") or ""))
    words = [one_line(str(image.get("alt") or image.get("title") or ""))]
    if not source or _REMOTE.match(source):
        is_sign = len(words[0]) <= 2 or "emoji" in " ".join(image.get("class") or [])
        return (words[0] if is_sign else f" [{words[0]}] ") if words[0] else ""
    figure = image.find_parent("figure")
    caption = figure.find("figcaption") if figure is not None and len(figure.find_all("img", limit=2)) == 1 else None
    if caption is not None:
        words.append(shown_text(caption))
    document.captions.setdefault(source, ". ".join(dict.fromkeys(w for w in words if w)))
    return ""
