"""Training of the leaf scorer: scikit-learn grows the trees, and they leave it as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from canopy.leaf_scorer.trees import BoostedTrees


def fit_trees(features: np.ndarray, gold: np.ndarray, names: Sequence[str], seed: int = 0) -> BoostedTrees:
    """Fit P(leaf is gold).

    Leaves of retrieved items without gold are negatives like any others, so that items compare.

    Parameters
    ----------
    features : ndarray, shape (leaves, features)
    gold : ndarray of bool, shape (leaves,)

    Raises
    ------
    ValueError
        If no leaf is gold, or every one is: there is nothing to tell apart.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    if gold.all() or not gold.any():
        raise ValueError("leaves of both kinds are needed, gold and not")
    x = features.astype(np.float64)
    x[:, np.isnan(x).all(axis=0)] = 0.0  # scikit-learn cannot bin a column without a value; none is split on either
    model = HistGradientBoostingClassifier(
        max_iter=120, learning_rate=0.08, max_leaf_nodes=12, min_samples_leaf=40, l2_regularization=10.0,
        max_features=0.4, max_bins=63, early_stopping=False, random_state=seed).fit(x, gold)
    return _export(model, names)


def cross_fit(features: np.ndarray, gold: np.ndarray, folds: np.ndarray, names: Sequence[str],
              seed: int = 0) -> np.ndarray:
    """The probability of each leaf by a scorer that did not see its question's fold, float64, shape (leaves,).

    Parameters
    ----------
    folds : ndarray of int64, shape (leaves,)
        The fold of each leaf; a question, and all that its gold connects it with, is in one.
    """
    probabilities = np.zeros(len(gold))
    for fold in np.unique(folds).tolist():
        inside = folds == fold
        probabilities[inside] = fit_trees(features[~inside], gold[~inside], names, seed).predict(features[inside])
    return probabilities


def calibration(probabilities: np.ndarray, gold: np.ndarray, bins: int = 10) -> list[dict[str, float]]:
    """How often leaves of a probability are gold: equally filled bins, lowest first.

    Returns
    -------
    list of dict
        ``probability`` and ``gold``: means of a bin; ``share``: its share of all leaves.
    """
    order = np.argsort(probabilities, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return [{"probability": float(probabilities[part].mean()), "gold": float(gold[part].mean()),
             "share": len(part) / len(order)} for part in parts]


def _export(model: Any, names: Sequence[str]) -> BoostedTrees:
    """The trees of a fitted classifier as arrays; its private fields are held by a test that compares predictions."""
    parts: dict[str, list[np.ndarray]] = {}
    roots, base, steps = [], 0, 0
    for (predictor,) in model._predictors:
        nodes = predictor.nodes
        own = np.arange(len(nodes)) + base
        leaf = nodes["is_leaf"].astype(bool)
        columns = {"feature": np.where(leaf, 0, nodes["feature_idx"]),
                   "threshold": np.where(leaf, 0.0, nodes["num_threshold"]),
                   "left": np.where(leaf, own, nodes["left"].astype(np.int64) + base),
                   "right": np.where(leaf, own, nodes["right"].astype(np.int64) + base),
                   "missing_left": ~leaf & nodes["missing_go_to_left"].astype(bool), "value": nodes["value"]}
        for name, column in columns.items():
            parts.setdefault(name, []).append(column)
        roots.append(base)
        base, steps = base + len(nodes), max(steps, int(nodes["depth"].max()))
    arrays = {name: np.concatenate(columns) for name, columns in parts.items()}
    return BoostedTrees(tuple(names), float(np.ravel(model._baseline_prediction)[0]), np.array(roots, dtype=np.int64),
                        steps, **arrays)
