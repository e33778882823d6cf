"""The stages that there are, by what their modules declare."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

import canopy.stages
from canopy.discovery import modules_of
from canopy.stages.base import StageResult
from canopy.stages.declaration import Stage

StageFunction = Callable[..., StageResult]


def _find_stages() -> dict[str, Stage]:
    """The declarations in the modules of ``canopy.stages``, by name."""
    declared = {m.__name__.rpartition(".")[2]: getattr(m, "STAGE", None) for m in modules_of(canopy.stages)}
    for module, stage in declared.items():
        if isinstance(stage, Stage) and stage.name != module:
            raise ValueError(f"canopy/stages/{module}.py declares a stage {stage.name!r}: give both one name")
    return {name: stage for name, stage in declared.items() if isinstance(stage, Stage)}


STAGES: Mapping[str, Stage] = _find_stages()
PER_BENCHMARK: frozenset[str] = frozenset(s.name for s in STAGES.values() if s.per_benchmark)


def load_stage(name: str) -> StageFunction:
    """The function of a stage: ``canopy.stages.<name>.run(config, paths, tracker, validator, benchmark=None)``."""
    if name not in STAGES:
        raise KeyError(f"no stage {name!r}; there are {', '.join(STAGES)}")
    function: StageFunction = importlib.import_module(f"canopy.stages.{name}").run
    return function
