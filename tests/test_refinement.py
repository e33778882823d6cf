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
    """The rule of the paper (section 3.2), one node at a time."""
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
    scores = [np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(t), max_size=len(t))), dtype=np.float32)
              for t in trees]
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


def ahead(tree, scores, margin, v=0):
    """The rule that looks ahead, one node at a time: a child qualifies by the best score at or below it."""
    def best(u):
        return max([scores[u], *(best(c) for c in tree.children(u))])

    good = [u for u in tree.children(v) if best(u) >= scores[v] + scores.dtype.type(margin)]
    if not good:
        return [(int(tree.lo[v]), int(tree.hi[v]))]
    return [s for u in good for s in ahead(tree, scores, margin, u)]


def inside(small, large):
    return any(a <= small[0] and small[1] <= b for a, b in large)


@given(st.lists(st.integers(1, 25), min_size=1, max_size=5), st.integers(2, 5),
       st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.data())
def test_looking_ahead_agrees_with_the_recursive_rule(counts, branching, margin, data):
    trees = [build_tree(n, branching) for n in counts]
    scores = [np.array(data.draw(st.lists(st.integers(-3, 3), min_size=len(t), max_size=len(t))), dtype=np.float32)
              for t in trees]
    forest, offsets = join_trees(trees)
    kept = refine(forest, np.concatenate(scores), rule="lookahead", margin=margin)
    for i, (tree, own) in enumerate(zip(trees, scores, strict=True)):
        assert spans(tree, kept[offsets[i]:offsets[i + 1]]) == sorted(ahead(tree, own, margin))


@given(st.integers(1, 60), st.integers(2, 5), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_looking_ahead_explores_what_the_paper_s_rule_explores_and_more(n, branching, one, other, seed):
    tree, scores = build_tree(n, branching), np.random.default_rng(seed).normal(size=len(build_tree(n, branching)))
    parent, zero = spans(tree, refine(tree, scores)), spans(tree, refine(tree, scores, rule="lookahead"))
    small, large = (spans(tree, refine(tree, scores, rule="lookahead", margin=m)) for m in sorted((one, other)))
    # Without a margin every child that beats its parent still qualifies: below each region that the paper's rule keeps
    # something stays.
    assert all(any(inside(z, [p]) for z in zero) for p in parent)
    # A larger margin explores less: each of its regions is one of a smaller margin's or holds some of them.
    assert all(any(inside(s, [x]) for s in small) for x in large)
    for kept in (zero, small, large):
        assert kept and all(a[1] <= b[0] for a, b in zip(kept[:-1], kept[1:], strict=True))
    # The best node of all is never dropped.
    best = int(np.argmax(scores))
    assert any(inside(z, [(tree.lo[best], tree.hi[best])]) for z in zero)
    # A margin that nothing reaches keeps the item whole.
    assert spans(tree, refine(tree, scores, rule="lookahead", margin=float(np.ptp(scores)) + 1.0)) == [(0, n)]


@pytest.mark.parametrize("trace", TRACES, ids=[t["id"] for t in TRACES])
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_looking_ahead_on_the_published_traces(trace, margin):
    tree, scores = build_tree(trace["fragments"], 2), {}

    def walk(node):
        scores[tuple(node["span"])] = node["score"]
        for child in node["children"]:
            walk(child)

    walk(trace["tree"])
    own = np.array([scores[a, b] for a, b in zip(tree.lo.tolist(), tree.hi.tolist(), strict=True)])
    kept = spans(tree, refine(tree, own, rule="lookahead", margin=margin))
    assert kept == sorted(ahead(tree, own, margin))
    if margin == 0.0:
        assert all(any(inside(k, [tuple(p)]) for k in kept) for p in trace["kept"])


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="no refinement rule 'best'"):
        refine(build_tree(2, 2), np.zeros(3), rule="best")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_without_an_order_are_refused(bad):
    tree = build_tree(2, 2)
    with pytest.raises(ValueError, match="NaN or infinity"):
        refine(tree, np.array([0.1, bad, 0.2]))
    with pytest.raises(ValueError, match="3 nodes"):
        refine(tree, np.zeros(2))
