import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canopy.hierarchy.tree import build_tree
from canopy.selection.any_level import select_any_level
from canopy.selection.flat import select_leaves
from canopy.selection.layout import fragments_kept, lay_out
from canopy.selection.outcomes import judge
from canopy.selection.whole import select_whole
from tests.evaluation.made_up import make_cases, make_scores

counts = st.lists(st.integers(1, 13), min_size=1, max_size=6)


def _layout(sizes, branching, seed):
    layout = lay_out(sizes, branching)
    return layout, (np.random.default_rng(seed).integers(0, 5, len(layout.forest)) / 5).astype(np.float32)


@given(counts, st.integers(2, 4), st.integers(0, 10**6), st.integers(1, 5))
def test_any_level_never_takes_two_nodes_of_one_branch_and_goes_best_first(sizes, branching, seed, m):
    layout, scores = _layout(sizes, branching, seed)
    chosen = select_any_level(layout, scores, m)
    for p in range(layout.pairs):
        tree, own = build_tree(sizes[p], branching), slice(layout.nodes[p], layout.nodes[p + 1])
        free, expected = set(range(len(tree))), set()
        for _ in range(m):
            if not free:
                break
            best = max(free, key=lambda v: (scores[own][v], -v))
            expected.add(best)
            free = {v for v in free if tree.hi[v] <= tree.lo[best] or tree.lo[v] >= tree.hi[best]}
        assert set(np.flatnonzero(chosen[own]).tolist()) == expected
        covered = [f for v in expected for f in range(tree.lo[v], tree.hi[v])]
        assert len(covered) == len(set(covered))


@given(counts, st.integers(0, 10**6))
def test_more_leaves_never_lose_a_fragment(sizes, seed):
    layout, scores = _layout(sizes, 2, seed)
    before = np.zeros(sum(sizes), dtype=bool)
    for m in range(1, 15):
        nodes = select_leaves(layout, scores, m)
        kept = fragments_kept(layout, nodes)
        assert nodes.sum() == kept.sum() == sum(min(m, n) for n in sizes)
        assert (kept >= before).all()
        before = kept
    assert before.all()


@given(counts, st.integers(2, 4), st.integers(0, 10**6))
def test_judged_nodes_are_the_roots_and_the_children_of_split_nodes(sizes, branching, seed):
    layout, scores = _layout(sizes, branching, seed)
    told = judge(layout, scores)
    assert not (told.kept & told.split).any() and not (told.dropped & (told.kept | told.split)).any()
    judged = told.kept | told.split | told.dropped
    parent = layout.forest.parent
    assert (judged == ((parent < 0) | told.split[parent])).all()
    child = parent >= 0
    assert (scores[child & told.dropped] < scores[parent[child & told.dropped]]).all()
    assert fragments_kept(layout, select_whole(layout)).all()


def test_a_leaf_is_chosen_by_its_score_and_the_earlier_one_on_a_tie():
    layout = lay_out([4], 2)
    scores = np.zeros(7, dtype=np.float32)
    scores[[4, 6]] = 0.5
    assert np.flatnonzero(fragments_kept(layout, select_leaves(layout, scores, 1))).tolist() == [1]


def test_no_pairs_are_no_trouble():
    layout = lay_out([], 2)
    assert layout.pairs == 0 and not len(fragments_kept(layout, select_whole(layout)))


def test_made_up_cases_have_scores_for_every_node():
    cases, _, _ = make_cases(3)
    assert len(make_scores(cases, 3)) == cases.layout.nodes[-1]
