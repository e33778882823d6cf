"""Parent-relative refinement (paper, section 3.2), over many items at once, and our rule that looks ahead."""

from __future__ import annotations

import numpy as np

from canopy.config import REFINEMENT_RULES
from canopy.hierarchy.tree import Tree


def refine(tree: Tree, scores: np.ndarray, *, rule: str = "parent", margin: float = 0.0) -> np.ndarray:
    """Choose the regions that are kept, of one item or of a forest.

    From the root down, a visited node is replaced by all its children that qualify. If none does, it is kept whole.
    There is no budget, no count and no threshold. Scores are compared along one item's branches only, never between
    items.

    Under ``parent``, the paper's rule, a child qualifies if it scores at least as much as its parent. Under
    ``lookahead``, ours, it qualifies if its best descendant, itself included, scores at least the parent plus
    ``margin``: one weak level does not hide a strong leaf below it.

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
        True at kept nodes; they are the evidence forest (none is an ancestor of another).

    Raises
    ------
    ValueError
        If the scores are not one finite number a node, or there is no such rule.
    """
    scores = np.asarray(scores)
    if scores.shape != tree.lo.shape:
        raise ValueError(f"{len(tree)} nodes but scores of shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("scores hold NaN or infinity: no order between parent and child exists")
    if rule not in REFINEMENT_RULES:
        raise ValueError(f"no refinement rule {rule!r}; there are parent and lookahead")
    levels = _levels(tree)
    reach, threshold = scores, scores
    if rule == "lookahead":
        reach, threshold = scores.copy(), scores + np.asarray(margin, dtype=scores.dtype)
        for level in reversed(levels):
            np.maximum.at(reach, tree.parent[level], reach[level])
    visited = tree.parent < 0
    explored = np.zeros(len(tree), dtype=bool)
    for level in levels:
        above = tree.parent[level]
        passing = level[visited[above] & (reach[level] >= threshold[above])]
        visited[passing] = True
        explored[tree.parent[passing]] = True
    return visited & ~explored


def _levels(tree: Tree) -> list[np.ndarray]:
    """Indices of the nodes of each depth from 1 on."""
    order = np.argsort(tree.depth, kind="stable")
    edges = np.searchsorted(tree.depth[order], np.arange(1, (tree.depth.max(initial=0)) + 2))
    return [order[start:end] for start, end in zip(edges[:-1], edges[1:], strict=True)]
