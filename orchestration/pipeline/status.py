"""What is stale and why: one look at the files, dvc.lock and the history together, and where they disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from canopy.config import load_config
from orchestration.pipeline.dvc_graph import dvc_status, read_graph
from orchestration.pipeline.history import History, State
from orchestration.pipeline.lineage import Graph, Snapshot, StageSpec, code_version, explain, overlap
from orchestration.pipeline.listings import recall_listings, remember_listings
from orchestration.pipeline.lock_file import read_lock
from orchestration.pipeline.workspace import prune


@dataclass(frozen=True, slots=True)
class Task:
    """One (asset, partition) and how it stands.

    ``dvc`` are the reasons why it is not what dvc.lock says; None for an asset that is no stage. ``edited`` are those
    that come from outputs (its own or those it reads) being edited by hand: DVC sees them, Dagster cannot.
    """

    asset: str
    partition: str | None
    upstream: tuple[str, ...]
    dagster: State
    dagster_why: tuple[str, ...]
    dvc: tuple[str, ...] | None
    edited: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name as DVC writes it: ``benchmark@starter``."""
        return f"{self.asset}@{self.partition}" if self.partition else self.asset

    @property
    def stale(self) -> bool:
        """Whether either tool says that it must be made again."""
        return self.dagster != "FRESH" or bool(self.dvc)

    @property
    def why(self) -> tuple[str, ...]:
        """Reasons to run it, in DVC's precise terms where there are any."""
        return self.dvc or self.dagster_why or (("never ran",) if self.dagster == "MISSING" else ())

    @property
    def agrees(self) -> bool:
        """Whether the tools say the same, apart from outputs that were edited by hand."""
        return self.dvc is None or (self.dagster != "FRESH") == bool(set(self.dvc) - set(self.edited))


@dataclass(frozen=True, slots=True)
class View:
    """How a workspace stands, which stages the history had to take over, and the version of each stage's code."""

    graph: Graph
    tasks: Mapping[str, Task]
    reported: tuple[str, ...]
    code: Mapping[str, tuple[Any, ...]]


def _code(graph: Graph, now: Mapping[str, Snapshot]) -> dict[str, tuple[Any, ...]]:
    versions = {}
    for name, spec in graph.stages.items():
        own = (*(now[name].paths[p] for p in spec.own_code), *(now[name].params.get(p) for p in spec.own_params))
        versions[name] = (code_version(spec, now[name]), *own)
    return versions


def look_at_code(workspace: Path) -> dict[str, tuple[Any, ...]]:
    """The version of each stage's command, code and parameters."""
    return _code(*read_graph(workspace, code_only=True))


def _unedited(graph: Graph, spec: StageSpec, now: Mapping[str, Snapshot], then: Mapping[str, Snapshot]) -> Snapshot:
    """The stage's present content as if no output, its own or one it reads, had been edited by hand."""
    if spec.name not in then:
        return now[spec.name]
    edited = {o for u in spec.upstream if u in then for o in graph.stages[u].outs
              if now[u].outs[o] != then[u].outs.get(o)}
    read = {p: then[spec.name].paths.get(p) for p in spec.data if any(overlap(o, p) for o in edited)}
    return replace(now[spec.name], paths={**now[spec.name].paths, **read}, outs=then[spec.name].outs, uncached=())


def look(workspace: Path, history: History) -> View:
    """Take over what happened outside the history; returns how every (asset, partition) stands, in graph order."""
    prune(workspace, load_config(workspace / "params.yaml"))
    (graph, now), then = read_graph(workspace), read_lock(workspace)
    listings = {n: recall_listings(workspace, then.get(n)) for n in graph.stages}
    reasons = {n: explain(s, now[n], then.get(n), listings[n]) for n, s in graph.stages.items()}
    for name, why in reasons.items():
        if not why:
            remember_listings(workspace, now[name])
    reported = history.take_over(graph, now, then, reasons)
    standings = history.standings()
    tasks = {}
    for name, spec in graph.stages.items():
        standing = standings[spec.base, spec.partition]
        unedited = explain(spec, _unedited(graph, spec, now, then), then.get(name), listings[name])
        edited = tuple(r for r in reasons[name] if r not in unedited)
        tasks[name] = Task(spec.base, spec.partition, spec.upstream, standing.state, standing.why,
                           tuple(reasons[name]), edited)
    for (asset, partition), standing in standings.items():
        if asset not in graph.bases:
            upstream = tuple(n for n, t in tasks.items() if t.asset in standing.parents)
            tasks[asset] = Task(asset, partition, upstream, standing.state, standing.why, None, ())
    return View(graph, tasks, tuple(reported), _code(graph, now))


def differences(view: View, workspace: Path) -> list[str]:
    """Where Dagster, this program and `dvc status` do not say the same; empty if they agree."""
    reported = dvc_status(workspace)
    stages = [t for t in view.tasks.values() if t.dvc is not None]
    lines = [f"{t.name}: Dagster says {t.dagster}, dvc.lock says {'; '.join(t.dvc or ()) or 'unchanged'}"
             for t in stages if not t.agrees]
    lines += [f"{t.name}: `dvc status` says {'; '.join(reported.get(t.name, ['unchanged']))}"
              for t in stages if bool(reported.get(t.name)) != bool(t.dvc)]
    return lines
