"""LoRA training of f_theta: deterministic for a seed, resumable after a kill at the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from canopy.config import Training
from canopy.encoder.base import TrainableEncoder
from canopy.encoder.examples import Example, epoch_batches, halve, micro_batches
from canopy.encoder.loss import best_alternative, preference_loss
from canopy.encoder.memory import Accumulation

if TYPE_CHECKING:
    import torch


def fingerprint(examples: Sequence[Example], settings: Training, encoder_digest: str, batch_tokens: int) -> str:
    """Names a training run: a checkpoint of any other run is not resumed."""
    digest = hashlib.sha256(json.dumps([settings.model_dump(mode="json"), encoder_digest, batch_tokens]).encode())
    for e in examples:
        digest.update(json.dumps([e.question, e.request.item.content_digest(), e.request.lo.tolist(),
                                  e.request.hi.tolist(), e.pairs,
                                  e.decision], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def decision_losses(encoder: TrainableEncoder, model: torch.nn.Module, batch: Sequence[Example], queries: torch.Tensor,
                    temperature: float) -> torch.Tensor:
    """Losses of a batch's decisions, shape (decisions,); ``queries``: f0's unit vectors, (examples, dimension)."""
    import torch

    requests = {e.request.item.id: e.request for e in batch}
    vectors = encoder.node_vectors(model, list(requests.values()))
    first = dict(zip(requests, np.cumsum([0, *[len(r.lo) for r in requests.values()]]), strict=False))
    above: list[int] = []
    below: list[int] = []
    instance: list[int] = []
    decision: list[int] = []
    question: list[int] = []
    seen = decided = 0
    for n, e in enumerate(batch):
        start = int(first[e.request.item.id])
        above += [start + a for a, _, _ in e.pairs]
        below += [start + b for _, b, _ in e.pairs]
        instance += [seen + i for _, _, i in e.pairs]
        question += [n] * len(e.pairs)
        decision += [decided + d for d in e.decision]
        seen, decided = seen + len(e.decision), decided + e.decisions
    query = queries[torch.tensor(question)]
    scores = torch.cat([(vectors[torch.tensor(side)] * query).sum(1) for side in (above, below)])
    half = torch.arange(len(above))
    losses = preference_loss(scores, half, half + len(above), torch.tensor(instance), seen, temperature)
    return best_alternative(losses, decision)


def train_adapter(encoder: TrainableEncoder, examples: Sequence[Example], settings: Training, work: Path,
                  report: Callable[[int, int, float, float], None] = lambda *a: None,
                  note: Callable[[str], None] = lambda s: None) -> tuple[Any, list[dict[str, float]]]:
    """Train a LoRA adapter with the preference loss (paper, section 3.3; AdamW, linear warm-up and decay).

    A batch is ``settings.batch`` examples; its gradient is added up over runs that fit ``encoder.batch_tokens``, and
    a run that is out of memory is halved, exactly as far as the loss goes, and done again. Every ``checkpoint_steps``
    steps adapter, optimiser, random state and curve are saved under ``work``; a run with the same fingerprint goes on
    from there and ends with the same bytes as one never killed.

    Parameters
    ----------
    report : callable
        Called after each step with (step, steps, loss, learning rate).
    note : callable
        Called with a sentence where memory ran out and a run was halved.

    Returns
    -------
    model : PeftModel
        In evaluation mode.
    curve : list of dict
        ``step``, ``loss`` (mean over the batch's decisions), ``learning_rate``.
    """
    import torch

    plan = [batch for epoch in range(settings.epochs)
            for batch in epoch_batches(examples, settings.batch, settings.seed, epoch)]
    steps = len(plan)
    # Of the backbone only the adapter trains, and only the adapter's dropout is on: BERT's own dropout would cost a
    # third of the speed and gained nothing (HotpotQA: 69.7 without, 69.2 with).
    queries = torch.from_numpy(encoder.encode_queries([e.question for e in examples]))
    torch.manual_seed(settings.seed)
    model = encoder.add_adapter(encoder.fresh_backbone(), rank=settings.rank, alpha=settings.alpha,
                                dropout=settings.dropout).train()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    optimiser = torch.optim.AdamW(list(trained.values()), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    saved = work / "checkpoint.pt"
    mark = fingerprint(examples, settings, encoder.digest, encoder.batch_tokens)
    curve = _resume(saved, mark, trained, optimiser)
    for point in curve:
        report(int(point["step"]), steps, point["loss"], point["learning_rate"])
    was = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    # On a GPU some operations of the backbone have no deterministic form: there a warning, not an error.
    torch.use_deterministic_algorithms(True, warn_only=encoder.device != "cpu")

    def losses(run: Sequence[tuple[Example, int]]) -> torch.Tensor:
        return decision_losses(encoder, model, [e for e, _ in run], queries[[n for _, n in run]], settings.temperature)

    gradient = Accumulation(list(trained.values()), losses, halve, note)
    try:
        for step in range(len(curve), steps):
            rate = settings.learning_rate * _schedule(step, steps, settings.warmup_share)
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.zero_grad()
            decisions, total = sum(examples[n].decisions for n in plan[step]), 0.0
            for run in micro_batches(plan[step], examples, encoder.batch_tokens, encoder.request_cost):
                total += gradient.add([(examples[n], n) for n in run], decisions)
            torch.nn.utils.clip_grad_norm_(list(trained.values()), 1.0)
            optimiser.step()
            curve.append({"step": float(step + 1), "loss": total, "learning_rate": rate})
            report(step + 1, steps, curve[-1]["loss"], rate)
            if (step + 1) % settings.checkpoint_steps == 0 and step + 1 < steps:
                _checkpoint(saved, mark, trained, optimiser, curve)
    finally:
        torch.use_deterministic_algorithms(was[0], warn_only=was[1])
    return model.eval(), curve


def _schedule(step: int, steps: int, warmup_share: float) -> float:
    warm = max(1, round(steps * warmup_share))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm), 1.0)


def _checkpoint(path: Path, mark: str, trained: Mapping[str, torch.Tensor], optimiser: torch.optim.Optimizer,
                curve: list[dict[str, float]]) -> None:
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".building")
    torch.save({"mark": mark, "weights": {n: p.detach() for n, p in trained.items()},
                "optimiser": optimiser.state_dict(), "random": torch.get_rng_state(), "curve": curve,
                **({"random_cuda": torch.cuda.get_rng_state()} if torch.cuda.is_initialized() else {})}, beside)
    os.replace(beside, path)


def _resume(path: Path, mark: str, trained: Mapping[str, torch.Tensor],
            optimiser: torch.optim.Optimizer) -> list[dict[str, float]]:
    """Restore a checkpoint of the same run; the curve so far, empty if there is none."""
    import torch

    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        shapes = {n: w.shape for n, w in saved["weights"].items()}
        if saved["mark"] != mark or shapes != {n: p.shape for n, p in trained.items()}:
            return []
        curve, state = list(saved["curve"]), saved["random"]
        optimiser.load_state_dict(saved["optimiser"])
    except Exception:  # whatever a cut or foreign file raises means the same: there is nothing to resume
        return []
    with torch.no_grad():
        for name, weight in saved["weights"].items():
            trained[name].copy_(weight)
    torch.set_rng_state(state)
    if "random_cuda" in saved and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(saved["random_cuda"])
    return curve
