"""One selection over all retrieved items: the regions whose leaves are worth more than their tokens cost at one price.

Every leaf has a probability of being gold. A region is worth the probabilities of its leaves less the price of its
tokens, and pays for the title and header that are shown with it. So neighbours merge, an item is kept whole if most of
it is likely, and an item without a likely leaf goes. For a price the choice is exact, in one pass from the leaves up.

The price is the only knob: given, found for a token budget, or fitted so that a share of the gold recall stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.selection.layout import Layout

# Probability a token. Above the highest price nothing is kept: a leaf of probability 1 and two tokens costs more.
LOWEST, HIGHEST, STEPS = 1e-6, 0.5, 32


@dataclass(frozen=True, slots=True)
class PricedForest:
    """The trees of all items with what each node gives and costs.

    Attributes
    ----------
    gain : ndarray of float64, shape (nodes,)
        Sum of the probabilities of a node's leaves.
    cost : ndarray of float64, shape (nodes,)
        Tokens of a node shown as a region of its own, head included.
    levels : tuple of ndarray of int64
        Indices of the nodes of each depth, from the roots down.
    parent : ndarray of int64, shape (nodes,)
    """

    gain: np.ndarray
    cost: np.ndarray
    levels: tuple[np.ndarray, ...]
    parent: np.ndarray


def price_forest(layout: Layout, probabilities: np.ndarray, tokens: np.ndarray, heads: np.ndarray,
                 own_heads: np.ndarray | None = None) -> PricedForest:
    """Gains and costs of every node.

    Parameters
    ----------
    layout : Layout
        One tree an item.
    probabilities : ndarray, shape (leaves,)
        That a leaf is gold, from 0 to 1; leaves of all items in a row.
    tokens : ndarray, shape (leaves,)
        Length of each leaf without its item's head.
    heads : ndarray, shape (items,)
        Tokens that are shown once with every region of an item: its title, a table's header.
    own_heads : ndarray of bool, shape (items,), optional
        Items whose text begins with its title: a region from the item's start needs no head.

    Raises
    ------
    ValueError
        If a shape is wrong, or a value is not finite or negative.
    """
    forest, leaves = layout.forest, int(layout.fragments[-1])
    for name, values, count in (("probabilities", probabilities, leaves), ("tokens", tokens, leaves),
                                ("heads", heads, layout.pairs)):
        if np.shape(values) != (count,):
            raise ValueError(f"{name}: {count} values are expected, not shape {np.shape(values)}")
        if not np.isfinite(values).all() or (np.asarray(values) < 0).any():
            raise ValueError(f"{name}: every value must be finite and at least 0")
    base = layout.fragments[layout.owner]
    start, end = base + forest.lo, base + forest.hi
    gains, lengths = (np.concatenate([[0.0], np.cumsum(v, dtype=np.float64)]) for v in (probabilities, tokens))
    head = np.asarray(heads, dtype=np.float64)[layout.owner]
    if own_heads is not None:
        head = np.where(np.asarray(own_heads)[layout.owner] & (forest.lo == 0), 0.0, head)
    levels = tuple(np.flatnonzero(forest.depth == d) for d in range(int(forest.depth.max(initial=-1)) + 1))
    return PricedForest(gains[end] - gains[start], lengths[end] - lengths[start] + head, levels, forest.parent)


def choose_at_prices(forest: PricedForest, prices: Sequence[float] | np.ndarray) -> np.ndarray:
    """The disjoint nodes with the largest sum of (gain - price x cost), for each price.

    A node is worth the larger of itself as one region, the best choices of its children together, and nothing. On a
    tie one region goes before its parts, and nothing before a region that is worth nothing.

    Returns
    -------
    ndarray of bool, shape (nodes, prices)
    """
    steps = np.atleast_1d(np.asarray(prices, dtype=np.float64))
    alone = forest.gain[:, None] - steps * forest.cost[:, None]
    parts = np.zeros_like(alone)
    for level in reversed(forest.levels[1:]):  # children of one node stand together
        above = forest.parent[level]
        first = np.flatnonzero(np.diff(above, prepend=-1))
        best = np.maximum(np.maximum(alone[level], parts[level]), 0.0)
        parts[above[first]] = np.add.reduceat(best, first, axis=0)
    # Sums in another order differ in their last bits; a region that gives as much as its parts must win all the same.
    wins = (alone > 1e-12) & (alone >= parts - 1e-12)
    reachable = np.zeros(alone.shape, dtype=bool)
    if forest.levels:
        reachable[forest.levels[0]] = True
    for level in forest.levels[1:]:
        above = forest.parent[level]
        reachable[level] = reachable[above] & ~wins[above]
    return reachable & wins


def price_within(forest: PricedForest, budget: float) -> float:
    """The lowest price at which the chosen regions fit into a token budget; infinity if none fits.

    All budgets are searched on one grid of prices, so that a larger budget never gets a higher price.
    """
    low, high = np.log(LOWEST), np.log(HIGHEST)
    if _cost(forest, [LOWEST])[0] <= budget:
        return LOWEST
    price = np.inf
    for _ in range(3):  # each pass divides the interval by the steps of a pass
        grid = np.exp(np.linspace(low, high, STEPS + 1))
        fitting = np.flatnonzero(_cost(forest, grid) <= budget)
        if not len(fitting):
            return float(price)
        best = int(fitting[0])
        price = float(grid[best])
        low, high = np.log(grid[best - 1]) if best else low, np.log(price)
    return price


def choose_within(forest: PricedForest, budget: float) -> np.ndarray:
    """The regions at the lowest price at which they fit into a token budget, bool a node; none if no region fits."""
    price = price_within(forest, budget)
    if not np.isfinite(price):
        return np.zeros(len(forest.gain), dtype=bool)
    return choose_at_prices(forest, [price])[:, 0]


def price_for_recall(recalls: np.ndarray, prices: np.ndarray, goal: float) -> float:
    """The highest price at which the mean recall reaches a goal; the lowest price if none does.

    Parameters
    ----------
    recalls : ndarray, shape (questions, prices)
        Gold recall of each question at each price, with probabilities from a scorer that did not see the question.
    prices : ndarray, shape (prices,)
        Ascending.
    goal : float
        Mean gold recall to reach.
    """
    reached = np.flatnonzero(recalls.mean(axis=0) >= goal - 1e-12)
    return float(prices[reached.max(initial=0)])


def _cost(forest: PricedForest, prices: Sequence[float] | np.ndarray) -> np.ndarray:
    return np.asarray(forest.cost @ choose_at_prices(forest, prices))
