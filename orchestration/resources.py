"""What assets get from outside: the workspace they work in, and Dagster's own storage inside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from canopy.atomic import write_bytes

if TYPE_CHECKING:
    from orchestration.stage import Outcome

FORCE_TAG = "canopy/force"  # a run with this tag runs its stages even where they are unchanged
_MADE = "# Made by canopy, and made again when canopy's settings change; delete this line to keep your own."
_DAGSTER_YAML = f"""{_MADE}
telemetry: {{enabled: false}}
nux: {{enabled: false}}
# Stages share one machine and one data folder, so runs go one after another.
concurrency: {{runs: {{max_concurrent_runs: 1}}}}
"""


class WorkspaceResource(dg.ConfigurableResource):
    """The folder with dvc.yaml, params.yaml and data/ that the assets are about."""

    path: str

    def execute(self, stage: str, *, force: bool, dagster_run: str) -> Outcome:
        """Run one stage and commit it (see ``orchestration.stage.execute``)."""
        from orchestration.stage import execute

        return execute(Path(self.path), stage, force=force, dagster_run=dagster_run)


def dagster_home(workspace: Path) -> Path:
    """The folder of Dagster's storage in a workspace, made where it is missing, and named in $DAGSTER_HOME."""
    home = workspace.resolve() / ".canopy" / "dagster"
    settings = home / "dagster.yaml"
    held = settings.read_text("utf-8") if settings.exists() else _MADE
    if held.startswith(_MADE) and held != _DAGSTER_YAML:
        write_bytes(settings, _DAGSTER_YAML.encode())
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def open_instance(workspace: Path) -> dg.DagsterInstance:
    """Dagster's instance of a workspace (sqlite in ``.canopy/dagster``)."""
    return dg.DagsterInstance.from_config(str(dagster_home(workspace)))
