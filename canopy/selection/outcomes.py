"""What the paper's rule did with every node that it looked at: kept, split or dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from canopy.refinement import refine
from canopy.selection.layout import Layout


@dataclass(frozen=True, slots=True)
class Refined:
    """What the rule did, as bool a node: ``kept`` whole, ``split`` into children, ``dropped`` below its split parent's score."""

    kept: np.ndarray
    split: np.ndarray
    dropped: np.ndarray


def judge(layout: Layout, scores: np.ndarray) -> Refined:
    """Run the rule and say what became of every node that it looked at (nodes inside a kept or dropped one are none of these)."""
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
