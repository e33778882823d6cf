"""What Dagster loads: the graph of the selected workspace, its sources and its assets, merged."""

from pathlib import Path

import dagster as dg

from assets.checks import check_evaluations
from assets.jobs import build_jobs
from assets.metadata import describe_outcome
from assets.pipeline import build_stage_assets
from assets.raw import build_raw_source
from assets.registration import build_registration
from assets.resources import WorkspaceResource
from orchestration.pipeline.dvc_graph import read_graph
from orchestration.pipeline.workspace import select_workspace

__all__ = ["build_definitions", "check_evaluations", "defs", "describe_outcome"]


def build_definitions(workspace: Path) -> dg.Definitions:
    """Definitions of one workspace."""
    graph, snapshots = read_graph(workspace, code_only=True)
    return dg.Definitions(
        assets=[build_raw_source(graph), *build_stage_assets(graph, snapshots), *build_registration(graph)],
        resources={"workspace": WorkspaceResource(path=str(workspace))},
        jobs=build_jobs(),
        executor=dg.in_process_executor)


@dg.definitions
def defs() -> dg.Definitions:
    """Definitions of the workspace that $CANOPY_WORKSPACE or the current folder selects."""
    return build_definitions(select_workspace())
