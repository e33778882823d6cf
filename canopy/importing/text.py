"""Plain text and Markdown to blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.importing.blocks import Block, Document, Paragraph, clean
from canopy.importing.decoding import read_text
from canopy.importing.footnotes import place_footnotes
from canopy.importing.front_matter import split_front_matter
from canopy.importing.html import fragment_blocks

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# A dollar sign before a blank, or after one, or before a digit, is money.
_FORMULA = re.compile(r"\$\$(?:(?!\$\$).)+\$\$|\$(?![\s$])(?:[^$\n\\]|\\.)*?(?<!\s)\$(?!\d)", re.S)
_DEFINITION = re.compile(r"(\S)[ \t]*\n[ ]{0,3}:[ \t]+")
_ALERT = re.compile(r"\A\[!([A-Za-z]+)\][+-]?\s*")


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
    """The blocks of Markdown source, by way of the page that it makes, so that tags in it span what they span there.

    Alternative texts of pictures go into the document's captions.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 60}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.core.ruler.after("block", "terms", _name_terms)
    env: dict[str, object] = {}
    tokens = parser.parse(text, env)
    _keep_numbers(tokens)
    yield from fragment_blocks(str(parser.renderer.render(tokens, parser.options, env)), document)


def _formula(state: StateInline, silent: bool) -> bool:
    """A formula in TeX between dollar signs stays as written: its signs are no markup."""
    match = _FORMULA.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("text", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _name_terms(state: StateCore) -> None:
    """A line that begins with a colon defines the words above it; a quote of GitHub's begins with its kind."""
    for at, token in enumerate(state.tokens):
        if token.type == "inline" and at and state.tokens[at - 1].type == "paragraph_open":
            token.content = _DEFINITION.sub(lambda m: f"{m[1]}{' ' if m[1] in '.?!:' else ': '}", token.content)
            if at > 1 and state.tokens[at - 2].type == "blockquote_open":
                token.content = _ALERT.sub(lambda m: f"{m[1].capitalize()}: ", token.content)


def _keep_numbers(tokens: Sequence[Token]) -> None:
    """Numbers of a list that rise stay as written; a list that says 1. before each item is counted."""
    lists: list[list[Token]] = []
    for token in tokens:
        if token.type.endswith("_list_open"):
            lists.append([])
        elif token.type == "list_item_open" and token.info:
            lists[-1].append(token)
        elif token.type.endswith("_list_close"):
            items = lists.pop()
            numbers = [int(item.info) for item in items]
            if all(a < b for a, b in zip(numbers, numbers[1:], strict=False)):
                for item in items:
                    item.attrSet("value", item.info)
