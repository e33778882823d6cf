"""What the paper's rule did with every node that it looked at: kept, split or dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from canopy.refinement import refine
from canopy.selection.layout import Layout


@dataclass(frozen=True, slots=True)
class Refined:
    """What the rule did, as bool a node.

    ``kept``: the node stays whole. ``split``: its children took its place. ``dropped``: it scores below its split
    parent.
    """

    kept: np.ndarray
    split: np.ndarray
    dropped: np.ndarray


def judge(layout: Layout, scores: np.ndarray) -> Refined:
    """Run the rule; nodes inside a kept or a dropped one are neither kept, split nor dropped."""
    forest = layout.forest
    kept = refine(forest, scores)
    split = np.zeros(len(forest), dtype=bool)
    front = forest.parent[kept]
    while len(front := np.unique(front[front >= 0])):
        split[front] = True
        front = forest.parent[front]
    child = forest.parent >= 0
    dropped = np.zeros(len(forest), dtype=bool)
    dropped[child] = split[forest.parent[child]]
    return Refined(kept, split, dropped & ~kept & ~split)
