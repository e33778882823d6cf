"""The preference loss of f_theta (CANOPY, arXiv 2610.00923, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


def preference_pairs(instance: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The preferences of one instance as pairs of nodes (a, b): a must score above b.

    At a fully gold node v: v over each child. Elsewhere: gold-overlapping children over v, v over the other children,
    and gold-overlapping children over the others.
    """
    v, kids = instance["node"], list(instance["child_nodes"])
    if instance["fully_gold"]:
        return [(v, c) for c in kids]
    gold = [c for c, g in zip(kids, instance["child_gold"], strict=True) if g]
    rest = [c for c, g in zip(kids, instance["child_gold"], strict=True) if not g]
    return [(g, v) for g in gold] + [(v, r) for r in rest] + [(g, r) for g in gold for r in rest]


def preference_loss(scores: torch.Tensor, above: torch.Tensor, below: torch.Tensor, instance: torch.Tensor, count: int,
                    temperature: float) -> torch.Tensor:
    """log(1 + sum over pairs of exp(lambda * (s(b) - s(a)))) of each instance.

    Parameters
    ----------
    scores : Tensor, shape (nodes,)
        s(q, v) of all nodes of the batch.
    above, below, instance : Tensor of int64, shape (pairs,)
        Each pair's a and b as indices into ``scores``, and the instance it belongs to.
    count : int
        Number of instances.
    temperature : float
        lambda; 20 in the paper.

    Returns
    -------
    Tensor, shape (count,)
        One loss an instance. Computed as a log-sum-exp whose extra term exp(0) is the 1, so it cannot overflow.
    """
    import torch

    gap = temperature * (scores[below] - scores[above])
    top = torch.zeros(count, dtype=gap.dtype).scatter_reduce(0, instance, gap.detach(), "amax", include_self=True)
    spread = torch.zeros_like(top).index_add(0, instance, torch.exp(gap - top[instance]))
    return top + torch.log(torch.exp(-top) + spread)


def best_alternative(losses: torch.Tensor, decision: Sequence[int]) -> torch.Tensor:
    """The loss of each decision (question, item, node): the least over its alternatives.

    Weak labels offer several golds for one question, any of which suffices; asking for all of them at once would ask a
    table to prefer every candidate row over every other. The paper has no alternatives; this choice is ours.

    Returns
    -------
    Tensor, shape (decisions,)
    """
    import torch

    where = torch.from_numpy(np.asarray(decision, dtype=np.int64))
    worst = torch.full((int(where.max()) + 1,), torch.inf, dtype=losses.dtype)
    return worst.scatter_reduce(0, where, losses, "amin", include_self=True)
