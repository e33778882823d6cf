"""Train/test by connected component of questions and gold items: no gold item is ever on both sides (method.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

SPLIT_SCHEMA = pa.schema([("question_id", pa.string()), ("split", pa.string()), ("component", pa.int32())])


def components(pairs: Iterable[tuple[str, str]], questions: Sequence[str]) -> dict[str, int]:
    """Number the connected components of the graph whose edges are (question, gold item) pairs, in question order."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def find(x: tuple[str, str]) -> tuple[str, str]:
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for q, i in pairs:
        parent[find(("q", q))] = find(("i", i))
    numbers: dict[tuple[str, str], int] = {}
    return {q: numbers.setdefault(find(("q", q)), len(numbers)) for q in questions}


def split_questions(component: Mapping[str, int], test_share: float, seed: int) -> dict[str, str]:
    """Give whole components to test until ``test_share`` of the questions is reached, in an order drawn by the seed.

    The order is a hash of the seed and the component's least question id, so that adding questions elsewhere moves
    few components. A component that would overshoot the share by more than it closes the gap goes to train.
    """
    members: dict[int, list[str]] = {}
    for q, c in component.items():
        members.setdefault(c, []).append(q)
    order = sorted(members.values(), key=lambda qs: hashlib.sha256(f"{seed}\x1f{min(qs)}".encode()).digest())
    target, taken = test_share * len(component), 0
    side: dict[str, str] = {}
    for qs in order:
        test = taken < target and abs(taken + len(qs) - target) <= abs(taken - target)
        taken += len(qs) if test else 0
        side.update((q, "test" if test else "train") for q in qs)
    return {q: side[q] for q in component}
