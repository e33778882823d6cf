"""The paper's rule and its options as one selector."""

from __future__ import annotations

import numpy as np

from canopy.config import Options
from canopy.refinement import refine
from canopy.selection.layout import Layout
from canopy.selection.protocol import Select
from canopy.selection.whole import keep_unsure_whole, select_whole


def select_rule(options: Options) -> Select:
    """CANOPY's selection with the options that change it."""
    def choose(layout: Layout, scores: np.ndarray) -> np.ndarray:
        if options.flat_global:
            kept = select_global_leaves(layout, scores)
        else:
            kept = refine(layout.forest, scores, rule=options.rule, margin=options.lookahead_margin)
        return keep_unsure_whole(layout, scores, kept, options.keep_margin) if options.keep_margin else kept
    return choose


def select_global_leaves(layout: Layout, scores: np.ndarray) -> np.ndarray:
    """Leaves of all items as one list: those that score at least their parent stay; an item without any stays whole."""
    forest = layout.forest
    leaf = forest.hi - forest.lo == 1
    child = forest.parent >= 0
    good = leaf & (~child | (scores >= scores[np.where(child, forest.parent, 0)]))
    cut = np.bincount(layout.owner[good], minlength=layout.pairs) > 0
    return good | (select_whole(layout) & ~cut[layout.owner])
