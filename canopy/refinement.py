"""Parent-relative refinement: which regions of each item are kept (paper, section 3.2), vectorised over many items; and a rule that looks ahead."""

from __future__ import annotations

import numpy as np

from canopy.hierarchy.tree import Tree


def refine(tree: Tree, scores: np.ndarray, *, rule: str = "parent", margin: float = 0.0) -> np.ndarray:
    """Keep the regions that the rule keeps, for one item or a forest of them.

    From the root down: a visited node is replaced by all its children that qualify; where none does it is kept whole. No budget, no
    count, no threshold. Scores are only compared along one item's branches, hence never between items.

    Under ``parent``, the paper's rule, a child qualifies when it scores at least as much as its parent. Under ``lookahead``, ours, when its
    best descendant, itself included, scores at least the parent plus ``margin``: one weak level does not hide a strong leaf below it.

    Parameters
    ----------
    tree : Tree
        One hierarchy, or many joined by ``join_trees``.
    scores : ndarray, shape (nodes,)
        Similarity of each node to the query; must be finite.
    rule : {"parent", "lookahead"}
    margin : float
        Of ``lookahead`` only, in units of the score.

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
    if rule not in ("parent", "lookahead"):
        raise ValueError(f"no refinement rule {rule!r}; there are parent and lookahead")
    levels = _levels(tree)
    reach, asked = scores, scores
    if rule == "lookahead":
        reach, asked = scores.copy(), scores + np.asarray(margin, dtype=scores.dtype)
        for level in reversed(levels):
            np.maximum.at(reach, tree.parent[level], reach[level])
    visited = tree.parent < 0
    explored = np.zeros(len(tree), dtype=bool)
    for level in levels:
        above = tree.parent[level]
        passing = level[visited[above] & (reach[level] >= asked[above])]
        visited[passing] = True
        explored[tree.parent[passing]] = True
    return visited & ~explored


def _levels(tree: Tree) -> list[np.ndarray]:
    """Indices of the nodes of each depth from 1 on."""
    order = np.argsort(tree.depth, kind="stable")
    edges = np.searchsorted(tree.depth[order], np.arange(1, (tree.depth.max(initial=0)) + 2))
    return [order[start:end] for start, end in zip(edges[:-1], edges[1:], strict=True)]
