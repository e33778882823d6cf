from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.hierarchy.tree import Tree
from canopy.selection.forest import (
    PricedForest,
    choose_at_prices,
    choose_within,
    price_for_recall,
    price_forest,
    price_within,
)
from canopy.selection.layout import Layout, fragments_kept, lay_out

counts = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def make_forest(sizes: list[int], branching: int, seed: int) -> tuple[Layout, np.ndarray, PricedForest]:
    rng = np.random.default_rng(seed)
    layout = lay_out(sizes, branching)
    p = np.round(rng.random(sum(sizes)) ** 3, 3)
    forest = price_forest(layout, p, rng.integers(1, 40, sum(sizes)), rng.integers(0, 15, len(sizes)),
                          rng.random(len(sizes)) < 0.3)
    return layout, p, forest


def branches_of(tree: Tree, node: int) -> list[frozenset[int]]:
    """Every set of disjoint nodes at and below a node."""
    children = tree.children(node).tolist()
    below = [frozenset(itertools.chain(*choice)) for choice in itertools.product(
        *(branches_of(tree, c) for c in children))] if children else [frozenset()]
    return [frozenset({node}), *below]


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(2, 3), st.integers(0, 10**6), st.floats(1e-4, 0.1))
def test_the_choice_is_the_best_of_all_choices(size: int, branching: int, seed: int, price: float) -> None:
    layout, _, forest = make_forest([size], branching, seed)
    kept = choose_at_prices(forest, [price])[:, 0]
    worth = forest.gain - price * forest.cost
    best = max(sum(worth[list(nodes)]) for nodes in branches_of(layout.forest, 0))
    assert worth[kept].sum() == pytest.approx(max(best, 0.0), abs=1e-9)


@given(counts, st.integers(2, 4), st.integers(0, 10**6), st.integers(0, 900))
def test_a_budget_holds_and_no_two_regions_overlap(sizes: list[int], branching: int, seed: int, budget: int) -> None:
    layout, _, forest = make_forest(sizes, branching, seed)
    kept = choose_within(forest, budget)
    assert forest.cost[kept].sum() <= budget
    covered = (layout.forest.hi - layout.forest.lo)[kept].sum()
    assert covered == fragments_kept(layout, kept).sum()


@given(counts, st.integers(2, 4), st.integers(0, 10**6), st.integers(0, 400), st.integers(0, 400))
def test_a_larger_budget_never_holds_less_probability(sizes: list[int], branching: int, seed: int, budget: int,
                                                      more: int) -> None:
    _, _, forest = make_forest(sizes, branching, seed)
    small, large = choose_within(forest, budget), choose_within(forest, budget + more)
    assert forest.gain[small].sum() <= forest.gain[large].sum() + 1e-9
    assert price_within(forest, budget + more) <= price_within(forest, budget)


@given(counts, st.integers(2, 4), st.integers(0, 10**6))
def test_items_do_not_change_one_another_at_a_price(sizes: list[int], branching: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, tokens = [rng.random(n) ** 3 for n in sizes], [rng.integers(1, 40, n) for n in sizes]
    heads = rng.integers(0, 9, len(sizes))
    together = choose_at_prices(price_forest(lay_out(sizes, branching), np.concatenate(p), np.concatenate(tokens),
                                             heads), [0.01, 0.002])
    alone = [choose_at_prices(price_forest(lay_out([n], branching), p[i], tokens[i], heads[i:i + 1]), [0.01, 0.002])
             for i, n in enumerate(sizes)]
    assert (together == np.concatenate(alone)).all()


def test_neighbours_merge_because_each_region_pays_for_its_title() -> None:
    layout, ones = lay_out([4], 2), np.full(4, 10)
    p = np.array([0.9, 0.9, 0.0, 0.0])
    kept = choose_at_prices(price_forest(layout, p, ones, np.array([5])), [0.01])[:, 0]
    assert np.flatnonzero(kept).tolist() == [1]  # the inner node over the first two leaves
    p = np.array([0.9, 0.0, 0.0, 0.9])
    kept = choose_at_prices(price_forest(layout, p, ones, np.array([5])), [0.01])[:, 0]
    assert fragments_kept(layout, kept).tolist() == [True, False, False, True]
    kept = choose_at_prices(price_forest(layout, p, ones, np.array([60])), [0.01])[:, 0]
    assert np.flatnonzero(kept).tolist() == [0]  # two titles cost more than the sentences between


def test_a_text_that_begins_with_its_title_pays_for_it_once() -> None:
    forest = price_forest(lay_out([2, 2], 2), np.zeros(4), np.array([3, 4, 3, 4]), np.array([2, 2]),
                          np.array([True, False]))
    assert forest.cost.tolist() == [7, 3, 6, 9, 5, 6]


def test_an_item_without_likely_leaves_goes() -> None:
    forest = price_forest(lay_out([3, 3], 2), np.array([0.0, 0.0, 0.01, 0.9, 0.8, 0.9]), np.full(6, 20), np.zeros(2))
    kept = choose_at_prices(forest, [0.005])[:, 0]
    assert np.flatnonzero(kept).tolist() == [5]  # the second item's root, after the first item's five nodes


def test_nothing_is_kept_of_nothing_and_a_budget_of_none() -> None:
    empty = price_forest(lay_out([], 2), np.zeros(0), np.zeros(0), np.zeros(0))
    assert choose_within(empty, 100).shape == (0,)
    forest = price_forest(lay_out([3], 2), np.ones(3), np.full(3, 5), np.zeros(1))
    assert not choose_within(forest, 4).any() and choose_within(forest, 15).sum() == 1


def test_values_that_cannot_be_priced_are_refused() -> None:
    layout = lay_out([2], 2)
    with pytest.raises(ValueError, match="probabilities: 2 values are expected"):
        price_forest(layout, np.ones(3), np.ones(2), np.ones(1))
    with pytest.raises(ValueError, match="tokens: every value must be finite"):
        price_forest(layout, np.ones(2), np.array([1, np.nan]), np.ones(1))


def test_the_price_for_a_recall_is_the_highest_that_reaches_it() -> None:
    prices, recalls = np.array([0.001, 0.01, 0.1]), np.array([[1.0, 1.0, 0.0], [1.0, 0.5, 0.5]])
    assert price_for_recall(recalls, prices, 0.75) == 0.01
    assert price_for_recall(recalls, prices, 0.76) == price_for_recall(recalls, prices, 2.0) == 0.001
