import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from canopy.evaluation.comparison import compare
from canopy.scoring.bootstrap import paired_bootstrap, paired_ratio_bootstrap, ratio_intervals, resampled_sums

values = arrays(np.float64, st.integers(2, 40), elements=st.floats(-5, 5))


@given(values, st.floats(-3, 3))
def test_a_constant_shift_is_certain(b, shift):
    i = paired_bootstrap(b + shift, b, resamples=100)
    assert (
        i.estimate == pytest.approx(shift, abs=1e-9)
        and i.low == pytest.approx(shift, abs=1e-9)
        and i.high == pytest.approx(shift, abs=1e-9)
    )


@given(values, st.integers(0, 99))
def test_the_interval_is_ordered_and_mirrors_when_the_sides_swap(a, seed):
    b = np.random.default_rng(seed).permutation(a)
    i, j = paired_bootstrap(a, b, 200, seed), paired_bootstrap(b, a, 200, seed)
    assert i.low <= i.high and i.low == pytest.approx(-j.high, abs=1e-9) and i.estimate == pytest.approx(-j.estimate,
                                                                                                         abs=1e-9)


def test_equal_seeds_draw_equal_questions_whatever_is_summed():
    x, y = np.random.default_rng(0).random((2, 30, 1))
    together = resampled_sums(np.hstack([x, y]), 50, 7)
    assert np.allclose(together[:, :1], resampled_sums(x, 50, 7)) and np.allclose(together[:, 1:],
                                                                                  resampled_sums(y, 50, 7))


def test_questions_are_drawn_with_replacement_in_full_number():
    sums = resampled_sums(np.stack([np.ones(25), np.arange(25.0)], axis=1), 400, 1)
    assert (
        (sums[:, 0] == 25).all()
        and sums[:, 1].mean() == pytest.approx(300, rel=0.03)
        and sums[:, 1].std() == pytest.approx(np.sqrt(25 * 52), rel=0.15)
    )


def test_a_ratio_pools_over_questions_and_missing_values_leave_both_sides():
    held, asked = np.array([1.0, 0, 6]), np.array([1.0, 1, 8])
    assert ratio_intervals([(held, asked)], 100)[0].estimate == pytest.approx(0.7)
    assert paired_ratio_bootstrap((held, asked), (held, asked), 100).high == 0
    assert paired_bootstrap(np.array([1, np.nan, 3]), np.array([0, 5, np.nan]), 100).estimate == 1


def test_nothing_measured_is_not_a_number():
    for i in (paired_bootstrap(np.zeros(0), np.zeros(0)), ratio_intervals([(np.zeros(3), np.zeros(3))])[0]):
        assert np.isnan([i.estimate, i.low, i.high]).all()


def test_the_better_mode_is_the_higher_or_the_lower_one():
    one = np.ones(4)
    pairs = {"f0-one-pass": (one * 3, one), "f0-separate": (one * 5, one)}
    assert compare("x", (one * 4, one), pairs, True, 100, 1, 0.95).baseline == "f0-separate"
    lower = compare("x", (one * 4, one), pairs, False, 100, 1, 0.95)
    assert (
        lower.baseline == "f0-one-pass"
        and lower.difference.estimate == 1
        and lower.against["f0-separate"].estimate == -1
    )
    assert compare("x", (one, one * 0), pairs, True, 100, 1, 0.95) is None
