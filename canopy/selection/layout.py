"""The hierarchies of many items as flat arrays, over which selectors choose what each system keeps.

With the gold items given, every system sees the items that are annotated for the question, and chooses regions in them.
`canopy.evaluation.systems` names and describes the systems.

Of equal scores the first in level order counts as better, so that a larger region goes before its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.hierarchy.tree import Tree, build_tree, join_trees


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
    return join_layout([build_tree(int(n), branching) for n in counts])


def join_layout(trees: Sequence[Tree]) -> Layout:
    """Join hierarchies, one of each pair."""
    forest, nodes = join_trees(trees)
    fragments = np.zeros(len(trees) + 1, dtype=np.int64)
    np.cumsum([int(t.hi[0]) for t in trees], out=fragments[1:])
    return Layout(forest, nodes, fragments, np.repeat(np.arange(len(trees)), np.diff(nodes)))


def fragments_kept(layout: Layout, kept: np.ndarray) -> np.ndarray:
    """Spread kept nodes (bool a node) over the fragments they cover (bool a fragment)."""
    edges = np.zeros(int(layout.fragments[-1]) + 1, dtype=np.int64)
    start = layout.fragments[layout.owner[kept]]
    np.add.at(edges, start + layout.forest.lo[kept], 1)
    np.add.at(edges, start + layout.forest.hi[kept], -1)
    return np.cumsum(edges[:-1]) > 0


def rank_nodes(layout: Layout, scores: np.ndarray) -> np.ndarray:
    """Place of each node among its pair's nodes, best first from 0; equal scores keep level order."""
    order = np.lexsort((np.arange(len(scores)), -scores, layout.owner))
    rank = np.empty(len(scores), dtype=np.int64)
    rank[order] = np.arange(len(scores))
    return rank - layout.nodes[layout.owner]
