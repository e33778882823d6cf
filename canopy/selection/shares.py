"""Flat selection at a given share of each item: the compressor without a hierarchy whose size can be set."""

from __future__ import annotations

import numpy as np

from canopy.selection.flat import select_leaves
from canopy.selection.layout import Layout
from canopy.selection.protocol import Select


def select_share(share: float) -> Select:
    """Of each item the best leaves, as many as come closest to ``share`` of all its leaves, at least one."""
    def choose(layout: Layout, scores: np.ndarray) -> np.ndarray:
        counts = np.maximum(1, np.rint(share * np.diff(layout.fragments)).astype(np.int64))
        return select_leaves(layout, scores, counts[layout.owner])
    return choose
