"""What every kind of document is read into: headings, paragraphs, tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_INVISIBLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u00ad\u200b\u2060\ufeff]")
# Control characters that no text has; they are what Windows-1252 has at their place, read as if it were Latin-1.
CONTROLS = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}


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
        In reading order; read once. ``title``, ``captions`` and ``notes`` are complete when it has been read to its
        end.
    title : str
        Its own title; empty if it has none (the file's name then stands in).
    captions : dict of str to str
        Alternative texts of the pictures it refers to, by the reference as written.
    notes : list of str
        What a person should know about how it was read.
    struck_out : int
        Struck-out passages that were left out so far.
    """

    blocks: Iterable[Block]
    title: str = ""
    captions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    struck_out: int = 0


def clean(text: str) -> str:
    """Text without control and invisible characters, with plain line ends; everything that shows stays as it is."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    return _INVISIBLE.sub("", text).translate(CONTROLS).strip()


def one_line(text: str) -> str:
    """Cleaned text with every stretch of white space made one blank, as in a heading or a cell."""
    return " ".join(clean(text).split())
