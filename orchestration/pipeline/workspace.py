"""Workspaces: where a pipeline's parameters, data and history lie.

The checkout is one; documents of a user get one beside it, which links the checkout's code and copies its graph.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

import canopy
from canopy.atomic import write_bytes
from canopy.config import Config
from canopy.errors import DataError
from orchestration.pipeline.params_file import Document, bring_up_to_date, edit_params

ENVIRONMENT = "CANOPY_WORKSPACE"
CODE_FOLDERS = ("canopy", "orchestration", "assets", "serving")  # linked, so that dvc.yaml's dependencies resolve
COPIED_FILES = ("dvc.yaml", ".dvcignore", ".dvc/config")
_STAGE_COMMAND = re.compile(r"python -m orchestration\.(pipeline\.)?stage\b")  # earlier versions have no `pipeline.`


def code_root() -> Path:
    """The checkout this code runs from: the default workspace, and the model of all others."""
    return Path(canopy.__file__).resolve().parent.parent


def is_workspace(folder: Path) -> bool:
    """Whether a folder holds canopy's graph and its parameters."""
    graph = folder / "dvc.yaml"
    if not (folder / "params.yaml").is_file() or not graph.is_file():
        return False
    return bool(_STAGE_COMMAND.search(graph.read_text("utf-8")))


def default_workspace() -> Path:
    """The current folder if it is a workspace, otherwise the checkout."""
    here = Path.cwd()
    return here if is_workspace(here) else code_root()


def select_workspace(option: Path | None = None) -> Path:
    """The workspace a command works in: its ``--workspace``, $CANOPY_WORKSPACE, the current folder or the checkout.

    A workspace of an earlier version is brought up to date.

    Raises
    ------
    DataError
        If the folder that was named is no workspace.
    """
    folder = option or (Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None)
    if folder is None:
        folder = default_workspace()
    if not is_workspace(folder):
        raise DataError(f"{folder}: no workspace (no dvc.yaml and params.yaml of canopy); "
                        f"`canopy run --workspace {shlex.quote(str(folder))} --data DIR` makes one")
    return refresh(folder.resolve())


def refresh(workspace: Path) -> Path:
    """Bring a workspace's graph, its links to the code and its parameters up to date; the checkout is left as it is."""
    root = code_root()
    if workspace == root or not (workspace / "canopy").is_symlink():
        return workspace
    place_code(root, workspace)
    bring_up_to_date(workspace / "params.yaml", root / "params.yaml")
    return workspace


def place_code(source: Path, workspace: Path) -> None:
    """Copy the graph of a checkout (or of another workspace) and link its code, as far as that is not done yet."""
    for name in COPIED_FILES:
        content, target = (source / name).read_bytes(), workspace / name
        if not target.exists() or target.read_bytes() != content:
            write_bytes(target, content)
    for name in CODE_FOLDERS:
        if (source / name).exists():
            link_folder(workspace / name, (source / name).resolve())


def link_folder(link: Path, target: Path) -> None:
    """Make a symbolic link to a folder; a link to another place is replaced, and a real file or folder stays."""
    if link.is_symlink() and (not link.exists() or link.resolve() != target.resolve()):
        link.unlink()
    if not link.exists():
        link.symlink_to(target)


def make_workspace(folder: Path, benchmarks: Mapping[str, Mapping[str, str]]) -> Path:
    """Make a workspace over the given benchmarks, or point an existing one at them; other parameters in it are kept."""
    root = code_root()
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    if folder != root and not (folder / "canopy").exists():
        link_folder(folder / "canopy", root / "canopy")
    refresh(folder)
    params = folder / "params.yaml"
    if not params.exists():
        write_bytes(params, (root / "params.yaml").read_bytes())
    present = yaml.safe_load(params.read_text("utf-8")).get("benchmarks") or {}
    # What a user wrote beside adapter and path (`select`) stays.
    own = {name: entry for name, entry in present.items() if isinstance(entry, dict)}
    entries = {name: {**own.get(name, {}), **entry} for name, entry in benchmarks.items()}

    def change(document: Document) -> None:
        document["benchmarks"] = entries

    if present != entries:
        edit_params(params, change)
    return folder


def prune(workspace: Path, config: Config) -> list[Path]:
    """Remove outputs of benchmarks that params.yaml no longer names; returns what was removed.

    Otherwise a stage that reads a parent folder would read them too. DVC's cache still holds them: if the benchmark is
    named again, they come back and nothing runs.
    """
    from canopy.stages.registry import PER_BENCHMARK

    removed = []
    for stage in sorted(PER_BENCHMARK):
        folder = workspace / "data" / stage
        for child in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not child.name.startswith(".") and child.name not in config.benchmarks:
                shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
                removed.append(child)
    return removed
