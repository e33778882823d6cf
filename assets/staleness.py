"""Dagster's own view of what is stale, by partition; the one module with its private resolver (a test pins it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import dagster as dg
from dagster._core.definitions.data_version import (
    CachingStaleStatusResolver,
    extract_data_provenance_from_entry,
    extract_data_version_from_entry,
)
from dagster._core.loader import LoadingContextForTest

from orchestration.pipeline.history import State

States: TypeAlias = dict[tuple[str, str | None], tuple[State, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Version:
    """The newest event of an asset's partition that carries a data version."""

    pointer: int
    data: str | None
    code: str | None


def stale_states(definitions: dg.Definitions, instance: dg.DagsterInstance) -> States:
    """State of every (asset, partition) and Dagster's reasons.

    Every partition is looked up by its key: without one, a partitioned asset would read fresh. Dagster looks one hop
    back.
    """
    graph = definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    states: States = {}
    for key in graph.materializable_asset_keys:
        node = graph.get(key)
        for partition in node.partitions_def.get_partition_keys() if node.partitions_def else [None]:
            state: State = resolver.get_status(key, partition).value
            causes = resolver.get_stale_root_causes(key, partition)
            why = tuple(f"{c.asset_key.to_user_string()} {c.reason}" for c in causes)
            states[key.to_user_string(), partition] = state, why
    return states


def latest_version(instance: dg.DagsterInstance, asset: str, partition: str | None = None, *,
                   source: bool = False) -> Version | None:
    """The newest data version that Dagster knows of an asset or source."""
    record = instance.get_latest_data_version_record(dg.AssetKey(asset), source, partition)
    if record is None:
        return None
    data = extract_data_version_from_entry(record.event_log_entry)
    provenance = extract_data_provenance_from_entry(record.event_log_entry)
    return Version(record.storage_id, data.value if data else None, provenance.code_version if provenance else None)
