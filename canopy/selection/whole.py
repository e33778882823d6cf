"""Whole items: the ceiling of recall and of cost, and a refinement that decides little undone."""

from __future__ import annotations

import numpy as np

from canopy.selection.layout import Layout


def select_whole(layout: Layout) -> np.ndarray:
    """The root of each item, as bool a node."""
    return layout.forest.parent < 0


def keep_unsure_whole(layout: Layout, scores: np.ndarray, kept: np.ndarray, margin: float) -> np.ndarray:
    """The rule's choice, but an item stays whole if none of its kept nodes scores ``margin`` above its root."""
    best = np.full(layout.pairs, -np.inf)
    np.maximum.at(best, layout.owner[kept], scores[kept])
    unsure = best < scores[layout.nodes[:-1]] + margin
    return np.where(unsure[layout.owner], select_whole(layout), kept)
