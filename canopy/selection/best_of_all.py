"""The best leaves of all items together: a selector that compares scores between items."""

from __future__ import annotations

import numpy as np

from canopy.selection.layout import Layout


def select_best_of_all(layout: Layout, scores: np.ndarray, n: int) -> np.ndarray:
    """The n best leaves of all items together, as bool a node."""
    leaf = np.flatnonzero(layout.forest.hi - layout.forest.lo == 1)
    kept = np.zeros(len(scores), dtype=bool)
    kept[leaf[np.argsort(-scores[leaf], kind="stable")[:n]]] = True
    return kept
