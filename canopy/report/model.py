"""What a report is made of: tables, figures, and sections of blocks. Every format is rendered from these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from canopy.scoring.bootstrap import Interval

Kind = Literal["text", "count", "number", "percent", "points", "change", "signed", "auto", "auto_points"]
Cell = str | float | bool | Interval | None
Row = dict[str, Cell]
MARK, GOOD, PERCENT = "_mark_", "_good_", "_percent"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, its title, and how a value is shown.

    ``auto`` is ``percent`` or ``number`` and ``auto_points`` is ``points`` or ``signed``, by the row's ``_percent``.
    """

    key: str
    label: str
    kind: Kind = "text"


@dataclass(slots=True)
class Table:
    """Rows with raw values, an `Interval` if there is one.

    Attributes
    ----------
    about : mapping
        What holds for the whole table (who read, which corpus). It is shown with the table and is columns of its CSV.
    rows : list of dict
        Keys that begin with ``_`` say how a row is shown: ``_percent``, ``_good_<column>`` (whether a difference is for
        the better) and ``_mark_<column>`` (a sign). Columns whose key begins with ``paper`` hold the paper's figures.
    """

    key: str
    title: str
    columns: list[Column]
    rows: list[Row]
    note: str = ""
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its file name without ending, a title, what it shows, and its SVG."""

    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; ``links`` are (text, address) that follow it, or its only content."""

    text: str
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms and what they mean; with a ``title`` they are folded away under it."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Tabular:
    """A table in its place: under its title or not, open or folded away under its title."""

    table: Table
    headed: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures side by side if there is room."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Quotation:
    """Figures of the paper in a box of their own: no part of it can be taken for ours."""

    title: str
    tables: tuple[Table, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One change at a glance: before, after, and the difference with its interval and verdict (a CSS class)."""

    label: str
    before: str
    after: str
    difference: str
    interval: str
    verdict: str
    baseline: str


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles under a title; the text format leaves them out, because tables hold the same figures."""

    title: str
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A page beside the report that is shown in its place: what differs from run to run is in no hashed output."""

    title: str
    address: str


Block = Frame | Paragraph | Heading | Bullets | Terms | Tabular | Figures | Quotation | Tiles


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report.

    Attributes
    ----------
    key : str
        Its id on the page.
    places : tuple of str
        The paper's tables and figures that treat the same.
    """

    key: str
    title: str
    blocks: tuple[Block, ...]
    places: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """The tables that are files of their own; the paper's are none."""
        return [b.table for b in self.blocks if isinstance(b, Tabular)]

    @property
    def figures(self) -> list[Figure]:
        """The figures, which are files of their own."""
        return [f for b in self.blocks if isinstance(b, Figures) for f in b.figures]


def section(key: str, title: str, text: Sequence[str] = (), tables: Sequence[Table] = (),
            figures: Sequence[Figure] = (), *,
            folded: Sequence[Table] = (), headed: bool | None = None, places: Sequence[str] = (),
            quotation: Quotation | None = None) -> Section:
    """A section of sentences, tables, figures, and what the paper says of the same.

    Parameters
    ----------
    folded : sequence of Table
        Tables that are folded away under their titles on the page.
    headed : bool, optional
        Whether tables stand under their titles. By default they do if there are several.
    """
    titled = len(tables) + len(folded) > 1 if headed is None else headed
    blocks: list[Block] = [*map(Paragraph, text), *(Tabular(t, titled) for t in tables)]
    if figures:
        blocks.append(Figures(tuple(figures)))
    blocks += [Tabular(t, True, True) for t in folded]
    if quotation is not None:
        blocks.append(quotation)
    return Section(key, title, tuple(blocks), tuple(places))
