"""What Dagster loads: the assets of the selected workspace and the jobs, merged."""

from pathlib import Path

import dagster as dg

from assets.jobs import build_jobs
from assets.workspace_assets import build_assets
from orchestration.pipeline.workspace import select_workspace


def build_definitions(workspace: Path) -> dg.Definitions:
    """Definitions of one workspace."""
    return dg.Definitions.merge(build_assets(workspace), dg.Definitions(jobs=build_jobs()))


@dg.definitions
def defs() -> dg.Definitions:
    """Definitions of the workspace that $CANOPY_WORKSPACE or the current folder selects."""
    return build_definitions(select_workspace())
