"""All leaves of an item that score nearly as well as its best one."""

from __future__ import annotations

import numpy as np

from canopy.selection.layout import Layout


def select_near_best(layout: Layout, scores: np.ndarray, distance: float) -> np.ndarray:
    """All leaves of each item that score within ``distance`` of its best leaf, as bool a node."""
    leaf = layout.forest.hi - layout.forest.lo == 1
    best = np.full(layout.pairs, -np.inf)
    np.maximum.at(best, layout.owner[leaf], scores[leaf])
    return leaf & (scores >= best[layout.owner] - distance)
