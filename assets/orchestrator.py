"""Dagster as the orchestrator of the program's commands; imported at first use, so that commands start at once."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestration.pipeline.history import History

_DEFINITIONS = "assets.definitions"


class DagsterOrchestrator:
    """Implements `orchestration.pipeline.history.Orchestrator`."""

    def open(self, workspace: Path) -> AbstractContextManager[History]:
        """Open Dagster's storage of a workspace."""
        from assets.history import open_history

        return open_history(workspace)

    def ui_commands(self, workspace: Path, host: str, port: int) -> dict[str, list[str]]:
        """The web server and the daemon."""
        python = [sys.executable, "-m"]
        return {
            "dagster": [*python, "dagster_webserver", "-h", host, "-p", str(port), "-m", _DEFINITIONS],
            # The UI's "materialize" over several benchmarks is a backfill, and backfills are the daemon's.
            "daemon": [*python, "dagster._daemon", "run", "-m", _DEFINITIONS],
        }

    def ui_environment(self, workspace: Path) -> dict[str, str]:
        """The folder of Dagster's storage; it is made if it is missing."""
        from assets.resources import dagster_home

        return {"DAGSTER_HOME": str(dagster_home(workspace))}
