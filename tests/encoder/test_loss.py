"""The preference loss against its formula, and the choice among alternatives."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from canopy.encoder.loss import best_alternative, preference_loss, preference_pairs


@given(st.lists(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), max_size=5), min_size=1, max_size=5),
       st.sampled_from([1.0, 20.0, 1000.0]))
def test_agrees_with_the_formula(instances, temperature):
    pairs = [(a, b, n) for n, own in enumerate(instances) for a, b in own]
    scores = torch.tensor([x for a, b, _ in pairs for x in (a, b)], dtype=torch.float64)
    at = torch.arange(len(pairs)) * 2
    got = preference_loss(scores, at, at + 1, torch.tensor([n for *_, n in pairs], dtype=torch.int64), len(instances),
                          temperature)
    for n, own in enumerate(instances):
        gaps = [temperature * (b - a) for a, b in own]
        top = max([0.0, *gaps])
        want = top + math.log(math.exp(-top) + sum(math.exp(g - top) for g in gaps))
        assert float(got[n]) == pytest.approx(want, abs=1e-5, rel=1e-5)


def test_gradient_pushes_preferred_nodes_up():
    scores = torch.tensor([0.1, 0.5, 0.3], requires_grad=True)
    preference_loss(scores, torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([0, 0]), 1, 20.0).sum().backward()
    assert scores.grad[0] < 0 < scores.grad[1] and scores.grad[2] > 0


def test_preferences_of_both_kinds():
    stop = {"node": 0, "child_nodes": [1, 2], "child_gold": [True, True], "fully_gold": True}
    assert preference_pairs(stop) == [(0, 1), (0, 2)]
    descend = {"node": 0, "child_nodes": [1, 2, 3], "child_gold": [False, True, False], "fully_gold": False}
    assert set(preference_pairs(descend)) == {(2, 0), (0, 1), (0, 3), (2, 1), (2, 3)}


def test_a_decision_costs_its_cheapest_alternative():
    losses = torch.tensor([3.0, 1.0, 2.0, 5.0], requires_grad=True)
    best = best_alternative(losses, [0, 0, 1, 2])
    assert np.allclose(best.detach(), [1, 2, 5])
    best.sum().backward()
    assert losses.grad.tolist() == [0, 1, 1, 1]
