"""Which regions of retrieved items are kept: CANOPY's rule, the selectors it is compared with, and whole items; over a store's node scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from canopy.config import Options
from canopy.evaluation.systems import Layout, select_any_level, select_leaves, select_whole
from canopy.hierarchy.tree import join_trees
from canopy.items import Evidence
from canopy.llm.roles import Trace
from canopy.pipelines.tools import Tools
from canopy.refinement import refine

Select = Callable[[Layout, np.ndarray], np.ndarray]


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


def select_rule(options: Options) -> Select:
    """CANOPY's selection with the options that change it."""
    def choose(layout: Layout, scores: np.ndarray) -> np.ndarray:
        kept = select_global_leaves(layout, scores) if options.flat_global else refine(layout.forest, scores, rule=options.rule, margin=options.lookahead_margin)
        return keep_unsure_whole(layout, scores, kept, options.keep_margin) if options.keep_margin else kept
    return choose


def select_near_best(layout: Layout, scores: np.ndarray, distance: float) -> np.ndarray:
    """All leaves of each item that score within ``distance`` of its best leaf, as bool a node."""
    leaf = layout.forest.hi - layout.forest.lo == 1
    best = np.full(layout.pairs, -np.inf)
    np.maximum.at(best, layout.owner[leaf], scores[leaf])
    return leaf & (scores >= best[layout.owner] - distance)


def select_global_leaves(layout: Layout, scores: np.ndarray) -> np.ndarray:
    """Leaves of all items as one flat list of candidates: each that scores at least its parent stays; an item without one stays whole."""
    forest = layout.forest
    leaf = forest.hi - forest.lo == 1
    child = forest.parent >= 0
    good = leaf & (~child | (scores >= scores[np.where(child, forest.parent, 0)]))
    held = np.bincount(layout.owner[good], minlength=layout.pairs) > 0
    return good | (select_whole(layout) & ~held[layout.owner])


def keep_unsure_whole(layout: Layout, scores: np.ndarray, kept: np.ndarray, margin: float) -> np.ndarray:
    """The rule's choice, but whole items where no kept node scores ``margin`` above its item's root: a refinement that decides little is undone."""
    best = np.full(layout.pairs, -np.inf)
    np.maximum.at(best, layout.owner[kept], scores[kept])
    unsure = best < scores[layout.nodes[:-1]] + margin
    return np.where(unsure[layout.owner], select_whole(layout), kept)


def select_top_leaves(m: int) -> Select:
    """The m best leaves of each item."""
    return lambda layout, scores: select_leaves(layout, scores, m)


def select_top_nodes(m: int) -> Select:
    """The m best nodes of any level of each item, none inside another."""
    return lambda layout, scores: select_any_level(layout, scores, m)
