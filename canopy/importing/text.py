"""Plain text and Markdown to blocks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.importing.blocks import Block, Document, Heading, Paragraph, clean
from canopy.importing.decoding import read_text
from canopy.importing.footnotes import place_footnotes
from canopy.importing.front_matter import split_front_matter
from canopy.importing.html import fragment_blocks
from canopy.importing.tables import normalise_table

if TYPE_CHECKING:
    from markdown_it.token import Token


def read_plain(path: Path) -> Document:
    """A .txt file: paragraphs are what stands between empty lines; line breaks inside them stay."""
    document = Document(())
    text = clean(read_text(path, document.notes))
    document.blocks = [Paragraph(p) for p in re.split(r"\n[ \t]*\n", text)]
    return document


def read_markdown(path: Path) -> Document:
    """A Markdown file (CommonMark with tables): its text without the markup; code and list items stay as paragraphs.

    Of front matter only the title is used. A footnote stands below the paragraph that refers to it. Struck-out words
    are left out. HTML inside is read as HTML.
    """
    document = Document(())
    text = read_text(path, document.notes).replace("\x00", "")
    document.title, text = split_front_matter(text, document.notes)
    text = place_footnotes(text)
    document.blocks = list(markdown_blocks(text, document))
    if document.struck_out:
        document.notes.append(f"{document.struck_out} struck-out passages are left out")
    return document


def markdown_blocks(text: str, document: Document) -> Iterator[Block]:
    """The blocks of Markdown source; alternative texts of pictures go into the document's captions."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
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
    struck_out = 0
    for token in tokens:
        if token.type in ("s_open", "s_close"):
            struck_out += 1 if token.type == "s_open" else -1
            document.struck_out += token.type == "s_open"
        elif struck_out:
            continue
        elif token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type == "softbreak":
            words.append(" ")
        elif token.type == "hardbreak":
            words.append("\n")
        elif token.type == "image":
            document.captions.setdefault(str(token.attrs.get("src", "")), inline_text(token.children or (), document))
    text = "".join(words)
    # What was left out leaves the blanks on both of its sides.
    return re.sub(r" {2,}", " ", text) if any(token.type == "s_open" for token in tokens) else text


def _with_html(tokens: Sequence[Token], document: Document) -> str:
    """Inline Markdown with tags in it, read as HTML as a whole, since a tag and its end are tokens of their own."""
    source = []
    for token in tokens:
        if token.type in ("s_open", "s_close"):
            source.append("<s>" if token.type == "s_open" else "</s>")
        elif token.type == "html_inline":
            source.append(token.content)
        elif token.type == "hardbreak":
            source.append("<br>")
        else:
            source.append(html.escape(inline_text([token], document), quote=False))
    return "\n".join(b.text for b in fragment_blocks("".join(source), document) if isinstance(b, Heading | Paragraph))
