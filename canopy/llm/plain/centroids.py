"""Nearest-centroid choices over MiniLM.

Is a table question aggregate or lookup, and which modalities does a question belong to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from canopy.llm.plain.sentences import Likeness
from canopy.llm.roles import Trace

FOLDER = Path(__file__).parent / "examples"
AGGREGATE_MARGIN = 0.0  # by how much the aggregate class must be nearer
ROUTE_MARGIN = 0.06  # a modality is searched too if its class is at most this much further than the nearest
ROUTE_FLOOR = 0.02  # no class is this near: the question leans to none of them, and all modalities are searched


@cache
def load_examples(name: str) -> dict[str, tuple[str, ...]]:
    """Example sentences by class, out of ``examples/<name>.md``.

    The file has a line ``version: N``, then for each class ``# class`` with its ``- sentence`` lines.
    """
    raw = (FOLDER / f"{name}.md").read_text("utf-8")
    if not re.match(r"version: \d+\n", raw):
        raise ValueError(f"examples {name}: the file must begin with a line 'version: N'")
    parts = re.findall(r"^# (\w+)\n(.*?)(?=^# |\Z)", raw, re.S | re.M)
    return {label: tuple(line[2:].strip() for line in body.splitlines() if line.startswith("- ")) for label,
            body in parts}


class Centroids:
    """The mean vectors of each class's examples, seen from the middle of them all; encoded when first asked.

    From the middle, since what all questions share outweighs what tells the classes apart: with plain cosines 29% of
    NQ's questions were routed to text, so 74% are.
    """

    def __init__(self, likeness: Likeness, name: str) -> None:
        self._likeness, self._name = likeness, name
        self._centroids: tuple[np.ndarray, dict[str, np.ndarray]] | None = None

    def to_question(self, question: str) -> dict[str, float]:
        """How far the question lies from the middle towards each class."""
        if self._centroids is None:
            means = {label: self._likeness.vectors(examples).mean(axis=0) for label,
                     examples in load_examples(self._name).items()}
            middle = np.mean(list(means.values()), axis=0)
            self._centroids = middle, {label: (mean - middle) / np.linalg.norm(mean - middle) for label,
                                  mean in means.items()}
        middle, towards = self._centroids
        vector = self._likeness.vectors([question])[0] - middle
        return {label: float(direction @ vector) for label, direction in towards.items()}


class CentroidClassifier:
    """See `canopy.llm.roles.TableClassifier`: aggregate if that class is nearer by more than ``AGGREGATE_MARGIN``.

    A tie is a lookup.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._centroids = Centroids(likeness, "table_questions")

    def is_aggregate(self, question: str, trace: Trace) -> bool:
        """Whether the question needs whole tables."""
        near = self._centroids.to_question(question)
        return near["aggregate"] > near["lookup"] + AGGREGATE_MARGIN


class CentroidRouter:
    """See `canopy.llm.roles.Router`: the modalities whose class is nearest, or nearly so.

    All, noted, if none is near.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._centroids = Centroids(likeness, "modalities")

    def route(self, question: str, available: Sequence[str], trace: Trace) -> tuple[str, ...]:
        """One or more of ``available``, in its order."""
        if len(available) < 2:
            return tuple(available)
        near = {m: s for m, s in self._centroids.to_question(question).items() if m in available}
        best = max(near.values(), default=-1.0)
        if best < ROUTE_FLOOR:
            trace.note("plain router: no modality is near, all are searched")
            return tuple(available)
        return tuple(m for m in available if near.get(m, -1.0) >= best - ROUTE_MARGIN)
