"""What a stage is: a function of (config, paths, tracker, validator) that writes one output folder and returns a result."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from canopy.config import Config

STAGES: tuple[str, ...] = ("benchmark", "gold_spans", "training_instances", "corpus", "node_encoder", "node_embeddings",
                           "item_index", "evaluation", "answers", "report")
PER_BENCHMARK: frozenset[str] = frozenset({"benchmark", "gold_spans", "training_instances", "evaluation", "answers"})


@dataclass(frozen=True, slots=True)
class Paths:
    """Where things lie in a workspace (the folder that holds dvc.yaml and params.yaml)."""

    root: Path

    def output(self, stage: str, benchmark: str | None = None) -> Path:
        """The output folder of a stage: ``data/<stage>`` or ``data/<stage>/<benchmark>``."""
        base = self.root / "data" / stage
        return base / benchmark if benchmark else base

    def raw(self, config: Config, benchmark: str) -> Path:
        """The folder with a benchmark's raw files (relative paths count from the workspace)."""
        return self.root / config.benchmarks[benchmark].path

    def media(self, config: Config) -> dict[str, tuple[Path, Path]]:
        """Benchmark -> the folders that its items' media paths count from: its raw files, and what its stage made itself."""
        return {b: (self.raw(config, b), self.output("benchmark", b)) for b in config.benchmarks}

    def work(self, stage: str) -> Path:
        """Resumable work of a stage, outside every output (checkpoints)."""
        return self.root / ".canopy" / "work" / stage


class Tracker(Protocol):
    """Where a stage tells what it did (MLflow in the product, nothing in tests)."""

    def log_params(self, params: Mapping[str, Any]) -> None: ...
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None: ...
    def log_artifact(self, path: Path) -> None: ...


class Validator(Protocol):
    """Checks tables against the rules of ``canopy.validation``; raises ValidationFailed where a blocking rule fails.

    ``source`` names the output that the tables were read from; it is empty for what the stage is about to write.
    """

    def check(self, suite: str, tables: Mapping[str, pa.Table], source: str = "") -> list[dict[str, Any]]: ...


class NullTracker:
    """Tracks nothing."""

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Do nothing."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Do nothing."""

    def log_artifact(self, path: Path) -> None:
        """Do nothing."""


@dataclass(slots=True)
class StageResult:
    """What a stage did, for people and trackers; ``summary.json`` in its output holds the same, so a cache hit can show it.

    metrics : numbers (finite; names without ``@``); tables : short previews, lists of flat rows; files : artifacts to
    attach (paths relative to the output folder); notes : sentences a person should read (quarantines, fallbacks).
    """

    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)


StageFunction = Callable[..., StageResult]


def load_stage(name: str) -> StageFunction:
    """The function of a stage: ``canopy.stages.<name>.run(config, paths, tracker, validator, benchmark=None)``."""
    if name not in STAGES:
        raise KeyError(f"no stage {name!r}; there are {', '.join(STAGES)}")
    return importlib.import_module(f"canopy.stages.{name}").run
