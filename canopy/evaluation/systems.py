"""Which regions each compared system keeps of the gold items, over flat arrays of all items at once.

Setting "gold items given": every system sees the same items, those annotated for the question, and chooses regions inside them.

=================  =====================================================================================================
``f0 one_pass``    CANOPY's rule on the frozen encoder's scores, nodes pooled from one encoding of the whole item
``f0 separate``    CANOPY's rule on the frozen encoder's scores, every node encoded on its own words (the paper's way)
``f_theta``        CANOPY's rule on the tuned node encoder's scores, in the mode it was trained in
``flat leaf m=k``  of each item the k leaves that f_theta scores highest; no hierarchy
``any-level m=k``  of each item the k nodes that f_theta scores highest, of any level, taken greedily: once a node is
                   chosen its ancestors and descendants are out
``whole item``     everything: the ceiling of recall and of cost
``gold span``      the annotated fragments (of every alternative annotation) and nothing else: an oracle, no system
=================  =====================================================================================================

Equal scores are taken in level order, so that a larger region goes before its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.hierarchy.tree import Tree, build_tree, join_trees
from canopy.refinement import refine


@dataclass(frozen=True, slots=True)
class Layout:
    """The hierarchies of many (question, item) pairs, joined.

    Attributes
    ----------
    forest : Tree
        All nodes, pair after pair, in level order within each.
    nodes, fragments : ndarray of int64, shape (pairs + 1,)
        Pair p owns nodes ``nodes[p]:nodes[p + 1]`` and fragments ``fragments[p]:fragments[p + 1]``.
    owner : ndarray of int64
        The pair of each node.
    """

    forest: Tree
    nodes: np.ndarray
    fragments: np.ndarray
    owner: np.ndarray

    @property
    def pairs(self) -> int:
        """Number of (question, item) pairs."""
        return len(self.nodes) - 1


def lay_out(counts: Sequence[int], branching: int) -> Layout:
    """Join the hierarchies of pairs whose items have ``counts`` fragments."""
    forest, nodes = join_trees([build_tree(int(n), branching) for n in counts])
    fragments = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.asarray(counts, dtype=np.int64), out=fragments[1:])
    return Layout(forest, nodes, fragments, np.repeat(np.arange(len(counts)), np.diff(nodes)))


def fragments_kept(layout: Layout, kept: np.ndarray) -> np.ndarray:
    """Spread kept nodes (bool a node) over the fragments they cover (bool a fragment)."""
    edges = np.zeros(int(layout.fragments[-1]) + 1, dtype=np.int64)
    start = layout.fragments[layout.owner[kept]]
    np.add.at(edges, start + layout.forest.lo[kept], 1)
    np.add.at(edges, start + layout.forest.hi[kept], -1)
    return np.cumsum(edges[:-1]) > 0


@dataclass(frozen=True, slots=True)
class Refined:
    """What the rule did, as bool a node: ``kept`` whole, ``split`` into children, ``dropped`` below its split parent's score."""

    kept: np.ndarray
    split: np.ndarray
    dropped: np.ndarray


def judge(layout: Layout, scores: np.ndarray) -> Refined:
    """Run the rule and say what became of every node that it looked at (nodes inside a kept or dropped one are none of these)."""
    forest = layout.forest
    kept = refine(forest, scores)
    split = np.zeros(len(forest), dtype=bool)
    front = forest.parent[kept]
    while len(front := np.unique(front[front >= 0])):
        split[front] = True
        front = forest.parent[front]
    child = forest.parent >= 0
    dropped = np.zeros(len(forest), dtype=bool)
    dropped[child] = split[forest.parent[child]]
    return Refined(kept, split, dropped & ~kept & ~split)


def _rank(layout: Layout, scores: np.ndarray) -> np.ndarray:
    order = np.lexsort((np.arange(len(scores)), -scores, layout.owner))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.arange(len(scores))
    return rank - layout.nodes[layout.owner]


def select_leaves(layout: Layout, scores: np.ndarray, m: int | np.ndarray) -> np.ndarray:
    """The m best leaves of each item (all where there are fewer), as bool a node; ``m`` is one number, or one a node."""
    leaf = layout.forest.hi - layout.forest.lo == 1
    return leaf & (_rank(layout, np.where(leaf, scores, -np.inf)) < m)


def select_any_level(layout: Layout, scores: np.ndarray, m: int) -> np.ndarray:
    """The m best nodes of each item, none inside another, as bool a node (fewer once the item is covered)."""
    lo, hi, owner = layout.forest.lo, layout.forest.hi, layout.owner
    free, chosen = np.ones(len(scores), dtype=bool), np.zeros(len(scores), dtype=bool)
    for _ in range(m):
        best = (_rank(layout, np.where(free, scores, -np.inf)) == 0) & free
        if not best.any():
            break
        chosen |= best
        # Two nodes of one hierarchy overlap exactly when one is the other's ancestor.
        taken_lo, taken_hi = np.zeros(layout.pairs, dtype=np.int64), np.zeros(layout.pairs, dtype=np.int64)
        taken_lo[owner[best]], taken_hi[owner[best]] = lo[best], hi[best]
        free &= (hi <= taken_lo[owner]) | (lo >= taken_hi[owner])
    return chosen


def select_whole(layout: Layout) -> np.ndarray:
    """The root of each item, as bool a node."""
    return layout.forest.parent < 0
