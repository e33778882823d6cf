"""What assets get from outside: the workspace they work in, and Dagster's own storage inside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from canopy.atomic import write_bytes

if TYPE_CHECKING:
    from orchestration.pipeline.stage import Outcome

PROCESS_TAG = "canopy/process"  # the process of a run (see ``orchestration.machine.processes.identity``)
FORCE_TAG = "canopy/force"  # a run with this tag runs its stages even if they are unchanged
_HEADER = "# Made by canopy, and made again when canopy's settings change; delete this line to keep your own."
_DAGSTER_YAML = f"""{_HEADER}
telemetry: {{enabled: false}}
nux: {{enabled: false}}
# Stages share one machine and one data folder, so runs go one after another.
concurrency: {{runs: {{max_concurrent_runs: 1}}}}
"""


class WorkspaceResource(dg.ConfigurableResource):
    """The folder with dvc.yaml, params.yaml and data/ that the assets are about."""

    path: str

    def execute(self, stage: str, *, force: bool, dagster_run: str) -> Outcome:
        """Run one stage and commit it (see ``orchestration.pipeline.stage.execute``)."""
        from orchestration.pipeline.stage import execute

        return execute(Path(self.path), stage, force=force, dagster_run=dagster_run)


def tag_process(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> None:
    """Note the process of a run that the UI started; if the process is killed, the run can be closed."""
    from orchestration.machine.processes import identity

    if PROCESS_TAG not in context.run.tags:
        context.instance.add_run_tags(context.run_id, {PROCESS_TAG: identity()})


def dagster_home(workspace: Path) -> Path:
    """The folder of Dagster's storage in a workspace, made if it is missing, and named in $DAGSTER_HOME."""
    home = workspace.resolve() / ".canopy" / "dagster"
    settings = home / "dagster.yaml"
    present = settings.read_text("utf-8") if settings.exists() else _HEADER
    if present.startswith(_HEADER) and present != _DAGSTER_YAML:
        write_bytes(settings, _DAGSTER_YAML.encode())
    os.environ["DAGSTER_HOME"] = str(home)
    return home


def open_instance(workspace: Path) -> dg.DagsterInstance:
    """Dagster's instance of a workspace (sqlite in ``.canopy/dagster``)."""
    return dg.DagsterInstance.from_config(str(dagster_home(workspace)))
