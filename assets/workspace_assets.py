"""The assets of one workspace: its raw data, its stages and the registered model."""

from pathlib import Path

import dagster as dg

from assets.pipeline import build_stage_assets
from assets.raw import build_raw_source
from assets.registration import build_registration
from assets.resources import WorkspaceResource
from orchestration.pipeline.dvc_graph import read_graph


def build_assets(workspace: Path) -> dg.Definitions:
    """Assets of one workspace, by its dvc.yaml and params.yaml, with the resource and the executor that they need."""
    graph, snapshots = read_graph(workspace, code_only=True)
    return dg.Definitions(
        assets=[build_raw_source(graph), *build_stage_assets(graph, snapshots), *build_registration(graph)],
        resources={"workspace": WorkspaceResource(path=str(workspace))},
        executor=dg.in_process_executor)
