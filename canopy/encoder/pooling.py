"""From token states to unit node vectors: mean over a node's tokens, differentiable and exact under windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def sum_by_fragment(states: torch.Tensor, slots: torch.Tensor, count: int) -> torch.Tensor:
    """Sum token states into fragment slots.

    Parameters
    ----------
    states : Tensor, shape (tokens, dimension)
    slots : Tensor of int64, shape (tokens,)
    count : int
        Number of slots.

    Returns
    -------
    Tensor, shape (count, dimension)
    """
    return states.new_zeros(count, states.shape[1]).index_add(0, slots, states)


def pool_nodes(sums: torch.Tensor, first: torch.Tensor, last: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
    """Unit vectors of nodes that are runs of fragment slots.

    The mean over a node's tokens and its item's context tokens, divided by its norm; the token count cancels, so sums
    do. Under overlapping windows each token was counted once, in the window that owns it: pooling is token-weighted.

    Parameters
    ----------
    sums : Tensor, shape (slots, dimension)
        Token sums by fragment slot.
    first, last : Tensor of int64, shape (nodes,)
        A node is the slots ``[first, last)``.
    context : Tensor of int64, shape (nodes,)
        The slot with the context tokens of the node's item.
    """
    import torch

    # Prefix sums in float64: differences of long float32 sums would lose the digits that small nodes live on.
    edges = torch.cat([sums.new_zeros(1, sums.shape[1], dtype=torch.float64), sums.double().cumsum(0)])
    node = edges[last] - edges[first] + sums[context].double()
    return torch.nn.functional.normalize(node, dim=1, eps=1e-9).to(sums.dtype)
