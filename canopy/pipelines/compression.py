"""Which regions of retrieved items are kept: CANOPY's rule, the selectors it is compared with, and whole items; over a store's node scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.hierarchy.tree import join_trees
from canopy.items import Evidence
from canopy.llm.roles import Trace
from canopy.pipelines.tools import Tools
from canopy.selection.layout import Layout


@dataclass(frozen=True, slots=True)
class Scored:
    """Items joined for one selection: their hierarchies as one forest and every node's score."""

    items: tuple[str, ...]
    layout: Layout
    scores: np.ndarray


def score_items(items: Sequence[str], query: str, tools: Tools, trace: Trace, scorer: str = "f_theta") -> Scored:
    """Scores of all nodes of the given items for a query, by a scorer of the tools."""
    vector = tools.searcher.vector(query, trace)
    started = time.perf_counter()
    source = tools.scorers[scorer]
    trees = [source.tree(i) for i in items]
    forest, nodes = join_trees(trees)
    fragments = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([int(t.hi[0]) for t in trees], out=fragments[1:])
    layout = Layout(forest, nodes, fragments, np.repeat(np.arange(len(items)), np.diff(nodes)))
    found = source.scores(items, vector)
    trace.spend("score", time.perf_counter() - started)
    return Scored(tuple(items), layout, np.concatenate(found) if found else np.zeros(0, dtype=np.float32))


def regions_of(scored: Scored, kept: np.ndarray, tools: Tools) -> list[Evidence]:
    """Kept nodes as regions, item by item in the order given, left to right within one."""
    forest, layout = scored.layout.forest, scored.layout
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.lexsort((forest.lo[chosen], layout.owner[chosen]))]
    out = []
    for n in chosen.tolist():
        item, lo, hi = scored.items[int(layout.owner[n])], int(forest.lo[n]), int(forest.hi[n])
        out.append(Evidence(item, lo, hi, float(scored.scores[n]), int(forest.depth[n]), span=tools.library.leaves(item).span(lo, hi)))
    return out


def keep_whole(items: Sequence[str], tools: Tools, retrieved: Sequence[float] = ()) -> list[Evidence]:
    """Whole items; scored by their retrieval where that is given."""
    return [Evidence(i, 0, tools.library.leaves(i).count, float(retrieved[n]) if len(retrieved) else 0.0, 0,
                     span=tools.library.leaves(i).span(0, tools.library.leaves(i).count)) for n, i in enumerate(items)]


