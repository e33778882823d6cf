"""Items with their hierarchies and node scores, joined for one selection, and the regions that a selection keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.encoder.base import NodeEncoder, NodeRequest
from canopy.hierarchy.leaves import Leaves, cut_item
from canopy.hierarchy.tree import Tree, build_tree
from canopy.items import Evidence, Item
from canopy.refinement import refine
from canopy.selection.layout import Layout, join_layout


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item for one question.

    Attributes
    ----------
    scores : ndarray of float32, shape (nodes,)
        Similarity of each node of ``tree`` to the question.
    encoded : bool
        Whether its nodes were encoded for this question; False: their vectors were there already.
    """

    id: str
    leaves: Leaves
    tree: Tree
    scores: np.ndarray
    encoded: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidates joined for one selection: their hierarchies as one forest, and every node's score."""

    items: tuple[str, ...]
    leaves: tuple[Leaves, ...]
    layout: Layout
    scores: np.ndarray


def cut(item: Item, branching: int, segment_seconds: float) -> tuple[Leaves, Tree]:
    """An item's leaves and the hierarchy over them."""
    leaves = cut_item(item, segment_seconds)
    return leaves, build_tree(leaves.count, branching)


def encode(item: Item, leaves: Leaves, tree: Tree, encoder: NodeEncoder) -> np.ndarray:
    """Vectors of an item's nodes, float16 as in the node store, shape (nodes, dimension).

    Items are encoded one by one. In a batch the last bits of a vector would depend on its neighbours.
    """
    return encoder.encode_nodes([NodeRequest(item, leaves, tree.lo, tree.hi)])[0].astype(np.float16)


def join(candidates: Sequence[Candidate]) -> Scored:
    """Join candidates for one selection."""
    scores = [c.scores for c in candidates]
    return Scored(tuple(c.id for c in candidates), tuple(c.leaves for c in candidates),
                  join_layout([c.tree for c in candidates]),
                  np.concatenate(scores) if scores else np.zeros(0, dtype=np.float32))


def select(candidates: Sequence[Candidate], rule: str, margin: float) -> list[list[Evidence]]:
    """What a refinement rule keeps of each candidate."""
    scored = join(candidates)
    return regions_by_item(scored, refine(scored.layout.forest, scored.scores, rule=rule, margin=margin))


def regions_by_item(scored: Scored, kept: np.ndarray) -> list[list[Evidence]]:
    """Kept nodes as regions, a list for each item, in reading order.

    Parameters
    ----------
    kept : ndarray of bool, shape (nodes,)
        True at the nodes that a selector keeps.
    """
    forest, layout = scored.layout.forest, scored.layout
    nodes = np.flatnonzero(kept)
    nodes = nodes[np.lexsort((forest.lo[nodes], layout.owner[nodes]))]
    regions: list[list[Evidence]] = [[] for _ in scored.items]
    for n in nodes.tolist():
        owner, lo, hi = int(layout.owner[n]), int(forest.lo[n]), int(forest.hi[n])
        regions[owner].append(Evidence(scored.items[owner], lo, hi, float(scored.scores[n]), int(forest.depth[n]),
                                       span=scored.leaves[owner].span(lo, hi)))
    return regions
