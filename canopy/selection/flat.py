"""Flat selectors: the best leaves of each item, without a hierarchy."""

from __future__ import annotations

import numpy as np

from canopy.selection.layout import Layout, rank_nodes
from canopy.selection.protocol import Select


def select_leaves(layout: Layout, scores: np.ndarray, m: int | np.ndarray) -> np.ndarray:
    """The m best leaves of each item, all if there are fewer, as bool a node; ``m`` is one number, or one a node."""
    leaf = layout.forest.hi - layout.forest.lo == 1
    return leaf & (rank_nodes(layout, np.where(leaf, scores, -np.inf)) < m)


def select_top_leaves(m: int) -> Select:
    """The m best leaves of each item."""
    return lambda layout, scores: select_leaves(layout, scores, m)
