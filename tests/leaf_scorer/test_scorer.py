from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from canopy.errors import DataError
from canopy.leaf_scorer.features import NAMES, leaf_features
from canopy.leaf_scorer.fitting import calibration, fit_trees
from canopy.leaf_scorer.scorer import LeafScorer, plain_probabilities, scorer_digest
from canopy.leaf_scorer.stems import Rarity
from tests.leaf_scorer.retrieved import HARBOUR, ITEMS, retrieve

QUESTION = "Who was the master of the harbour?"


@pytest.fixture(scope="module")
def scorer() -> LeafScorer:
    features = np.concatenate([leaf_features(retrieve(QUESTION, seed=n), Rarity.of(ITEMS)) for n in range(40)])
    gold = features[:, NAMES.index("overlap")] > 0.5
    return LeafScorer(fit_trees(features, gold, NAMES), Rarity.of(ITEMS), {0.9: 0.01, 0.95: 0.004})


def test_a_scorer_comes_back_from_its_folder(scorer: LeafScorer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        scorer.save(tmp_path / name)
    again, forest = LeafScorer.open(tmp_path / "a"), retrieve(QUESTION)
    assert (again.probabilities(forest) == scorer.probabilities(forest)).all()
    assert again.prices == {0.9: 0.01, 0.95: 0.004} and again.rarity.idf("leith") == scorer.rarity.idf("leith")
    assert scorer_digest(tmp_path / "a") == scorer_digest(tmp_path / "b")
    assert scorer.probabilities(retrieve("Why?", [])).shape == (0,)
    (tmp_path / "b" / "prices.json").write_text("[1]", "utf-8")
    assert scorer_digest(tmp_path / "a") != scorer_digest(tmp_path / "b")
    with pytest.raises(DataError, match=r"prices\.json: cannot be read"):
        LeafScorer.open(tmp_path / "b")
    (tmp_path / "b" / "rarity.json").unlink()
    with pytest.raises(DataError, match=r"rarity\.json: cannot be read"):
        LeafScorer.open(tmp_path / "b")


def test_without_a_scorer_leaves_go_by_score_and_title() -> None:
    forest = retrieve("harbour of Leith", [HARBOUR])
    values = plain_probabilities(forest, Rarity())
    np.testing.assert_allclose(values, np.clip(forest.scores[forest.leaf] + 0.3, 0, 1))


def test_calibration_compares_equally_filled_bins() -> None:
    probabilities = np.linspace(0, 1, 100)
    bins = calibration(probabilities, probabilities > 0.5, 4)
    assert [b["share"] for b in bins] == [0.25] * 4 and [b["gold"] for b in bins] == [0, 0, 1, 1]
    assert bins[0]["probability"] < bins[-1]["probability"]
