"""Refinement of many items at once against one item at a time, node by node: the ratio of the two times.

Usage: python bench/refinement.py [ITEMS]
"""

import statistics
import sys
import time

import numpy as np

from canopy.hierarchy.tree import Tree, build_tree, join_trees
from canopy.refinement import refine


def refine_one(tree: Tree, scores: np.ndarray, v: int = 0) -> list[int]:
    """The rule, one node at a time."""
    better = [u for u in tree.children(v) if scores[u] >= scores[v]]
    return [k for u in better for k in refine_one(tree, scores, u)] if better else [v]


def main() -> None:
    """Time both on the same forest, five times in turn, and print the median ratio."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    random = np.random.default_rng(13)
    trees = [build_tree(int(n), 2) for n in random.integers(1, 25, items)]
    forest, offsets = join_trees(trees)
    scores = random.normal(size=len(forest)).astype(np.float32)
    ratios = []
    for _ in range(5):
        begin = time.perf_counter()
        together = np.flatnonzero(refine(forest, scores)).tolist()
        middle = time.perf_counter()
        alone = [int(start) + k for tree, start, end in zip(trees, offsets[:-1], offsets[1:], strict=True)
                 for k in refine_one(tree, scores[start:end])]
        ratios.append((time.perf_counter() - middle) / (middle - begin))
        assert sorted(alone) == together
    print(f"{items} items, {len(forest)} nodes: one at a time takes {statistics.median(ratios):.0f} times as long "
          f"(min {min(ratios):.0f}, max {max(ratios):.0f})")


if __name__ == "__main__":
    main()
