"""The one file with DVC's (internal) Python API: the resolved graph, content hashes, status, commits, checkouts."""

from __future__ import annotations

import graphlib
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import yaml
from filelock import FileLock

from canopy.atomic import write_bytes
from canopy.errors import DataError
from orchestration.pipeline.lineage import Graph, Snapshot, StageSpec, overlap
from orchestration.pipeline.lock_file import LOCK_ERRORS, parse_lock, read_lock

if TYPE_CHECKING:
    from dvc.repo import Repo

_LARGEST_LISTING = 5_000  # files; a larger folder is named as a whole when it changes
_PATIENCE = 60.0  # seconds to wait for other DVC commands with a finished stage; DVC itself waits three
_DIGEST = re.compile(r"[0-9a-f]{32}(\.dir)?")
_T = TypeVar("_T")
Hashes: TypeAlias = dict[str, tuple[str | None, dict[str, str] | None]]  # by path: the hash, the files of a folder
_EMPTY_LOCK = b"schema: '2.0'\nstages: {}\n"


class _Busy(DataError):
    """Another DVC command holds what this one needs."""


@contextmanager
def _open(workspace: Path) -> Iterator[Repo]:
    os.environ.setdefault("DVC_NO_ANALYTICS", "1")
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    logging.getLogger("dvc").setLevel(logging.ERROR)
    try:
        _mend_lock(workspace)
        # DVC's own place for it, under /var, may belong to another user.
        site = str(workspace / ".dvc" / "tmp" / "site")
        with Repo(str(workspace), config={"core": {"site_cache_dir": site}}) as repo:
            yield repo
    except LockError:
        raise _Busy(f"{workspace}/.dvc/tmp/lock: another DVC command is at work here; "
                    "wait for it, then run again") from None
    except DvcException as e:
        cause = f" ({e.__cause__})" if e.__cause__ else ""
        raise DataError(f"{workspace}/dvc.yaml: {' '.join(f'{e}{cause}'.split())}") from None


def _templates(workspace: Path) -> dict[str, Mapping[str, Any]]:
    """The stages as dvc.yaml has them, unresolved: what holds ``${...}`` there differs between partitions."""
    try:
        stages = yaml.safe_load((workspace / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    except FileNotFoundError:
        raise DataError(f"{workspace}/dvc.yaml: no such file; `canopy run` makes a workspace") from None
    except (yaml.YAMLError, KeyError, TypeError) as e:
        raise DataError(f"{workspace}/dvc.yaml: not a list of stages: {e}") from None
    return {name: stage.get("do", stage) for name, stage in stages.items()}


def _path(dep: Any) -> str:
    return str(dep.def_path).rstrip("/")


def _specs(repo: Repo, workspace: Path) -> Graph:
    from dvc.dependency import ParamsDependency

    stages = {s.name: s for s in repo.index.stages if getattr(s, "name", None)}
    upstream = {name: tuple(sorted(v.name for v in repo.index.graph.successors(s))) for name, s in stages.items()}
    templates, outs = _templates(workspace), [str(o.def_path) for s in stages.values() for o in s.outs]
    specs = {}
    for name, s in stages.items():
        base, _, partition = name.partition("@")
        written = templates[base]
        shared = {d.rstrip("/") for d in written.get("deps", ()) if partition == "" or "${" not in d}
        deps = [d for d in s.deps if not isinstance(d, ParamsDependency)]
        params = [p for d in s.deps if isinstance(d, ParamsDependency) for p in d.params]
        raw_at = {_path(d) for d, w in zip(deps, written.get("deps", ()), strict=True) if w == "${item.path}"}
        data = tuple(p for p in map(_path, deps) if p not in raw_at and any(overlap(o, p) for o in outs))
        code = [p for p in map(_path, deps) if p not in raw_at and p not in data]
        own = {p for p, w in zip(params, written.get("params", ()), strict=True) if partition and "${" in w}
        specs[name] = StageSpec(
            name=name, base=base, partition=partition or None, command=str(s.cmd), template=str(written["cmd"]),
            description=s.desc or "", raw=tuple(sorted(raw_at)), data=data,
            code=tuple(p for p in code if p in shared), own_code=tuple(p for p in code if p not in shared),
            params=tuple(p for p in params if p not in own), own_params=tuple(sorted(own)),
            outs=tuple(str(o.def_path) for o in s.outs), upstream=upstream[name])
        if (specs[name].own_code or specs[name].own_params) and not raw_at:
            raise DataError(f"{workspace}/dvc.yaml: {base}: only a stage that reads ${{item.path}} may have code or "
                            "parameters of one benchmark alone; move them there")
    written_order = {name: i for i, name in enumerate(stages)}
    sorter = graphlib.TopologicalSorter({n: sorted(upstream[n], key=written_order.__getitem__) for n in stages})
    return Graph({n: specs[n] for n in sorter.static_order()})


def load_graph(workspace: Path) -> Graph:
    """The resolved graph of a workspace.

    Raises
    ------
    DataError
        If dvc.yaml or params.yaml cannot be resolved.
    """
    with _open(workspace) as repo:
        return _specs(repo, workspace)


def _hash(entry: Any, memo: Hashes) -> tuple[str | None, dict[str, str] | None]:
    """Hash of what lies at a dependency's or output's path, and the files if it is a folder; nothing is written."""
    if entry.fs_path not in memo:
        if not entry.exists:
            memo[entry.fs_path] = (None, None)
        else:
            _, _, obj = entry._build(entry.local_cache, entry.fs_path, entry.fs, entry.hash_name,
                                     ignore=entry.dvcignore, dry_run=True, no_progress_bar=True)
            listing = None
            if obj.hash_info.isdir and len(obj) <= _LARGEST_LISTING:
                listing = {"/".join(key): oid.value for key, _meta, oid in obj}
            memo[entry.fs_path] = (obj.hash_info.value, listing)
    return memo[entry.fs_path]


def _snapshot(stage: Any, kinds: tuple[str, ...] | None, memo: Hashes) -> Snapshot:
    from dvc.dependency import ParamsDependency

    params: dict[str, object] = {}
    paths: dict[str, str | None] = {}
    files: dict[str, dict[str, str]] = {}
    for dep in stage.deps:
        if isinstance(dep, ParamsDependency):
            params.update(dep.read_params())
        elif kinds is None or _path(dep) in kinds:
            paths[_path(dep)], listing = _hash(dep, memo)
            if listing is not None:
                files[_path(dep)] = listing
    outs = {str(o.def_path): _hash(o, memo)[0] for o in stage.outs} if kinds is None else {}
    uncached = tuple(str(o.def_path) for o in stage.outs if kinds is None and o.hash_info and o.changed_cache())
    return Snapshot(str(stage.cmd), paths, params, outs, files, uncached)


def read_graph(workspace: Path, *, code_only: bool = False) -> tuple[Graph, dict[str, Snapshot]]:
    """The resolved graph and the present content of every stage; with ``code_only``, data is not looked at."""
    with _open(workspace) as repo:
        graph = _specs(repo, workspace)
        memo: Hashes = {}
        stages = {s.name: s for s in repo.index.stages}
        return graph, {name: _snapshot(stages[name], (*spec.code, *spec.own_code) if code_only else None, memo)
                       for name, spec in graph.stages.items()}


def _find(repo: Repo, name: str) -> Any:
    for stage in repo.index.stages:
        if getattr(stage, "name", None) == name:
            return stage
    raise DataError(f"{repo.root_dir}/dvc.yaml: no stage {name!r}")


def _target(workspace: Path, name: str) -> str:
    """A stage's address that does not depend on the current folder."""
    return f"{workspace / 'dvc.yaml'}:{name}"


def read_stage(workspace: Path, name: str) -> Snapshot:
    """The present content of one stage."""
    with _open(workspace) as repo:
        return _snapshot(_find(repo, name), None, {})


@lru_cache(maxsize=8)
def _is_whole(text: bytes) -> bool:
    """Whether the text of dvc.lock reads as one, here and in DVC."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        stages = parse_lock(text)
        COMPILED_LOCKFILE_SCHEMA(yaml.safe_load(text))
    except (*LOCK_ERRORS, Invalid):
        return False
    digests = [h for s in stages.values() for h in (*s.paths.values(), *s.outs.values())]
    return all(s.outs for s in stages.values()) and all(_DIGEST.fullmatch(str(h)) for h in digests)


def _kept_lock(workspace: Path) -> Path:
    return workspace / ".canopy" / "dvc.lock.kept"


def _keep_lock(workspace: Path) -> None:
    """Keep a copy of dvc.lock, which DVC writes in place: a process killed meanwhile leaves half of it."""
    path = workspace / "dvc.lock"
    text = path.read_bytes() if path.exists() else _EMPTY_LOCK
    kept = _kept_lock(workspace)
    if _is_whole(text) and (not kept.exists() or kept.read_bytes() != text):
        write_bytes(kept, text)


def _mend_lock(workspace: Path) -> None:
    """If dvc.lock was cut short, put the copy from before back, and say so."""
    path, kept = workspace / "dvc.lock", _kept_lock(workspace)
    if not path.exists() or not kept.exists() or _is_whole(path.read_bytes()):
        return
    from dvc.lock import make_lock

    tmp = workspace / ".dvc" / "tmp"
    with make_lock(str(tmp / "lock"), tmp_dir=str(tmp)):  # otherwise another process may be writing it
        before = kept.read_bytes()
        if not _is_whole(path.read_bytes()) and _is_whole(before):
            write_bytes(path, before)
            print(f"note: {path} was cut short by a killed process; it is again what it was before", file=sys.stderr)


def dvc_status(workspace: Path) -> dict[str, list[str]]:
    """What ``dvc status`` says, by stage."""
    # DVC's own lock would make a commit of another process fail; behind this one it waits.
    with _commit_lock(workspace), _open(workspace) as repo:
        entries = [(address, entry) for address, several in repo.status().items() for entry in several]
    lines: dict[str, list[str]] = {}
    for address, entry in entries:
        name = address.rpartition(":")[2]  # DVC writes addresses relative to the current folder
        for kind, paths in entry.items() if isinstance(entry, dict) else [(entry, {})]:
            states = paths.items() if isinstance(paths, dict) else ()
            details = ", ".join(f"{path} {state if isinstance(state, str) else 'modified'}" for path, state in states)
            lines.setdefault(name, []).append(f"{kind}: {details}" if details else str(kind))
    return lines


def _patiently(attempt: Callable[[], _T]) -> _T:
    """Try again while other DVC commands are at work: hours of training must not be lost to a look at the status."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return attempt()
        except _Busy:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def commit_stage(workspace: Path, name: str) -> Snapshot:
    """Record a stage's outputs in DVC's cache and in dvc.lock, and return what was recorded."""
    def commit() -> None:
        with _open(workspace) as repo:
            _keep_lock(workspace)
            repo.commit(_target(workspace, name), force=True)

    with _commit_lock(workspace):
        _patiently(commit)
        _keep_lock(workspace)
        return read_lock(workspace)[name]


def checkout_stage(workspace: Path, name: str) -> bool:
    """Bring back a stage's outputs, as dvc.lock has them, from DVC's cache; False if the cache does not hold them."""
    def checkout() -> bool:
        with _open(workspace) as repo:
            from dvc.exceptions import CheckoutError

            if not all(o.hash_info and not o.changed_cache() for o in _find(repo, name).outs):
                return False
            try:
                repo.checkout(_target(workspace, name), force=True)
            except CheckoutError:
                return False
        return True

    with _commit_lock(workspace):
        return _patiently(checkout)


def cache_folder(workspace: Path) -> Path:
    """The folder of DVC's cache, wherever the workspace's settings put it."""
    with _open(workspace) as repo:
        return Path(repo.config["cache"].get("dir") or workspace / ".dvc" / "cache").resolve()


def _commit_lock(workspace: Path) -> FileLock:
    folder = workspace / ".canopy"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / "dvc.lock.guard", timeout=600)
