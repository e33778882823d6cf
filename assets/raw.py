"""The observable source of raw data: a partition a benchmark, versioned by its files, adapter and parameters."""

import warnings
from pathlib import Path

import dagster as dg

from assets.resources import WorkspaceResource
from orchestration.pipeline.lineage import RAW, Graph, raw_version


def build_raw_source(graph: Graph) -> dg.SourceAsset:
    """Build the ``raw`` source from the stages that read raw files."""

    def raw(workspace: WorkspaceResource) -> dg.DataVersionsByPartition:
        from orchestration.pipeline.dvc_graph import read_graph

        present, snapshots = read_graph(Path(workspace.path))
        return dg.DataVersionsByPartition({p: raw_version(s, snapshots[s.name]) for p, s in present.sources.items()})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # plain asset specs leave what depends on them stale for ever
        return dg.observable_source_asset(
            name=RAW, group_name="raw", partitions_def=dg.StaticPartitionsDefinition(list(graph.sources)),
            description="A benchmark's raw files as they were released or as a user wrote them. Nothing writes them. "
                        "An observation hashes them with the adapter that reads them, so that a change reruns that "
                        "benchmark alone.",
            metadata={p: dg.MetadataValue.path(", ".join(s.raw)) for p, s in graph.sources.items()})(raw)
