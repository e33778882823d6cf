"""LoRA training of f_theta: deterministic for a seed, resumable after a kill at the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from canopy.config import Training
from canopy.encoder.base import NodeRequest, TrainableEncoder
from canopy.encoder.loss import best_alternative, preference_loss, preference_pairs
from canopy.encoder.memory import Accumulation
from canopy.hierarchy.leaves import cut_item
from canopy.items import Item

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Example:
    """All instances of one question in one item.

    ``request`` holds every node of the item that any question's pairs need, and is shared by the examples of that item;
    ``pairs`` are (above, below, instance) as positions among its nodes; ``decision`` gives each instance's decision:
    alternatives of one node share it.
    """

    question: str
    request: NodeRequest
    pairs: tuple[tuple[int, int, int], ...]
    decision: tuple[int, ...]

    @property
    def decisions(self) -> int:
        """Number of decisions, each weighing the same in the loss."""
        return max(self.decision) + 1


def build_examples(instances: Iterable[Mapping[str, Any]], questions: Mapping[str, str], items: Mapping[str, Item],
                   segment_seconds: float) -> list[Example]:
    """Group training instances by item, then question, in sorted order."""
    grouped: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for x in instances:
        grouped.setdefault(x["item_id"], {}).setdefault(x["question_id"], []).append(x)
    out = []
    for i, by_question in sorted(grouped.items()):
        spans: dict[int, tuple[int, int]] = {}
        for x in (x for rows in by_question.values() for x in rows):
            spans[x["node"]] = (x["lo"], x["hi"])
            spans.update(zip(x["child_nodes"], x["child_spans"], strict=True))
        where = {node: n for n, node in enumerate(sorted(spans))}
        lo_hi = np.array([spans[n] for n in sorted(spans)], dtype=np.int32)
        request = NodeRequest(items[i], cut_item(items[i], segment_seconds), lo_hi[:, 0], lo_hi[:, 1])
        for q, rows in sorted(by_question.items()):
            decision: dict[int, int] = {}
            pairs = tuple((where[a], where[b], n) for n, x in enumerate(rows) for a, b in preference_pairs(x))
            numbers = tuple(decision.setdefault(x["node"], len(decision)) for x in rows)
            out.append(Example(questions[q], request, pairs, numbers))
    return out


def epoch_batches(examples: Sequence[Example], size: int, seed: int, epoch: int) -> list[list[int]]:
    """Example numbers in batches, drawn by seed and epoch.

    Items are shuffled, and an item's questions stay together: under ``one_pass`` a batch then encodes the item once
    for all of them, which makes training on tables with several questions about three times as fast.
    """
    by_item: dict[str, list[int]] = {}
    for n, e in enumerate(examples):
        by_item.setdefault(e.request.item.id, []).append(n)
    runs = [by_item[i] for i in sorted(by_item)]
    random.Random(f"{seed}:{epoch}").shuffle(runs)
    order = [n for run in runs for n in run]
    return [order[start:start + size] for start in range(0, len(order), size)]


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


def micro_batches(batch: Sequence[int], examples: Sequence[Example], budget: int,
                  cost: Callable[[NodeRequest], int]) -> list[list[int]]:
    """A batch cut into runs that cost about four times ``budget`` characters, an item once for all its questions.

    A run is one backward pass, so this bounds its memory.
    """
    runs: list[list[int]] = []
    size, item = 0, ""
    for n in batch:
        own = examples[n].request
        more = 0 if own.item.id == item else cost(own)
        if not runs or (more and size + more > 4 * budget):
            runs.append([])
            size = 0
        runs[-1].append(n)
        size, item = size + more, own.item.id
    return runs


def halve(run: Sequence[tuple[Example, int]]) -> list[list[tuple[Example, int]]]:
    """A run of examples and their numbers in two, each half with the nodes it needs; empty if it is one decision.

    It is cut between examples or, if there is only one, between its decisions.

    The loss is a sum over decisions, so the halves' losses and gradients add up to the whole's.
    """
    if len(run) > 1:
        return [list(run[:len(run) // 2]), list(run[len(run) // 2:])]
    (whole, number), = run
    cut = whole.decisions // 2
    if not cut:
        return []
    return [[(_narrow(whole, lambda d: d < cut), number)], [(_narrow(whole, lambda d: d >= cut), number)]]


def _narrow(example: Example, keep: Callable[[int], bool]) -> Example:
    """The decisions of an example to keep, over the nodes that their pairs need."""
    instances = [n for n, d in enumerate(example.decision) if keep(d)]
    place = {n: k for k, n in enumerate(instances)}
    pairs = [p for p in example.pairs if p[2] in place]
    nodes = sorted({v for a, b, _ in pairs for v in (a, b)})
    where = {v: k for k, v in enumerate(nodes)}
    first: dict[int, int] = {}
    r = example.request
    return Example(example.question, NodeRequest(r.item, r.leaves, r.lo[nodes], r.hi[nodes]),
                   tuple((where[a], where[b], place[n]) for a, b, n in pairs),
                   tuple(first.setdefault(example.decision[n], len(first)) for n in instances))


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
