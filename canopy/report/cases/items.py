"""The items of cases as the page shows them: by title, as evidence forests, and as regions that a reader saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from canopy.encoder.words import item_words
from canopy.gold.marking import UNITS
from canopy.gold.thumbnails import make_thumbnail
from canopy.hierarchy.leaves import Leaves, cut_item
from canopy.items import Item
from canopy.report.cases.forest import judged_nodes
from canopy.report.cases.model import KeptRegion, ReadRegion
from canopy.report.cases.trees import CutText, ForestView, cut_text, view_fragments, view_icicle

_SHORT = 220  # characters of a region
_FEW = 2  # so many kept fragments of an item without gold are shown at once
_NODES = 600  # nodes of one item that are drawn


@dataclass(frozen=True, slots=True)
class RegionView:
    """A region that a reader saw: its item's title, where it lies, its length, and its words."""

    title: str
    place: str
    tokens: int
    rewritten: bool
    words: CutText


class ItemViews:
    """Items as a page of cases shows them; each is cut into fragments once.

    Parameters
    ----------
    items : mapping
        By id; an item that is missing is named by its id.
    """

    def __init__(self, items: Mapping[str, Item], branching: int, segment_seconds: float,
                 media: Mapping[str, Sequence[Path]]) -> None:
        self._items, self._branching, self._seconds, self._media = items, branching, segment_seconds, media
        self._cut: dict[str, Leaves] = {}

    def _leaves(self, item: Item) -> Leaves:
        if item.id not in self._cut:
            self._cut[item.id] = cut_item(item, self._seconds)
        return self._cut[item.id]

    def title(self, item_id: str) -> str:
        """An item's title and section."""
        item = self._items.get(item_id)
        return (" — ".join(t for t in (item.title, item.section) if t.strip()) or item_id) if item else item_id

    def forest(self, item_id: str, kept: Sequence[KeptRegion], gold: frozenset[int]) -> ForestView:
        """What the rule did with an item, and its fragments."""
        item = self._items.get(item_id)
        if item is None:
            return ForestView(item_id, missing=True)
        leaves, unit = self._leaves(item), UNITS[item.modality]
        nodes = judged_nodes(leaves.count, self._branching, [(r["lo"], r["hi"]) for r in kept])
        numbers = {n for r in kept for n in range(r["lo"], r["hi"])}
        score = f" · s = {max(r['score'] for r in kept):.3f}" if any(r["score"] for r in kept) else ""
        once, each = item_words(item, leaves)
        is_picture = item.modality == "image" and bool(numbers)
        return ForestView(
            item_id, title=self.title(item_id), state=_state(len(kept), len(numbers), leaves.count, unit),
            badge=f"{len(gold & numbers)} of {len(gold)} gold {unit}s kept" if gold else "",
            about=f"{item.modality} · {item_id}{score}",
            icicle=view_icicle(nodes, leaves.count, gold, unit) if leaves.count > 1 and len(nodes) <= _NODES else None,
            picture=make_thumbnail(item, self._media.get(item.benchmark, ())) if is_picture else None,
            heading=cut_text(once) if once.strip() and numbers else None,
            fragments=view_fragments(item, leaves, numbers, gold, each, unit),
            # Without gold there is little to look for in it.
            folded=f"{len(numbers)} {unit}s" if not gold and len(numbers) > _FEW else "")

    def region(self, evidence: ReadRegion) -> RegionView:
        """A region that a reader saw."""
        item_id, text = evidence["item_id"], evidence["text"]
        words = cut_text(self._words(evidence) if text is None else text, _SHORT)
        return RegionView(self.title(item_id), self._place(evidence), evidence["tokens"], text is not None, words)

    def _words(self, region: KeptRegion) -> str:
        item = self._items.get(region["item_id"])
        if item is None:
            return ""
        once, each = item_words(item, self._leaves(item))
        return " ".join(t for t in (once, *each[region["lo"]:region["hi"]]) if t.strip())

    def _place(self, region: KeptRegion) -> str:
        item, lo, hi = self._items.get(region["item_id"]), region["lo"], region["hi"]
        if item is None:
            return f"fragments {lo + 1}–{hi}"
        unit, count = UNITS[item.modality], self._leaves(item).count
        if count == 1 or (lo, hi) == (0, count):
            return f"{item.modality}, whole"
        return f"{unit} {lo + 1}" if hi - lo == 1 else f"{unit}s {lo + 1}–{hi} of {count}"


def _state(regions: int, kept: int, count: int, unit: str) -> str:
    """What became of an item, in words."""
    if not kept:
        return "dropped"
    if kept < count:
        return f"{kept} of {count} {unit}s kept"
    return "kept whole" if regions == 1 else "split, nothing lost"
