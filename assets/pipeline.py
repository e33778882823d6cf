"""Dagster's assets, built from the resolved dvc.yaml: one asset a stage, one partition a benchmark."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg

from assets.checks import check_results, check_specs, failed_results, source_evaluations
from assets.metadata import describe_outcome
from assets.resources import FORCE_TAG, WorkspaceResource, tag_process
from canopy.stages.registry import STAGES
from orchestration.data.data_docs import docs_page
from orchestration.pipeline.lineage import RAW, Graph, Snapshot, StageSpec, code_version, data_version


def _dependencies(graph: Graph, specs: list[StageSpec]) -> list[dg.AssetDep]:
    """Upstream assets; a partition that reads other partitions than its own depends on all of them."""
    deps = [dg.AssetDep(RAW)] if any(s.raw for s in specs) else []
    for base in dict.fromkeys(graph.stages[u].base for s in specs for u in s.upstream):
        crosses = any(s.partition and graph.stages[u].partition not in (None, s.partition)
                      for s in specs for u in s.upstream if graph.stages[u].base == base)
        deps.append(dg.AssetDep(base, partition_mapping=dg.AllPartitionMapping()) if crosses else dg.AssetDep(base))
    return deps


def _build_asset(graph: Graph, specs: list[StageSpec], version: str) -> dg.AssetsDefinition:
    base = specs[0].base
    declared = STAGES[base]
    partitions = dg.StaticPartitionsDefinition(list(graph.partitions)) if specs[0].partition else None

    reads = "\n".join(f"- `{p}`" for p in specs[0].paths)

    @dg.asset(name=base, deps=_dependencies(graph, specs), code_version=version, partitions_def=partitions,
              group_name=declared.group, kinds={"dvc", *declared.kinds}, description=specs[0].description,
              check_specs=check_specs(base, partitions),
              metadata={"command": specs[0].template, "reads": dg.MetadataValue.md(reads),
                        "parameters": ", ".join((*specs[0].params, *specs[0].own_params))})
    def stage_asset(context: dg.AssetExecutionContext,
                    workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        from canopy.errors import CanopyError
        from canopy.paths import Paths
        from canopy.progress import listen
        from canopy.validation.outcomes import ValidationFailed

        tag_process(context)
        partition = context.partition_key if partitions else None
        name = f"{base}@{partition}" if partition else base
        docs = docs_page(Path(workspace.path), base, partition)
        try:
            with listen(context.log.info):
                outcome = workspace.execute(name, force=FORCE_TAG in context.run.tags, dagster_run=context.run_id)
        except CanopyError as e:
            if isinstance(e, ValidationFailed):
                yield from failed_results(base, e, docs)
                for evaluation in source_evaluations(e) if e.suite != base else ():
                    context.instance.report_runless_asset_event(evaluation)
            description = str(e) if str(e).startswith(name) else f"{name}: {e}"
            raise dg.Failure(description=description, allow_retries=False) from e
        folder = Paths(Path(workspace.path)).output(base, partition)
        yield dg.MaterializeResult(
            data_version=dg.DataVersion(data_version(outcome.outs)), metadata=describe_outcome(outcome, folder, docs),
            check_results=check_results(base, outcome.result.checks, docs))

    return stage_asset


def build_stage_assets(graph: Graph, snapshots: Mapping[str, Snapshot]) -> list[dg.AssetsDefinition]:
    """One asset for each stage of the graph; its code version comes from the present command, parameters and code."""
    return [_build_asset(graph, specs, code_version(specs[0], snapshots[specs[0].name]))
            for specs in graph.bases.values()]
