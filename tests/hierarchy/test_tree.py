"""Trees: sizes, order, and what every forest must be."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canopy.hierarchy.tree import build_tree, child_spans, join_trees


def test_larger_groups_come_first():
    assert child_spans(0, 11, 2) == [(0, 6), (6, 11)]
    assert child_spans(0, 5, 2) == [(0, 3), (3, 5)]
    assert child_spans(0, 11, 4) == [(0, 3), (3, 6), (6, 9), (9, 11)]
    assert child_spans(3, 5, 8) == [(3, 4), (4, 5)]
    assert child_spans(3, 4, 2) == []


@given(st.integers(1, 300), st.integers(2, 9))
def test_children_tile_their_parent(n, branching):
    tree = build_tree(n, branching)
    assert (tree.lo[0], tree.hi[0], tree.parent[0], tree.depth[0]) == (0, n, -1, 0)
    leaves = []
    for v in range(len(tree)):
        kids = tree.children(v)
        size = int(tree.hi[v] - tree.lo[v])
        assert len(kids) == (min(branching, size) if size > 1 else 0)
        if len(kids):
            edges = [int(tree.lo[v]), *tree.hi[kids].tolist()]
            assert edges[1:-1] == tree.lo[kids][1:].tolist() and edges[-1] == tree.hi[v]
            sizes = np.diff(edges)
            assert sizes.max() - sizes.min() <= 1 and (np.diff(sizes) <= 0).all()
            assert (tree.depth[kids] == tree.depth[v] + 1).all() and (kids > v).all()
        else:
            leaves.append(int(tree.lo[v]))
    assert sorted(leaves) == list(range(n))
    assert (np.diff(tree.depth) >= 0).all()


@given(st.lists(st.integers(1, 20), max_size=6), st.integers(2, 4))
def test_joined_trees_keep_their_parents(counts, branching):
    trees = [build_tree(n, branching) for n in counts]
    forest, offsets = join_trees(trees)
    assert len(forest) == sum(map(len, trees)) and offsets[-1] == len(forest)
    for i, tree in enumerate(trees):
        own = forest.parent[offsets[i]:offsets[i + 1]]
        assert np.array_equal(np.where(own < 0, -1, own - offsets[i]), tree.parent)
