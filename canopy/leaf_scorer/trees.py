"""Gradient-boosted trees as plain arrays, kept in JSON and evaluated with numpy alone.

No pickle: a file holds numbers, and reading it runs no code. Values are written so that they come back bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from canopy.atomic import write_bytes
from canopy.errors import DataError

FORMAT = "canopy boosted trees 1"
_FIELDS = {"feature": np.int64, "threshold": np.float64, "left": np.int64, "right": np.int64, "missing_left": bool,
           "value": np.float64}


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """A binary classifier: the sigmoid of a base value and one leaf's value of every tree.

    All trees stand in one row. An inner node sends ``x[feature] <= threshold`` to ``left``, and a missing value where
    ``missing_left`` says. A leaf is its own child, so that every row may take the same number of steps.

    Attributes
    ----------
    names : tuple of str
        The features, in the order of the columns.
    base : float
        Log odds before the first tree.
    roots : ndarray of int64, shape (trees,)
    steps : int
        Depth of the deepest tree.
    feature, left, right : ndarray of int64, shape (nodes,)
    threshold, value : ndarray of float64, shape (nodes,)
    missing_left : ndarray of bool, shape (nodes,)
    """

    names: tuple[str, ...]
    base: float
    roots: np.ndarray
    steps: int
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Probability of each row, float64, shape (rows,).

        Parameters
        ----------
        features : ndarray, shape (rows, features)
            NaN where a value is missing.
        """
        if features.ndim != 2 or features.shape[1] != len(self.names):
            raise ValueError(f"{len(self.names)} features are expected, not shape {features.shape}")
        # Column by column in memory, missing values as their own number, so that a step is three look-ups.
        columns = np.ascontiguousarray(features.T, dtype=np.float64).ravel()
        missing = np.isnan(columns)
        any_missing, rows = bool(missing.any()), len(features)
        row = np.arange(rows)[:, None]
        node = np.broadcast_to(self.roots, (rows, len(self.roots))).copy()
        for _ in range(self.steps):
            at = self.feature[node] * rows + row
            goes_left = columns[at] <= self.threshold[node]
            if any_missing:
                goes_left |= missing[at] & self.missing_left[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        odds = self.base + self.value[node].sum(axis=1)
        return np.asarray(1 / (1 + np.exp(-odds)))

    def importances(self) -> dict[str, float]:
        """How often each feature splits a node, as a share of all splits, largest first."""
        inner = self.left != np.arange(len(self.left))
        counts = np.bincount(self.feature[inner], minlength=len(self.names)) / max(1, int(inner.sum()))
        return {self.names[n]: float(counts[n]) for n in np.argsort(-counts, kind="stable").tolist()}

    def to_json(self) -> dict[str, Any]:
        """The model as JSON holds it."""
        return {"format": FORMAT, "features": list(self.names), "base": self.base, "steps": self.steps,
                "roots": self.roots.tolist(), **{f: getattr(self, f).tolist() for f in _FIELDS}}

    def save(self, path: Path) -> None:
        """Write the model to a file, whole or not at all."""
        write_bytes(path, (json.dumps(self.to_json(), separators=(",", ":")) + "\n").encode())

    @classmethod
    def from_json(cls, record: Any, names: Sequence[str], place: str) -> BoostedTrees:
        """Read a model and check that it can be evaluated.

        Raises
        ------
        DataError
            If it is no such model, is of other features, or points outside itself; ``place`` is named.
        """
        try:
            if record["format"] != FORMAT:
                raise DataError(f"{place}: the format is {record['format']!r}, not {FORMAT!r}")
            arrays = {f: np.array(record[f], dtype=kind) for f, kind in _FIELDS.items()}
            trees = cls(tuple(record["features"]), float(record["base"]), np.array(record["roots"], dtype=np.int64),
                        int(record["steps"]), **arrays)
        except (KeyError, TypeError, ValueError, OverflowError) as e:
            raise DataError(f"{place}: not a leaf scorer: {type(e).__name__}: {e}") from None
        if trees.names != tuple(names):
            raise DataError(f"{place}: it was fitted on other features; fit it again")
        nodes = len(trees.value)
        whole = all(len(a) == nodes for a in arrays.values()) and 0 <= trees.steps <= nodes
        inside = all(((a >= 0) & (a < limit)).all() for a, limit in (
            (trees.left, nodes), (trees.right, nodes), (trees.roots, nodes), (trees.feature, len(trees.names))))
        if not (whole and inside and np.isfinite(trees.value).all()):
            raise DataError(f"{place}: the trees are damaged; fit them again")
        return trees

    @classmethod
    def load(cls, path: Path, names: Sequence[str]) -> BoostedTrees:
        """Read a model from a file.

        Raises
        ------
        DataError
            If the file cannot be read or is no such model.
        """
        try:
            record = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as e:
            raise DataError(f"{path}: no leaf scorer can be read: {e}") from None
        return cls.from_json(record, names, str(path))
