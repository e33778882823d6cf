"""Refinement against the published traces and a plain recursive version of the rule."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.hierarchy.tree import build_tree, join_trees
from canopy.refinement import refine

TRACES = json.loads((Path(__file__).parent / "data" / "refinement_traces.json").read_text())["traces"]


def spans(tree, kept):
    return sorted((int(a), int(b)) for a, b in zip(tree.lo[kept], tree.hi[kept], strict=True))


def plain(tree, scores, v=0):
    """The rule as method.md words it, one node at a time."""
    better = [u for u in tree.children(v) if scores[u] >= scores[v]]
    if not better:
        return [(int(tree.lo[v]), int(tree.hi[v]))]
    return [s for u in better for s in plain(tree, scores, u)]


@pytest.mark.parametrize("trace", TRACES, ids=[t["id"] for t in TRACES])
def test_published_trace(trace):
    tree, scores = build_tree(trace["fragments"], 2), {}

    def walk(node):
        scores[tuple(node["span"])] = node["score"]
        for child in node["children"]:
            walk(child)

    walk(trace["tree"])
    assert set(scores) == set(zip(tree.lo.tolist(), tree.hi.tolist(), strict=True))
    kept = refine(tree, np.array([scores[a, b] for a, b in zip(tree.lo.tolist(), tree.hi.tolist(), strict=True)]))
    assert spans(tree, kept) == [tuple(s) for s in trace["kept"]]


# Few distinct scores, so that ties between parent and child happen often.
@given(st.lists(st.integers(1, 25), min_size=1, max_size=5), st.integers(2, 5), st.data())
def test_agrees_with_the_recursive_rule(counts, branching, data):
    trees = [build_tree(n, branching) for n in counts]
    scores = [np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(t), max_size=len(t))), dtype=np.float32) for t in trees]
    forest, offsets = join_trees(trees)
    kept = refine(forest, np.concatenate(scores))
    for i, (tree, own) in enumerate(zip(trees, scores, strict=True)):
        assert spans(tree, kept[offsets[i]:offsets[i + 1]]) == sorted(plain(tree, own))
        assert spans(tree, refine(tree, own)) == sorted(plain(tree, own))


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_kept_regions_never_overlap_and_never_vanish(n, branching, seed):
    tree = build_tree(n, branching)
    kept = spans(tree, refine(tree, np.random.default_rng(seed).normal(size=len(tree))))
    assert kept and all(a[1] <= b[0] for a, b in zip(kept[:-1], kept[1:], strict=True))


def test_a_tie_explores():
    tree = build_tree(4, 2)
    assert spans(tree, refine(tree, np.zeros(len(tree)))) == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_without_an_order_are_refused(bad):
    tree = build_tree(2, 2)
    with pytest.raises(ValueError, match="NaN or infinity"):
        refine(tree, np.array([0.1, bad, 0.2]))
    with pytest.raises(ValueError, match="3 nodes"):
        refine(tree, np.zeros(2))
