"""Plain text and Markdown to blocks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.importing.blocks import Block, Document, Heading, Paragraph, clean
from canopy.importing.decoding import read_text
from canopy.importing.html import fragment_blocks
from canopy.importing.tables import normalise_table

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?\r?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S)
_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?\r?\n)\+\+\+[ \t]*(?:\r?\n|\Z)", re.S)
_TOML_TITLE = re.compile(r"^title[ \t]*=[ \t]*(['\"])(.+?)\1[ \t]*$", re.M)
_TITLE = re.compile(r"^title:[ \t]*(['\"]?)(.+?)\1[ \t]*$", re.M)


def read_plain(path: Path) -> Document:
    """A .txt file: paragraphs are what stands between empty lines; line breaks inside them stay."""
    document = Document(())
    text = clean(read_text(path, document.notes))
    document.blocks = [Paragraph(p) for p in re.split(r"\n[ \t]*\n", text)]
    return document


def read_markdown(path: Path) -> Document:
    """A Markdown file (CommonMark with tables): its text without the markup; code and list items stay as paragraphs.

    Of front matter only the title is used. HTML inside is read as HTML.
    """
    document = Document(())
    text = read_text(path, document.notes).replace("\x00", "")
    for front_matter, title in ((_FRONT_MATTER, _TITLE), (_TOML, _TOML_TITLE)):
        front = front_matter.match(text)
        if front:
            match = title.search(front[1].replace("\r", ""))
            document.title = match[2] if match else ""
            text = text[front.end():]
            break
    document.blocks = list(markdown_blocks(text, document))
    return document


def markdown_blocks(text: str, document: Document) -> Iterator[Block]:
    """The blocks of Markdown source; alternative texts of pictures go into the document's captions."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    at, marker, depth = 0, "", 0
    while at < len(tokens):
        token = tokens[at]
        if token.type == "heading_open":
            yield Heading(int(token.tag[1]), inline_text(tokens[at + 1].children or (), document))
            at += 2
        elif token.type == "table_open":
            end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
            yield from _table(tokens[at:end], document)
            at = end
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "list_item_open":
            # An item keeps its number, and a dash for each list around its own.
            marker = "- " * min(depth - 1, 6) + (f"{token.info}. " if token.info else "")
        elif token.type == "inline":
            yield Paragraph(marker + inline_text(token.children or (), document))
            marker = ""
        elif token.type in ("fence", "code_block"):
            yield Paragraph(token.content.strip("\n"))
        elif token.type == "html_block":
            yield from fragment_blocks(token.content, document)
        at += 1


def _table(tokens: Sequence[Token], document: Document) -> Iterator[Block]:
    lines: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            lines.append([])
        elif token.type == "inline":
            lines[-1].append(inline_text(token.children or (), document))
    table = normalise_table(lines, header_rows=1)
    if table:
        yield table


def inline_text(tokens: Sequence[Token], document: Document) -> str:
    """What a reader sees of inline Markdown: no markup, a soft line break as a blank."""
    if any(token.type == "html_inline" for token in tokens):
        return _with_html(tokens, document)
    words = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type == "softbreak":
            words.append(" ")
        elif token.type == "hardbreak":
            words.append("\n")
        elif token.type == "image":
            document.captions.setdefault(str(token.attrs.get("src", "")), inline_text(token.children or (), document))
    return "".join(words)


def _with_html(tokens: Sequence[Token], document: Document) -> str:
    """Inline Markdown with tags in it, read as HTML as a whole, since a tag and its end are tokens of their own."""
    source = []
    for token in tokens:
        if token.type == "html_inline":
            source.append(token.content)
        elif token.type == "hardbreak":
            source.append("<br>")
        else:
            source.append(html.escape(inline_text([token], document), quote=False))
    return "\n".join(b.text for b in fragment_blocks("".join(source), document) if isinstance(b, Heading | Paragraph))
