"""The best nodes of each item, of any level, none inside another."""

from __future__ import annotations

import numpy as np

from canopy.selection.layout import Layout, rank_nodes
from canopy.selection.protocol import Select


def select_any_level(layout: Layout, scores: np.ndarray, m: int) -> np.ndarray:
    """The m best nodes of each item, none inside another, as bool a node (fewer once the item is covered)."""
    lo, hi, owner = layout.forest.lo, layout.forest.hi, layout.owner
    free, chosen = np.ones(len(scores), dtype=bool), np.zeros(len(scores), dtype=bool)
    for _ in range(m):
        best = (rank_nodes(layout, np.where(free, scores, -np.inf)) == 0) & free
        if not best.any():
            break
        chosen |= best
        # Two nodes of one hierarchy overlap exactly when one is the other's ancestor.
        taken_lo, taken_hi = np.zeros(layout.pairs, dtype=np.int64), np.zeros(layout.pairs, dtype=np.int64)
        taken_lo[owner[best]], taken_hi[owner[best]] = lo[best], hi[best]
        free &= (hi <= taken_lo[owner]) | (lo >= taken_hi[owner])
    return chosen


def select_top_nodes(m: int) -> Select:
    """The m best nodes of any level of each item, none inside another."""
    return lambda layout, scores: select_any_level(layout, scores, m)
