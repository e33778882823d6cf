"""Parent-relative refinement: which regions of each item are kept (paper, section 3.2), vectorised over many items."""

from __future__ import annotations

import numpy as np

from canopy.hierarchy.tree import Tree


def refine(tree: Tree, scores: np.ndarray) -> np.ndarray:
    """Keep the regions that the rule keeps, for one item or a forest of them.

    From the root down: a visited node is replaced by all its children that score at least as much as it does; where there
    is none it is kept whole. No budget, no count, no threshold. Scores are only compared along parent links, hence
    never between items.

    Parameters
    ----------
    tree : Tree
        One hierarchy, or many joined by ``join_trees``.
    scores : ndarray, shape (nodes,)
        Similarity of each node to the query; must be finite.

    Returns
    -------
    ndarray of bool, shape (nodes,)
        True at kept nodes; they are the evidence forest (no one an ancestor of another).
    """
    scores = np.asarray(scores)
    if scores.shape != tree.lo.shape:
        raise ValueError(f"{len(tree)} nodes but scores of shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores hold NaN or infinity: no order between parent and child exists")
    visited = tree.parent < 0
    explored = np.zeros(len(tree), dtype=bool)
    order = np.argsort(tree.depth, kind="stable")
    edges = np.searchsorted(tree.depth[order], np.arange(1, (tree.depth.max(initial=0)) + 2))
    for start, end in zip(edges[:-1], edges[1:], strict=True):
        level = order[start:end]
        above = tree.parent[level]
        passing = level[visited[above] & (scores[level] >= scores[above])]
        visited[passing] = True
        explored[tree.parent[passing]] = True
    return visited & ~explored
