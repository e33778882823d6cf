"""Made-up cases: small items with random scores, gold and alternatives, for the evaluation's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from canopy.evaluation.cases import Cases, build_cases
from canopy.gold.instances import build_instances


def make_gold(seed: int, questions: int = 12, most: int = 9) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Gold rows and splits: one or two items a question, sometimes two alternatives, sometimes gold that was not
    located."""
    rng = np.random.default_rng(seed)
    gold, splits = [], []
    for q in range(questions):
        splits.append({"question_id": f"q{q}", "split": "train" if q % 5 == 4 else "test", "component": q})
        for i in range(int(rng.integers(1, 3))):
            count = int(rng.integers(1, most + 1))
            for group in range(int(rng.integers(1, 3))):
                located = bool(rng.random() < 0.85)
                size = int(rng.integers(1, count + 1)) if located else count
                gold.append({"question_id": f"q{q}", "item_id": f"i{q}-{i}", "group": group, "count": count,
                             "fragments": sorted(rng.choice(count, size, replace=False).tolist()),
                             "modality": ["text", "table"][i % 2], "coverage": "located" if located else "whole"})
    return gold, splits


def make_cases(seed: int, **sizes: int) -> tuple[Cases, list[dict[str, Any]], list[dict[str, Any]]]:
    """Cases, with the gold rows and instances that they were built from."""
    gold, splits = make_gold(seed, **sizes)
    instances = build_instances(gold, {s["question_id"]: s["split"] for s in splits}, 2)
    return build_cases(gold, splits, instances, 2), gold, instances


def make_scores(cases: Cases, seed: int, levels: int = 6) -> np.ndarray:
    """Coarse scores, so that ties are common."""
    return (np.random.default_rng(seed).integers(0, levels, len(cases.layout.forest)) / levels).astype(np.float32)
