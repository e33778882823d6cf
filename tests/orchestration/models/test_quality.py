"""How many test questions a decision takes."""

from __future__ import annotations

import numpy as np
import pytest

from canopy.config import Config
from orchestration.models.gate import _quality_gates
from orchestration.models.quality import BenchmarkScores, Difference, fewest_questions

CONFIG = Config.model_validate({"benchmarks": {"a": {"adapter": "native", "path": "x"}},
                                "evaluation": {"resamples": 200}})


def gate(*gains: float) -> tuple[bool, str]:
    """The interval's gate over questions with these gains."""
    ones = np.ones(len(gains))
    scores = BenchmarkScores((np.array(gains), ones), {"f0-separate": (np.zeros(len(gains)), ones)})
    interval = _quality_gates(CONFIG, {"a": scores}, "f0", {})[1]
    return interval.passed, interval.why


@pytest.mark.parametrize(("confidence", "count"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_the_fewest_questions_are_those_of_the_sign_test(confidence: float, count: int) -> None:
    assert fewest_questions(confidence) == count
    assert 2 * 0.5**count <= 1 - confidence + 1e-12 < 2 * 0.5 ** (count - 1)


def test_questions_needed_grow_with_the_width_of_the_interval() -> None:
    assert Difference(0.2, -0.2, 0.6, "", 10).questions_needed(0.0) == 40
    assert Difference(0.2, 0.1, 0.3, "", 10).questions_needed(0.0) is None
    assert Difference(0.0, -0.1, 0.1, "", 10).questions_needed(0.0) is None


def test_an_interval_without_width_promotes_nothing() -> None:
    for count in (1, 2, 5):
        passed, why = gate(*[1.0] * count)
        assert not passed and f"on at least 6 test questions: there {'is' if count == 1 else 'are'} {count}" in why
    passed, why = gate(*[1.0] * 6)
    assert passed and "test questions" not in why.split("required")[1]
    assert "1 question;" in gate(1.0)[1] and "2 questions;" in gate(1.0, 0.0)[1]


def test_a_small_gain_says_how_many_questions_it_takes() -> None:
    passed, why = gate(*[1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    assert not passed and "with a difference like this that takes about " in why
    assert "takes about" not in gate(*[0.0] * 8)[1]
