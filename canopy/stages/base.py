"""What a stage is: a function of (config, paths, tracker, validator) that writes one folder and returns a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from canopy.validation.outcomes import CheckOutcome


class Tracker(Protocol):
    """Where a stage tells what it did (MLflow in the product, nothing in tests)."""

    def log_params(self, params: Mapping[str, Any]) -> None:
        """Note the parameters of a run."""
        ...

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Note finite numbers, of one step of a curve if ``step`` is given."""
        ...

    def log_artifact(self, path: Path) -> None:
        """Keep a copy of a file."""
        ...


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
    """What a stage did. ``summary.json`` in its output holds the same, so that an unchanged stage can show it.

    metrics : numbers (finite; names without ``@``); tables : short previews, lists of flat rows; files : artifacts to
    attach (paths relative to the output folder); notes : sentences a person should read (quarantines, fallbacks).
    """

    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    checks: list[CheckOutcome] = field(default_factory=list)
