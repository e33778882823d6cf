from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from canopy.errors import DataError
from canopy.leaf_scorer.fitting import cross_fit, fit_trees
from canopy.leaf_scorer.trees import BoostedTrees

NAMES = ("a", "b", "c")


def make_rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)).astype(np.float32)
    gold = rng.random(count) < 1 / (1 + np.exp(-2 * x[:, 0] + x[:, 1] ** 2))
    x[rng.random(x.shape) < 0.15] = np.nan
    return x, gold


@pytest.fixture(scope="module")
def trees() -> BoostedTrees:
    return fit_trees(*make_rows(1500, 1), NAMES)


def test_the_arrays_say_what_scikit_learn_says(trees: BoostedTrees) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    x, gold = make_rows(1500, 1)
    model = HistGradientBoostingClassifier(
        max_iter=120, learning_rate=0.08, max_leaf_nodes=12, min_samples_leaf=40, l2_regularization=10.0,
        max_features=0.4, max_bins=63, early_stopping=False, random_state=0).fit(x.astype(np.float64), gold)
    other, _ = make_rows(700, 2)
    for rows in (other, np.nan_to_num(other)):
        np.testing.assert_allclose(trees.predict(rows), model.predict_proba(rows.astype(np.float64))[:, 1], atol=1e-12)


def test_a_file_gives_the_same_bits_back(trees: BoostedTrees, tmp_path: Path) -> None:
    path, again = tmp_path / "scorer.json", tmp_path / "again.json"
    trees.save(path)
    copy = BoostedTrees.load(path, NAMES)
    copy.save(again)
    fit_trees(*make_rows(1500, 1), NAMES).save(tmp_path / "fitted.json")
    assert path.read_bytes() == again.read_bytes() == (tmp_path / "fitted.json").read_bytes()
    rows, _ = make_rows(50, 3)
    assert (copy.predict(rows) == trees.predict(rows)).all()
    assert trees.predict(rows[:0]).shape == (0,)
    assert next(iter(trees.importances())) in ("a", "b")


def test_a_damaged_or_foreign_file_is_named(trees: BoostedTrees, tmp_path: Path) -> None:
    path = tmp_path / "scorer.json"
    for text, message in (("{", "no leaf scorer can be read"), ("[]", "not a leaf scorer"), ("{}", "KeyError"),
                          (json.dumps({**trees.to_json(), "left": [10**9]}), "damaged"),
                          (json.dumps({**trees.to_json(), "features": ["a"]}), "other features"),
                          (json.dumps({**trees.to_json(), "format": "x"}), "the format is 'x'")):
        path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=message) as error:
            BoostedTrees.load(path, NAMES)
        assert str(path) in str(error.value)
    with pytest.raises(ValueError, match="3 features are expected"):
        trees.predict(np.zeros((2, 2)))


def test_a_leaf_is_judged_by_a_scorer_that_did_not_see_its_fold() -> None:
    x, gold = make_rows(900, 4)
    folds = np.arange(900) % 3
    probabilities = cross_fit(x, gold, folds, NAMES)
    other = gold.copy()
    other[folds == 1] = ~other[folds == 1]
    changed = cross_fit(x, other, folds, NAMES)
    assert (probabilities[folds == 1] == changed[folds == 1]).all()
    assert (probabilities[folds != 1] != changed[folds != 1]).any()
    with pytest.raises(ValueError, match="leaves of both kinds"):
        fit_trees(x, np.zeros(900, dtype=bool), NAMES)
