"""The observable source of raw data: one partition a benchmark, whose version changes with its files, adapter and entry in params.yaml."""

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
            description="A benchmark's raw files as they were released or as a user wrote them. Nothing here writes them; observing "
                        "hashes them together with the adapter that reads them, so that only that benchmark reruns when one changes.",
            metadata={p: dg.MetadataValue.path(", ".join(s.raw)) for p, s in graph.sources.items()})(raw)
