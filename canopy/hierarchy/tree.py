"""The hierarchy over an item's fragments, as flat arrays in level order, and forests of many items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, slots=True)
class Tree:
    """A hierarchy (or, concatenated, many) in level order within each item.

    Every array has one entry a node. ``lo``/``hi``: its fragments ``[lo, hi)``; ``parent``: index of its parent, -1
    at a root; ``depth``: 0 at a root. Children of a node stand together and after it.
    """

    lo: np.ndarray
    hi: np.ndarray
    parent: np.ndarray
    depth: np.ndarray

    def __len__(self) -> int:
        return len(self.lo)

    def children(self, node: int) -> np.ndarray:
        """Indices of a node's children."""
        return np.flatnonzero(self.parent == node)


def child_spans(lo: int, hi: int, branching: int) -> list[tuple[int, int]]:
    """min(B, n) contiguous groups whose sizes differ by at most one, larger groups first (B = 2: 11 -> 6 + 5)."""
    n = hi - lo
    if n <= 1:
        return []
    parts = min(branching, n)
    size, extra = divmod(n, parts)
    edges = [lo]
    for i in range(parts):
        edges.append(edges[-1] + size + (i < extra))
    return list(zip(edges[:-1], edges[1:], strict=True))


@lru_cache(maxsize=4096)
def build_tree(n: int, branching: int = 2) -> Tree:
    """The hierarchy over n fragments: the root is the whole item, a leaf one fragment (paper, section 3.1).

    Returns
    -------
    Tree
        Read-only arrays; equal for every item with as many fragments, and therefore shared.
    """
    if n < 1:
        raise ValueError(f"an item has at least one fragment, not {n}")
    spans, parent, depth = [(0, n)], [-1], [0]
    for v, (lo, hi) in enumerate(spans):
        for span in child_spans(lo, hi, branching):
            spans.append(span)
            parent.append(v)
            depth.append(depth[v] + 1)
    lo_hi = np.array(spans, dtype=np.int32)
    tree = Tree(lo_hi[:, 0].copy(), lo_hi[:, 1].copy(), np.array(parent, dtype=np.int64),
                np.array(depth, dtype=np.int32))
    for a in (tree.lo, tree.hi, tree.parent, tree.depth):
        a.setflags(write=False)
    return tree


def join_trees(trees: Sequence[Tree]) -> tuple[Tree, np.ndarray]:
    """Concatenate hierarchies for one vectorised refinement.

    Returns
    -------
    forest : Tree
        Parents are indices into the joined arrays.
    offsets : ndarray of int64, shape (len(trees) + 1,)
        Nodes of item i are ``offsets[i]:offsets[i + 1]``.
    """
    offsets = np.zeros(len(trees) + 1, dtype=np.int64)
    np.cumsum([len(t) for t in trees], out=offsets[1:])
    if not trees:
        e = np.zeros(0, dtype=np.int64)
        return Tree(e, e, e, e), offsets
    parent = np.concatenate([np.where(t.parent < 0, -1, t.parent + o)
                             for t, o in zip(trees, offsets[:-1], strict=True)])
    return Tree(np.concatenate([t.lo for t in trees]), np.concatenate([t.hi for t in trees]), parent,
                np.concatenate([t.depth for t in trees])), offsets
