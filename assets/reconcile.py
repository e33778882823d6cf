"""Tells Dagster what happened without it: raw files that changed, and stages that a plain `dvc repro` ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg

from assets.checks import check_evaluations
from assets.metadata import Value, describe_outcome
from assets.staleness import latest_version, stale_states
from canopy.paths import Paths
from orchestration.data.data_docs import docs_page
from orchestration.pipeline.lineage import (
    RAW,
    Graph,
    Snapshot,
    StageSpec,
    code_version,
    data_version,
    overlap,
    raw_version,
)
from orchestration.pipeline.stage import Outcome, read_summary

_DATA, _CODE, _USER = "dagster/data_version", "dagster/code_version", "dagster/data_version_is_user_provided"
_INPUT, _POINTER = "dagster/input_data_version", "dagster/input_event_pointer"
_BEFORE_ALL = 1  # an event pointer at which no input of ours existed yet: the input reads as changed since


def observe_raw(instance: dg.DagsterInstance, graph: Graph, now: Mapping[str, Snapshot]) -> list[str]:
    """Report each partition of raw data whose present version Dagster does not know; returns those partitions."""
    changed = []
    for partition, spec in graph.sources.items():
        version, known = raw_version(spec, now[spec.name]), latest_version(instance, RAW, partition, source=True)
        if known is None or known.data != version:
            instance.report_runless_asset_event(dg.AssetObservation(RAW, partition=partition, tags={_DATA: version}))
            changed.append(partition)
    return changed


def reconcile(instance: dg.DagsterInstance, definitions: dg.Definitions, graph: Graph, now: Mapping[str, Snapshot],
              then: Mapping[str, Snapshot], reasons: Mapping[str, Sequence[str]], workspace: Path) -> list[str]:
    """Report what dvc.lock holds and Dagster does not know, in topological order; returns the reported stages.

    The events carry full provenance (code version, data version, versions of and pointers to the inputs). Without those
    tags an asset would read fresh whatever its inputs do.

    Parameters
    ----------
    reasons : mapping
        Why each stage differs from dvc.lock, as ``lineage.explain`` says it; empty for a stage that does not.
    """
    reported: list[str] = []
    states = None
    for name, spec in graph.stages.items():
        locked = then.get(name)
        if locked is None:
            continue
        known = latest_version(instance, spec.base, spec.partition)
        if known is not None and known.data == data_version(locked.outs):
            if any(path not in locked.paths for path in spec.code):
                continue  # dvc.lock is of a version with other code deps: both tools call the stage stale
            states = states or stale_states(definitions, instance)
            unchanged = reasons[name] or states[spec.base, spec.partition][0] == "FRESH"
            if known.code == code_version(spec, locked) and unchanged:
                continue
        instance.report_runless_asset_event(dg.AssetMaterialization(
            spec.base, partition=spec.partition,
            description="reported from dvc.lock: a `dvc repro` outside Dagster made it",
            metadata=_metadata(workspace, spec, now[name], locked),
            tags={_CODE: code_version(spec, locked), _DATA: data_version(locked.outs), _USER: "true",
                  **_provenance(instance, graph, spec, now[name], locked)}))
        if dict(now[name].outs) == dict(locked.outs):
            checks = read_summary(workspace, spec.base, spec.partition).checks
            for evaluation in check_evaluations(spec.base, checks, spec.partition):
                instance.report_runless_asset_event(evaluation)
        reported.append(name)
        states = None  # what it reported changes how the stages below it stand
    return reported


def _metadata(workspace: Path, spec: StageSpec, now: Snapshot, then: Snapshot) -> dict[str, Value]:
    """What a run would have shown, read from the output itself; the origin alone if the output has changed since."""
    origin: dict[str, Value] = {"reconciled_from": "dvc.lock"}
    if dict(now.outs) != dict(then.outs):
        return origin
    result = read_summary(workspace, spec.base, spec.partition)
    outcome = Outcome("unchanged", result, then.outs, 0.0, ("run by `dvc repro`, outside Dagster",))
    folder, docs = Paths(workspace).output(spec.base, spec.partition), docs_page(workspace, spec.base, spec.partition)
    values = describe_outcome(outcome, folder, docs)
    return {**origin, **{k: v for k, v in values.items() if k not in ("seconds", "cache_hit")}}


def _provenance(instance: dg.DagsterInstance, graph: Graph, spec: StageSpec, now: Snapshot,
                then: Snapshot) -> dict[str, str]:
    """Tags for each input: its present version if the stage was made from it, otherwise one that reads as changed."""
    tags = {}
    for asset in dict.fromkeys([*([RAW] if spec.raw else []), *(graph.stages[u].base for u in spec.upstream)]):
        known = latest_version(instance, asset, source=asset == RAW)
        if asset == RAW:
            same = raw_version(spec, now) == raw_version(spec, then)
        else:
            outs = {o for u in spec.upstream if graph.stages[u].base == asset for o in graph.stages[u].outs}
            read = [p for p in spec.data if any(overlap(o, p) for o in outs)]
            same = all(now.paths[p] == then.paths.get(p) for p in read)
        tags[f"{_INPUT}/{asset}"] = (known.data if known and same else None) or "unknown"
        tags[f"{_POINTER}/{asset}"] = str(known.pointer if known and same else _BEFORE_ALL)
    return tags
