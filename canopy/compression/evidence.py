"""The result of a compression: what is kept of each item, where it stands, and how long it is."""

from __future__ import annotations

from dataclasses import dataclass

from canopy.items import Modality, Unit


@dataclass(frozen=True, slots=True)
class Region:
    """A kept region of an item.

    Attributes
    ----------
    fragments : tuple of int
        The fragments ``[lo, hi)`` that it covers.
    span : tuple
        What they cover in the item's unit, half-open; a text's span is exactly its words: ``text[start:end]``.
    score : float
        Similarity of the region to the question, to six digits.
    depth : int
        Depth in the item's hierarchy; 0 is the whole item.
    tokens : int
        Length in the encoder's tokens, without the item's head.
    text : str
        Its words.
    """

    fragments: tuple[int, int]
    span: tuple[int | float, int | float]
    score: float
    depth: int
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """One minimal fragment, and whether it is kept."""

    span: tuple[int | float, int | float]
    text: str
    kept: bool


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    """The evidence forest of one item.

    Attributes
    ----------
    unit : {"chars", "rows", "seconds", "item"}
        What spans count.
    count : int
        Fragments in the item.
    head : str
        Words that come once with whatever is kept: a table's title, a video's caption.
    tokens_before, tokens_after : int
        Length of the item and of what is kept of it, head included, in the encoder's tokens.
    retrieval_score : float or None
        Similarity of the whole item, if it was retrieved.
    regions : tuple of Region
        In reading order.
    fragments : tuple of Fragment or None
        Every fragment, kept or not, if the caller asked for them.
    """

    id: str
    modality: Modality
    title: str
    unit: Unit
    count: int
    head: str
    tokens_before: int
    tokens_after: int
    retrieval_score: float | None
    regions: tuple[Region, ...]
    fragments: tuple[Fragment, ...] | None = None

    @property
    def text(self) -> str:
        """What is kept, ready to be read: the head (of a text: its title), then each region on a line of its own."""
        head = self.head or (self.title if self.modality == "text" else "")
        return "\n".join(words for words in (head, *(r.text for r in self.regions)) if words)


@dataclass(frozen=True, slots=True)
class Compression:
    """The evidence of all items for one question, in the order of the items.

    ``notes`` say what of the items was filled or left aside (a table's short rows, files that are not read).
    """

    question: str
    items: tuple[ItemEvidence, ...]
    notes: tuple[str, ...] = ()

    @property
    def tokens_before(self) -> int:
        """Length of all items in the encoder's tokens."""
        return sum(i.tokens_before for i in self.items)

    @property
    def tokens_after(self) -> int:
        """Length of all that is kept in the encoder's tokens."""
        return sum(i.tokens_after for i in self.items)

    @property
    def text(self) -> str:
        """What is kept of all items, ready to be read: an empty line between two items."""
        return "\n\n".join(i.text for i in self.items if i.text)
