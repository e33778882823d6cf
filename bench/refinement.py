"""Refinement of many items at once against one item at a time, node by node: the ratio of the two, measured in one run.

Usage: python bench/refinement.py [ITEMS]
"""

import statistics
import sys
import time

import numpy as np

from canopy.hierarchy.tree import Tree, build_tree, join_trees
from canopy.refinement import refine


def plain(tree: Tree, scores: np.ndarray, v: int = 0) -> list[int]:
    """The rule, one node at a time."""
    better = [u for u in tree.children(v) if scores[u] >= scores[v]]
    return [k for u in better for k in plain(tree, scores, u)] if better else [v]


def main() -> None:
    """Time both on the same forest, five times in turn, and print the median ratio."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    draw = np.random.default_rng(13)
    trees = [build_tree(int(n), 2) for n in draw.integers(1, 25, items)]
    forest, offsets = join_trees(trees)
    scores = draw.normal(size=len(forest)).astype(np.float32)
    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        together = np.flatnonzero(refine(forest, scores)).tolist()
        middle = time.perf_counter()
        alone = [int(o) + k for t, o, e in zip(trees, offsets[:-1], offsets[1:], strict=True) for k in plain(t, scores[o:e])]
        ratios.append((time.perf_counter() - middle) / (middle - start))
        assert sorted(alone) == together
    print(f"{items} items, {len(forest)} nodes: one at a time takes {statistics.median(ratios):.0f} times as long (min {min(ratios):.0f}, max {max(ratios):.0f})")


if __name__ == "__main__":
    main()
