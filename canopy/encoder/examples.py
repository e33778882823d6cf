"""Training examples: the decisions of a question about an item, in the batches, runs and halves that training takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.encoder.base import NodeRequest
from canopy.encoder.loss import preference_pairs
from canopy.hierarchy.leaves import cut_item
from canopy.items import Item


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
