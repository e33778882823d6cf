"""Where a device's memory runs out: batches and training runs are halved and done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from canopy.errors import DeviceError

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def run_halving(batch: Sequence[int], run: Callable[[Sequence[int]], torch.Tensor],
                note: Callable[[str], None]) -> torch.Tensor:
    """``run`` over a batch; where memory runs out, over its halves, and theirs.

    Raises
    ------
    DeviceError
        If a single sequence does not fit.
    """
    import torch

    try:
        return run(batch)
    except torch.OutOfMemoryError:
        pass  # the rest comes after the handler, whose traceback holds the tensors that are to be freed
    free_memory()
    if len(batch) == 1:
        raise DeviceError("one input alone does not fit into the device's memory: "
                          "lower encoder.max_tokens, encoder.max_pixels and encoder.video_pixels")
    note(f"a batch of {len(batch)} inputs ran out of memory and was halved: "
         "lower encoder.batch_tokens to save the time")
    half = len(batch) // 2
    return torch.cat([run_halving(part, run, note) for part in (batch[:half], batch[half:])])


def free_memory() -> None:
    """Give back to the device what a failed pass held."""
    import gc

    import torch

    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


class Accumulation(Generic[T]):
    """Adds the gradient of runs to the parameters' ``grad``.

    Parameters
    ----------
    parameters : sequence of Tensor
        What is trained.
    losses : callable
        A run's losses, shape (decisions,).
    halve : callable
        A run in two whose losses add up to its own; empty if it cannot be cut.
    note : callable
        Called with a sentence where memory ran out.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], losses: Callable[[Sequence[T]], torch.Tensor],
                 halve: Callable[[Sequence[T]], list[list[T]]], note: Callable[[str], None]) -> None:
        self._parameters, self._losses, self._halve, self._note = parameters, losses, halve, note

    def add(self, run: Sequence[T], count: int) -> float:
        """Add the gradient of the run's losses, each divided by ``count``; returns their sum over ``count``.

        Raises
        ------
        DeviceError
            If what cannot be cut does not fit.
        """
        import torch

        before = [None if p.grad is None else p.grad.clone() for p in self._parameters]
        random_state = torch.get_rng_state(), torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
        try:
            part = self._losses(run).sum() / count
            part.backward()
            return float(part.detach())
        except torch.OutOfMemoryError:
            pass  # the rest comes after the handler, whose traceback holds the tensors that are to be freed
        # A backward pass that broke off has added part of its gradient, and dropout has drawn: both go back.
        for p, grad in zip(self._parameters, before, strict=True):
            p.grad = grad
        torch.set_rng_state(random_state[0])
        if random_state[1] is not None:
            torch.cuda.set_rng_state(random_state[1])
        free_memory()
        halves = self._halve(run)
        if not halves:
            raise DeviceError("training: one node and its children do not fit into the device's memory: "
                              "lower encoder.max_tokens, encoder.max_pixels and encoder.video_pixels, "
                              "or take a larger device")
        self._note(f"a training run of {len(run)} questions ran out of memory and was halved: "
                   "lower encoder.batch_tokens to save the time")
        return sum(self.add(half, count) for half in halves)
