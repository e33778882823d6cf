"""What this room needs of the tool that keeps the history of runs; ``assets`` implements it with Dagster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from orchestration.pipeline.lineage import Graph, Snapshot

State = Literal["FRESH", "STALE", "MISSING"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How one (asset, partition) stands by its history: the state, the reasons for it, and the assets just above it."""

    state: State
    why: tuple[str, ...]
    parents: tuple[str, ...]


class History(Protocol):
    """The history of runs of one workspace, open."""

    def close_dead_runs(self, *, untagged: bool = False) -> int:
        """Mark runs whose process was killed as failed; returns how many.

        Parameters
        ----------
        untagged : bool
            Also runs that name no process. Use it only if no UI is at work.
        """
        ...

    def take_over(self, graph: Graph, now: Mapping[str, Snapshot], then: Mapping[str, Snapshot],
                  reasons: Mapping[str, Sequence[str]]) -> list[str]:
        """Record present raw data, and what dvc.lock holds that the history lacks; returns the recorded stages.

        Parameters
        ----------
        now, then : mapping
            Present content of each stage, and its content in dvc.lock.
        reasons : mapping
            Why each stage differs from dvc.lock (``lineage.explain``); empty for a stage that does not.
        """
        ...

    def standings(self) -> dict[tuple[str, str | None], Standing]:
        """How every (asset, partition) stands."""
        ...

    def materialize(self, asset: str, partition: str | None, *, forced: bool) -> Mapping[str, object]:
        """Run one (asset, partition) in this process; returns the metadata values that it reported.

        Raises
        ------
        Shortage
            If there are too few questions for the stage.
        CanopyError
            If the stage fails; an internal error leaves its traceback in ``.canopy/logs``.
        KeyboardInterrupt
            If the run was stopped.
        """
        ...


class Orchestrator(Protocol):
    """The tool that runs stages and remembers it."""

    def open(self, workspace: Path) -> AbstractContextManager[History]:
        """Open the history of a workspace."""
        ...

    def ui_commands(self, workspace: Path, host: str, port: int) -> dict[str, list[str]]:
        """Command lines of the processes behind the tool's UI, by name. The first one serves pages on ``host:port``."""
        ...

    def ui_environment(self, workspace: Path) -> dict[str, str]:
        """Environment variables that these processes need."""
        ...
