"""What every system works with.

The items, the search, the node scores and the roles, opened once and shared by all questions.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from canopy.config import Answers
from canopy.embeddings.store import NodeStore
from canopy.encoder.pictures import Folders, media_file
from canopy.encoder.words import region_text
from canopy.hierarchy.leaves import Leaves, cut_item
from canopy.hierarchy.tree import Tree
from canopy.index.item_index import ItemIndex
from canopy.items import Evidence, Item
from canopy.llm.roles import RegionView, Roles, Trace, encodable


class Library:
    """The corpus's items with their leaves and words.

    Parameters
    ----------
    items : mapping
        Item id to item: the corpus, folded items included.
    representatives : mapping
        Folded item id to its representative; others stand for themselves.
    media : mapping
        Benchmark to the folder (or folders, tried in order) that its items' ``media`` paths count from.
    """

    def __init__(self, items: Mapping[str, Item], segment_seconds: float,
                 representatives: Mapping[str, str] | None = None, media: Folders | None = None) -> None:
        self._items, self._seconds = items, segment_seconds
        self._representatives, self._media = representatives or {}, media or {}
        self._leaves: dict[str, Leaves] = {}

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    def item(self, item_id: str) -> Item:
        """An item by its id."""
        return self._items[item_id]

    def representative(self, item_id: str) -> str:
        """The item that stands for this one in the index."""
        return self._representatives.get(item_id, item_id)

    def leaves(self, item_id: str) -> Leaves:
        """An item's leaves."""
        leaves = self._leaves.get(item_id)
        if leaves is None:
            leaves = self._leaves[item_id] = cut_item(self._items[item_id], self._seconds)
        return leaves

    def show(self, region: Evidence, times: Sequence[float] = ()) -> RegionView:
        """A region as roles see it.

        What a compressor wrote in its place is shown as a text without title or picture.
        """
        item, leaves = self._items[region.item_id], self.leaves(region.item_id)
        if region.text:
            return RegionView(item.id, "text", "", region.lo, region.hi, region.text, region.score, "",
                              leaves.span(region.lo, region.hi))
        return RegionView(item.id, item.modality, item.title, region.lo, region.hi,
                          region_text(item, leaves, region.lo, region.hi), region.score,
                     self.picture(item.id), leaves.span(region.lo, region.hi), tuple(times))

    def picture(self, item_id: str) -> str:
        """Full path of an image's or video's file, empty if there is none."""
        file = media_file(self._items[item_id], self._media)
        return str(file.absolute()) if file else ""


class Searcher:
    """Exact search by f0 over the items of one corpus scope.

    Parameters
    ----------
    encode : callable
        Texts to f0's unit vectors, float32, shape (texts, dimension); the vectors of repeated queries are kept.
    allowed : ndarray of bool or None
        Rows of the index that this corpus_scope may find (a benchmark's own corpus); None: all.
    modality : ndarray of str
        Modality of each row.
    """

    def __init__(self, index: ItemIndex, encode: Callable[[Sequence[str]], np.ndarray], modality: np.ndarray,
                 allowed: np.ndarray | None = None) -> None:
        self._index, self._encode, self._modality, self._allowed = index, encode, modality, allowed
        self._row = {i: n for n, i in enumerate(index.ids)}
        self._vectors: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def modalities(self) -> list[str]:
        """Modalities that this corpus scope has items of, in a fixed order."""
        seen = self._modality if self._allowed is None else self._modality[self._allowed]
        return sorted(set(seen.tolist()))

    def vector(self, query: str, trace: Trace | None = None) -> np.ndarray:
        """f0's unit vector of a query, shape (dimension,).

        Half a surrogate pair, which a model may write, becomes a question mark.
        """
        started = time.perf_counter()
        query = encodable(query)
        with self._lock:  # one encoder, many threads; torch uses its own threads inside
            vector = self._vectors.get(query)
            if vector is None:
                vector = self._vectors[query] = self._encode([query])[0]
                if len(self._vectors) > 50_000:
                    self._vectors.popitem(last=False)
        if trace is not None:
            trace.spend("encode", time.perf_counter() - started)
        return vector

    def search(self, query: str, k: int, trace: Trace, *, modalities: Collection[str] | None = None,
               exclude: Collection[str] = ()) -> list[tuple[str, float]]:
        """The k best (item id, score), best first, fewer if the corpus has fewer.

        ``modalities`` restricts the search, ``exclude`` leaves items out, both inside the index, so that k results
        still come.
        """
        vector = self.vector(query, trace)
        started = time.perf_counter()
        mask = self._allowed
        if modalities is not None:
            mask = np.isin(self._modality, list(modalities)) & (True if mask is None else mask)
        if exclude:
            mask = np.ones(len(self._modality), dtype=bool) if mask is None else mask.copy()
            mask[[self._row[i] for i in exclude if i in self._row]] = False
        scores, ids = self._index.search(vector[None], k, among=mask)
        trace.spend("search", time.perf_counter() - started)
        return [(i, float(s)) for i, s in zip(ids[0], scores[0], strict=False)]


class Scorer:
    """Node scores s(q, v) out of a node store (``f0`` or ``f_theta``)."""

    def __init__(self, store: NodeStore, representative: Callable[[str], str]) -> None:
        self._store, self._representative = store, representative

    def store_id(self, item_id: str) -> str:
        """The id under which the store has an item's nodes: its own, or that of the equal item it was folded into."""
        return item_id if item_id in self._store else self._representative(item_id)

    def tree(self, item_id: str) -> Tree:
        """An item's hierarchy."""
        return self._store.tree(self.store_id(item_id))

    def scores(self, item_ids: Sequence[str], query: np.ndarray) -> list[np.ndarray]:
        """Scores of all nodes of the given items, in level order, float32."""
        return self._store.scores([self.store_id(i) for i in item_ids], query)


@dataclass(slots=True)
class Tools:
    """All that a system may use. ``gold`` (question id to (item id, fragments) of its best-annotated group) is for
    oracles and measuring only.

    ``corpus_scope`` says what is searched: ``unified`` (all benchmarks' items), ``own`` (this benchmark's), ``gold``
    (nothing is searched: each question's annotated items are given, and ``find`` returns them). ``evidence_cap``: which
    cap of the reader's evidence holds, the paper's for text (16k) or for video benchmarks (64k).
    """

    library: Library
    searcher: Searcher
    scorers: Mapping[str, Scorer]
    roles: Roles
    answers: Answers
    corpus_scope: str = "unified"
    gold: Mapping[str, Sequence[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)
    evidence_cap: Literal["text", "video"] = "text"
    models: Mapping[str, Any] = field(default_factory=dict)

    def find(self, question_id: str, query: str, k: int, trace: Trace, *, modalities: Collection[str] | None = None,
             exclude: Collection[str] = ()) -> list[tuple[str, float]]:
        """Search; under the corpus scope ``gold`` the question's annotated items, without a search.

        A follow-up under ``gold`` adds nothing: the first call gives all annotated items.
        """
        if self.corpus_scope == "gold":
            items = dict.fromkeys(i for i, _ in self.gold.get(question_id, ()))
            return [(i, 0.0) for i in items if i not in exclude
                    and (modalities is None or self.library.item(i).modality in modalities)]
        return self.searcher.search(query, k, trace, modalities=modalities, exclude=exclude)
