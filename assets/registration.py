"""The registered model: the evaluated adapter as a version in MLflow's registry, alias `challenger`."""

from pathlib import Path

import dagster as dg

from assets.resources import WorkspaceResource, tag_process
from orchestration.pipeline.hints import address
from orchestration.pipeline.lineage import Graph

NAME = "registered_model"
_NEEDS = ("node_encoder", "item_index", "evaluation", "report")


def build_registration(graph: Graph) -> list[dg.AssetsDefinition]:
    """The registration asset, if the graph holds what it registers."""
    if not set(_NEEDS) <= set(graph.bases):
        return []

    @dg.asset(name=NAME, deps=list(_NEEDS), code_version="1", group_name="model", kinds={"mlflow"},
              description="The adapter, its base model's digest, its index and its evaluation, registered in MLflow as "
                          "`canopy-node-encoder` with alias `challenger`. Promotion makes it champion.")
    def registered_model(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> dg.MaterializeResult:
        from canopy.errors import CanopyError
        from canopy.progress import listen, progress
        from orchestration.models.registration import register_candidate
        from orchestration.models.registry import CHALLENGER, MODEL

        tag_process(context)
        try:
            with listen(context.log.info), progress(NAME):
                version = register_candidate(Path(workspace.path), {"dagster.run_id": context.run_id})
        except CanopyError as e:
            raise dg.Failure(description=f"{NAME}: {e}", allow_retries=False) from e
        following = address("`canopy promote` compares it with the champion; if it does not pass, it says why.",
                            Path(workspace.path), anywhere=True)
        return dg.MaterializeResult(data_version=dg.DataVersion(version), metadata={
            "model": MODEL, "version": version, "alias": CHALLENGER, "next": dg.MetadataValue.md(following)})

    return [registered_model]
