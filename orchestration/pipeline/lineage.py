"""What a stage is made of and what it was last made from, as plain data; versions and reasons come from the two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canopy.digests import text_sha256

RAW = "raw"  # the observable source that stands for every benchmark's raw files


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One resolved stage of dvc.yaml (``benchmark@starter``).

    ``own_code`` and ``own_params`` differ between partitions (a benchmark's adapter, its entry in params.yaml).
    Dagster knows one code version an asset, so they are counted in the version of that partition's raw source instead;
    otherwise a change to one benchmark would make all of them stale.
    """

    name: str
    base: str
    partition: str | None
    command: str
    template: str
    description: str
    raw: tuple[str, ...]
    data: tuple[str, ...]
    code: tuple[str, ...]
    own_code: tuple[str, ...]
    params: tuple[str, ...]
    own_params: tuple[str, ...]
    outs: tuple[str, ...]
    upstream: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path the stage reads."""
        return (*self.raw, *self.data, *self.code, *self.own_code)


@dataclass(frozen=True, slots=True)
class Graph:
    """All stages, in topological order."""

    stages: Mapping[str, StageSpec]

    @property
    def bases(self) -> dict[str, list[StageSpec]]:
        """Stages by base name (the name of the Dagster asset), in topological order."""
        by_base: dict[str, list[StageSpec]] = {}
        for spec in self.stages.values():
            by_base.setdefault(spec.base, []).append(spec)
        return by_base

    @property
    def partitions(self) -> tuple[str, ...]:
        """The benchmarks that the partitioned stages run over, in the order of params.yaml."""
        return tuple(dict.fromkeys(s.partition for s in self.stages.values() if s.partition))

    @property
    def sources(self) -> dict[str, StageSpec]:
        """The stage that reads each partition's raw files."""
        return {s.partition: s for s in self.stages.values() if s.raw and s.partition}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Content of everything a stage reads and writes: hashes by path (None: not there), parameter values by name.

    ``files`` lists the files of folders among ``paths``, so that a change can be named; ``uncached`` are outputs that
    DVC's cache no longer holds as dvc.lock has them.
    """

    command: str
    paths: Mapping[str, str | None]
    params: Mapping[str, Any]
    outs: Mapping[str, str | None]
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    uncached: tuple[str, ...] = ()


def overlap(a: str, b: str) -> bool:
    """Whether two paths are the same or one lies in the other."""
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _digest(value: Any) -> str:
    return text_sha256(json.dumps(value, sort_keys=True, ensure_ascii=False, default=str))[:16]


def code_version(spec: StageSpec, snapshot: Snapshot) -> str:
    """Hash of what all partitions of a stage share: its command, its parameters, its code."""
    command = spec.template if snapshot.command == spec.command else snapshot.command
    code = {p: snapshot.paths.get(p) for p in spec.code}
    return _digest([command, code, {p: snapshot.params.get(p) for p in spec.params}])


def raw_version(spec: StageSpec, snapshot: Snapshot) -> str:
    """Hash of what one partition brings in: its raw files, its adapter, its entry in params.yaml."""
    return _digest([{p: snapshot.paths.get(p) for p in (*spec.raw, *spec.own_code)},
                    {p: snapshot.params.get(p) for p in spec.own_params}])


def data_version(outs: Mapping[str, str | None]) -> str:
    """Hash of a stage's outputs: equal outputs, equal version, and nothing downstream reruns."""
    return _digest(dict(outs))


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, list(value) if isinstance(value, tuple) else value


def _changed_params(now: Mapping[str, Any], then: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    new, old = (dict(_flatten({k: v for k, v in m.items() if k in names})) for m in (now, then))
    for key in sorted({*new, *old}):
        if key not in old:
            yield f"params.yaml: {key} is new ({new[key]})"
        elif key not in new:
            yield f"params.yaml: {key} was removed ({old[key]})"
        elif new[key] != old[key]:
            yield f"params.yaml: {key} {old[key]} -> {new[key]}"


def _changed_folders(path: str, now: Mapping[str, str] | None, then: Mapping[str, str] | None) -> str:
    """The folders just below an output's path that differ (``data/benchmark/starter``).

    Files of an output are not named: people do not write them.
    """
    if not now or not then:
        return path
    differ = {f.partition("/")[0] for f in {*now, *then} if now.get(f) != then.get(f) and "/" in f}
    return ", ".join(f"{path}/{d}" for d in sorted(differ)) or path


def changed_files(path: str, now: Mapping[str, str] | None, then: Mapping[str, str] | None) -> str:
    """The files of a folder that differ, as ``path/a.py (+2 more)``; the folder's own path if no listing is known."""
    if now is None or then is None:
        return path
    differ = sorted(f for f in {*now, *then} if now.get(f) != then.get(f))
    if not differ:
        return path
    return f"{path}/{differ[0]}" + (f" (+{len(differ) - 1} more)" if len(differ) > 1 else "")


def explain(spec: StageSpec, now: Snapshot, then: Snapshot | None,
            listings: Mapping[str, Mapping[str, str]] | None = None) -> list[str]:
    """Why a stage is not what dvc.lock says: one short sentence a cause; empty if nothing changed.

    Parameters
    ----------
    listings : mapping, optional
        Files of folders by the folder's hash, as remembered when the stage last ran.
    """
    if then is None:
        return ["never ran"]
    reasons = ["its command changed"] if now.command != then.command else []
    reasons += _changed_params(now.params, then.params, (*spec.params, *spec.own_params))
    kinds = (((*spec.code, *spec.own_code), "code changed: {}"), (spec.raw, "raw files changed: {}"),
             (spec.data, "{} changed"))
    for paths, words in kinds:
        for path in paths:
            new, old = now.paths.get(path), then.paths.get(path)
            if new == old:
                continue
            if new is None:
                reasons.append(f"{path} is missing")
            elif old is None:
                reasons.append(f"{path} is a new dependency")
            else:
                describe = _changed_folders if paths is spec.data else changed_files
                reasons.append(words.format(describe(path, now.files.get(path), (listings or {}).get(old))))
    return reasons + explain_outs(spec, now, then)


def shorten(reasons: Sequence[str], most: int = 3) -> str:
    """Reasons in one line: the first few, and how many more there are."""
    return "; ".join(reasons[:most]) + (f"; and {len(reasons) - most} more" if len(reasons) > most else "")


def explain_outs(spec: StageSpec, now: Snapshot, then: Snapshot | None) -> list[str]:
    """What happened to a stage's outputs since it last ran, other than by running it."""
    if then is None:
        return []
    reasons = []
    for path in spec.outs:
        if now.outs.get(path) is None:
            reasons.append(f"{path} is missing")
        elif now.outs[path] != then.outs.get(path):
            reasons.append(f"{path} was edited by hand" if then.outs.get(path) else f"{path} is a new output")
        elif path in now.uncached:
            reasons.append(f"{path} is not in DVC's cache")
    return reasons
