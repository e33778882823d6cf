"""An item's evidence forest as the page of cases shows it: its hierarchy as bars, and its fragments kept and
dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from canopy.gold.marking import clock
from canopy.gold.thumbnails import Thumbnail
from canopy.hierarchy.leaves import Leaves
from canopy.items import Item
from canopy.pages import plural
from canopy.report.cases.forest import NodeState

_LONGEST = 320  # characters of a fragment
_FRAGMENTS = 40  # kept fragments of one item; gold ones are always shown


@dataclass(frozen=True, slots=True)
class CutText:
    """A text in one line; so many characters of its end are left out."""

    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """A node: where it stands in its level, in percent, what became of it, and its fragments."""

    state: str
    left: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class Icicle:
    """The hierarchy as bars, a row a level; the last row marks the gold."""

    label: str
    levels: list[list[Bar]]
    marks: list[Bar]


@dataclass(frozen=True, slots=True)
class FragmentView:
    """A fragment that was kept or is gold: its time in a video, and its words."""

    kept: bool
    gold: bool
    time: str
    words: CutText


@dataclass(frozen=True, slots=True)
class ForestView:
    """An item of a round; ``missing`` if the corpus has no such item.

    ``fragments`` holds texts for what is left out between.
    """

    id: str
    missing: bool = False
    title: str = ""
    state: str = ""
    badge: str = ""
    about: str = ""
    icicle: Icicle | None = None
    picture: Thumbnail | None = None
    heading: CutText | None = None
    fragments: tuple[FragmentView | str, ...] = ()
    folded: str = ""


def cut_text(text: str, longest: int = _LONGEST) -> CutText:
    """A text in one line, cut at so many characters."""
    text = " ".join(text.split())
    return CutText(text[:longest], max(0, len(text) - longest))


def view_fragments(item: Item, leaves: Leaves, kept: set[int], gold: frozenset[int], each: Sequence[str], unit: str
                   ) -> tuple[FragmentView | str, ...]:
    """Kept and gold fragments in full, and what was dropped between them as a note of how many."""
    parts: list[FragmentView | str] = []
    dropped = hidden = 0
    time: Callable[[int], str] = (lambda n: clock(leaves.bounds[n])) if item.modality == "video" else (lambda n: "")
    for n in [*range(leaves.count), -1]:
        if n >= 0 and n not in gold and (n not in kept or len(parts) >= _FRAGMENTS):
            dropped, hidden = dropped + (n not in kept), hidden + (n in kept)
            continue
        for count, what in ((dropped, "dropped"), (hidden, "kept, not shown")):
            if count:
                parts.append(f"{count} {plural(count, unit)} {what}")
        dropped = hidden = 0
        if n >= 0:
            parts.append(FragmentView(n in kept, n in gold, time(n), cut_text(each[n])))
    return tuple(parts)


def view_icicle(nodes: Sequence[NodeState], count: int, gold: frozenset[int], unit: str) -> Icicle:
    """What was kept, split and dropped, level by level."""
    levels = []
    for depth in range(max(n.depth for n in nodes) + 1):
        levels.append([_bar(n.state, n.lo, n.hi, count, f"{unit}s {n.lo + 1}–{n.hi}: {n.state}") for n in nodes
                       if n.depth == depth])
    marks = [_bar("gold", g, g + 1, count, "") for g in sorted(gold)]
    kept = [f"{n.lo + 1}–{n.hi}" for n in nodes if n.state == "kept"]
    label = f"hierarchy over {count} {unit}s; kept: {', '.join(kept) or 'none'}"
    if gold:
        label += f"; gold: {', '.join(str(g + 1) for g in sorted(gold))}"
    return Icicle(label, levels, marks)


def _bar(state: str, lo: int, hi: int, count: int, title: str) -> Bar:
    return Bar(state, 100 * lo / count, 100 * (hi - lo) / count, title)
