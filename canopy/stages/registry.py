"""Which stages there are, in the order they run in, and the function of each."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from canopy.stages.base import StageResult

STAGES: tuple[str, ...] = ("benchmark", "gold_spans", "training_instances", "corpus", "node_encoder", "node_embeddings",
                           "item_index", "evaluation", "answers", "report")
PER_BENCHMARK: frozenset[str] = frozenset({"benchmark", "gold_spans", "training_instances", "evaluation", "answers"})

StageFunction = Callable[..., StageResult]


def load_stage(name: str) -> StageFunction:
    """The function of a stage: ``canopy.stages.<name>.run(config, paths, tracker, validator, benchmark=None)``."""
    if name not in STAGES:
        raise KeyError(f"no stage {name!r}; there are {', '.join(STAGES)}")
    return importlib.import_module(f"canopy.stages.{name}").run
