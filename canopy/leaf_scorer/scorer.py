"""The leaf scorer of a workspace: its trees, the rarity of words that they were fitted with, and its prices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from canopy.atomic import write_json
from canopy.digests import file_sha256, text_sha256
from canopy.errors import DataError
from canopy.leaf_scorer.features import NAMES, leaf_features
from canopy.leaf_scorer.forest import RetrievedForest
from canopy.leaf_scorer.matching import match_words
from canopy.leaf_scorer.stems import Rarity
from canopy.leaf_scorer.trees import BoostedTrees

TREES, RARITY, PRICES = "trees.json", "rarity.json", "prices.json"


@dataclass(frozen=True, slots=True)
class LeafScorer:
    """What gives each leaf of a question's retrieved items a probability.

    Attributes
    ----------
    prices : mapping
        Share of the whole items' gold recall to keep, to the price at which training questions kept it.
    """

    trees: BoostedTrees
    rarity: Rarity
    prices: Mapping[float, float] = field(default_factory=dict)

    def probabilities(self, forest: RetrievedForest) -> np.ndarray:
        """That each leaf is gold, float64, shape (leaves,)."""
        return self.trees.predict(leaf_features(forest, self.rarity)) if forest.items else np.zeros(0)

    def save(self, folder: Path) -> None:
        """Write the scorer's files into a folder."""
        self.trees.save(folder / TREES)
        write_json(folder / RARITY, {"items": self.rarity.items, "counts": dict(self.rarity.counts)})
        write_json(folder / PRICES, {f"{share:g}": price for share, price in sorted(self.prices.items())})

    @classmethod
    def open(cls, folder: Path) -> LeafScorer:
        """Read a scorer.

        Raises
        ------
        DataError
            If a file of it is missing or damaged; it is named.
        """
        trees = BoostedTrees.load(folder / TREES, NAMES)
        path = folder / RARITY
        try:
            record = json.loads(path.read_text("utf-8"))
            rarity = Rarity({str(w): int(n) for w, n in record["counts"].items()}, int(record["items"]))
            path = folder / PRICES
            prices = {float(share): float(price) for share, price in json.loads(path.read_text("utf-8")).items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
            raise DataError(f"{path}: cannot be read: {type(e).__name__}: {e}; fit the leaf scorer again") from None
        return cls(trees, rarity, prices)


def scorer_digest(folder: Path) -> str:
    """Names exactly what a scorer's files hold."""
    return text_sha256(" ".join(file_sha256(folder / name) for name in (TREES, RARITY, PRICES)))


def plain_probabilities(forest: RetrievedForest, rarity: Rarity) -> np.ndarray:
    """Values for leaves where there is no scorer, float64, shape (leaves,).

    A leaf's dense score, and 0.3 times the share of the question's idf in its item's head, clipped to 0 and 1. Such
    values order leaves; they are no probabilities.
    """
    if not forest.items:
        return np.zeros(0)
    title = match_words(forest.question, forest.items, rarity).title()
    return np.clip(forest.scores[forest.leaf] + 0.3 * title[forest.owner], 0.0, 1.0)
