"""Workspaces: where a pipeline's parameters, data and history lie. The checkout is one; a user's own documents get one beside it."""

from __future__ import annotations

import io
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

import canopy
from canopy.atomic import write_bytes
from canopy.benchmarks.registry import adapter_for, adapter_names
from canopy.config import Config, load_config
from canopy.digests import text_sha256
from canopy.errors import CanopyError, DataError
from canopy.settings import foreign_keys
from canopy.stages.registry import PER_BENCHMARK

ENVIRONMENT = "CANOPY_WORKSPACE"
_STAGE_COMMAND = re.compile(r"python -m orchestration\.(pipeline\.)?stage\b")  # earlier versions wrote it without the room
_CODE = ("canopy", "orchestration", "assets", "serving")  # linked into a workspace, so that dvc.yaml's dependencies resolve there
_COPIED = ("dvc.yaml", ".dvcignore", ".dvc/config")


def code_root() -> Path:
    """The checkout this code runs from: the default workspace, and the model of all others."""
    return Path(canopy.__file__).resolve().parent.parent


def is_workspace(folder: Path) -> bool:
    """Whether a folder holds canopy's graph and its parameters."""
    graph = folder / "dvc.yaml"
    return (folder / "params.yaml").is_file() and graph.is_file() and bool(_STAGE_COMMAND.search(graph.read_text("utf-8")))


def select_workspace(option: Path | None = None) -> Path:
    """The workspace a command works in: its ``--workspace``, else $CANOPY_WORKSPACE, else the current folder or the checkout.

    Raises
    ------
    DataError
        Where the folder that was named is no workspace.
    """
    named = option or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if named is None:
        here = Path.cwd()
        named = here if is_workspace(here) else code_root()
    if not is_workspace(named):
        raise DataError(f"{named}: no workspace (no dvc.yaml and params.yaml of canopy); `canopy run --workspace {named} --data DIR` makes one")
    return refresh(named.resolve())


def refresh(workspace: Path) -> Path:
    """Bring a workspace's copies of the graph, its links to the code and its parameters' names up to date; the checkout itself is left as it is."""
    root = code_root()
    if workspace == root or not (workspace / "canopy").is_symlink():
        return workspace
    for name in _COPIED:
        wanted, target = (root / name).read_bytes(), workspace / name
        if not target.exists() or target.read_bytes() != wanted:
            write_bytes(target, wanted)
    for name in _CODE:
        link = workspace / name
        if link.is_symlink() and link.resolve() != root / name:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(root / name)
    _complete(workspace / "params.yaml", root / "params.yaml")
    return workspace


def _complete(params: Path, defaults: Path) -> None:
    """Write the groups of parameters that a workspace made by an earlier version lacks, with their defaults: DVC reads them from the file."""
    try:
        held = yaml.safe_load(params.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return  # not there yet, or told by whoever reads it next
    if not isinstance(held, dict):
        return
    offered = yaml.safe_load(defaults.read_text("utf-8"))
    lacking = {k: v for k, v in offered.items() if k not in held and k != "benchmarks"}
    inner = {k: {x: y for x, y in v.items() if x not in held[k]} for k, v in offered.items()
             if k != "benchmarks" and isinstance(v, dict) and isinstance(held.get(k), dict)}
    if lacking or any(inner.values()):
        _edit(params, lambda document: [document.update(lacking), *(document[k].update(more) for k, more in inner.items())])


def make_workspace(folder: Path, benchmarks: Mapping[str, Mapping[str, str]]) -> Path:
    """Make a workspace over the given benchmarks, or point an existing one at them; other parameters in it are kept."""
    root = code_root()
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    if folder != root and not (folder / "canopy").exists():
        (folder / "canopy").symlink_to(root / "canopy")
    refresh(folder)
    params = folder / "params.yaml"
    if not params.exists():
        write_bytes(params, (root / "params.yaml").read_bytes())
    held = yaml.safe_load(params.read_text("utf-8")).get("benchmarks") or {}
    # What a user wrote there beside adapter and path (`select`) stays.
    wanted = {k: {**(held[k] if isinstance(held.get(k), dict) else {}), **v} for k, v in benchmarks.items()}
    if held != wanted:
        _edit(params, lambda document: document.__setitem__("benchmarks", wanted))
    return folder


def slug(name: str) -> str:
    """A name that stages, folders and ids may carry."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_") or "documents"


def benchmarks_at(data: Path, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """What ``--data`` and ``--benchmarks`` mean: official release files under ``data/<name>``, or one folder in the native format.

    Raises
    ------
    DataError
        Where a folder is missing or no adapter reads a benchmark.
    """
    data = data.expanduser().resolve()
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; --data takes a folder in the native format (see README), or with --benchmarks "
                        "the folder that holds one folder a benchmark")
    if not names:
        if not (data / "items.jsonl").is_file():
            raise DataError(f"{data}: not in the native format (no items.jsonl there); `canopy import {data} {data.with_name(data.name + '-canopy')}` makes "
                            "such a folder of documents, tables, images and videos; folders of official release files are named with --benchmarks")
        return {slug(data.name): {"adapter": "native", "path": str(data)}}
    if list(names) == ["all"]:
        names = [p.name for p in sorted(data.iterdir()) if p.is_dir() and adapter_for(p.name)]
        if not names:
            raise DataError(f"{data}: no folder there is named like a benchmark; there are adapters for {', '.join(adapter_names())}")
    found = {}
    for name in names:
        adapter = adapter_for(name)
        if adapter is None:
            raise DataError(f"no adapter reads {name!r}; there are {', '.join(adapter_names())}")
        if not (data / name).is_dir():
            raise DataError(f"{data / name}: no such folder; --data must hold one folder for each of --benchmarks")
        found[name] = {"adapter": adapter, "path": str(data / name)}
    return found


def workspace_for(benchmarks: Mapping[str, Mapping[str, str]]) -> Path:
    """The folder, under ``workspaces/``, of a set of benchmarks; the same set gets the same folder again."""
    name = "-".join(benchmarks)[:60]
    folder = code_root() / "workspaces" / name
    if (folder / "params.yaml").exists():
        held = {k: v.path for k, v in load_config(folder / "params.yaml").benchmarks.items()}
        paths = {k: v["path"] for k, v in benchmarks.items()}
        if held != paths:
            folder = folder.with_name(f"{name}-{text_sha256(repr(sorted(paths.items())))[:6]}")
    return folder


def read_overlay(path: Path) -> list[str]:
    """A YAML file of parameters (``params/qwen3_vl.yaml``) as ``key=value`` pairs for `set_params`.

    Raises
    ------
    DataError
        Where the file is missing or holds no groups of parameters.
    """
    try:
        held = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: cannot be read ({getattr(e, 'strerror', None) or 'not UTF-8'}); --params takes a YAML file such as params/qwen3_vl.yaml") from None
    except yaml.YAMLError as e:
        raise DataError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None

    def leaves(prefix: str, value: Any) -> Iterator[str]:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                yield from leaves(f"{prefix}.{key}" if prefix else str(key), inner)
        else:
            text = yaml.safe_dump(value, default_flow_style=True, width=math.inf)  # as YAML reads it back: JSON's 5e-05 would be a string there
            yield f"{prefix}={text.strip().removesuffix('...').strip()}"

    if not isinstance(held, dict):
        raise DataError(f"{path}: holds no parameters; write it as params.yaml is, with only the keys that change")
    return list(leaves("", held))


def set_params(workspace: Path, assignments: Sequence[str]) -> None:
    """Write ``key=value`` pairs (``training.epochs=1``) into params.yaml, keeping its comments.

    Raises
    ------
    DataError
        Where a pair is not of that form, or the result is not a valid configuration; the file is then as it was.
    """
    path = workspace / "params.yaml"
    before = path.read_bytes()

    def assign(document: Any) -> None:
        for pair in assignments:
            key, equals, value = pair.partition("=")
            *parents, last = key.strip().split(".")
            if not equals or not last:
                raise DataError(f"--set {pair}: write it as key=value, for example --set training.epochs=1")
            place = document
            for step in parents:
                place = place.setdefault(step, {})
                if not isinstance(place, dict):
                    raise DataError(f"--set {pair}: {step} is a value, not a group of parameters")
            try:
                place[last] = yaml.safe_load(value)
            except yaml.YAMLError as e:
                raise DataError(f"--set {pair}: {value!r} is not YAML: {getattr(e, 'problem', None) or e}") from None

        if any(pair.partition("=")[0].strip() == "encoder.kind" for pair in assignments):
            # Another kind of encoder: what only the one before knows goes.
            for key in foreign_keys(document["encoder"]):
                if not any(pair.partition("=")[0].strip() == f"encoder.{key}" for pair in assignments):
                    del document["encoder"][key]

    if assignments:
        try:
            _edit(path, assign)
            load_config(path)
        except CanopyError:
            write_bytes(path, before)
            raise


def _edit(path: Path, change: Any) -> None:
    from ruamel.yaml import YAML, YAMLError

    editor = YAML()
    editor.width, editor.preserve_quotes = 4096, True
    try:
        document = editor.load(path.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: not valid YAML: {' '.join(str(e).split())}") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: holds no groups of parameters")
    change(document)
    stream = io.StringIO()
    editor.dump(document, stream)
    if stream.getvalue().encode() != path.read_bytes():
        write_bytes(path, stream.getvalue().encode())


def prune(workspace: Path, config: Config) -> list[Path]:
    """Remove outputs of benchmarks that params.yaml no longer names, so that no stage that reads a parent folder picks them up.

    DVC's cache still holds them: naming the benchmark again brings them back without running anything.
    """
    removed = []
    for stage in sorted(PER_BENCHMARK):
        folder = workspace / "data" / stage
        for child in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not child.name.startswith(".") and child.name not in config.benchmarks:
                shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
                removed.append(child)
    return removed


@contextmanager
def locked(workspace: Path, name: str, wait: bool = False, by: str = "`canopy run`") -> Iterator[None]:
    """Hold one of a workspace's locks; a killed process lets go of it. ``by`` says who else may hold it.

    Raises
    ------
    CanopyError
        Where another process holds it and ``wait`` is False.
    """
    folder = workspace / ".canopy" / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:
        raise CanopyError(f"{workspace}: another {by} is at work here; wait for it or stop it") from None
    try:
        yield
    finally:
        lock.release()
