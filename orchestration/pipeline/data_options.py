"""What ``--data`` and ``--benchmarks`` mean: which benchmarks, read by which adapter, in which workspace."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from canopy.benchmarks.registry import adapter_for, adapter_names
from canopy.config import load_config
from canopy.digests import text_sha256
from canopy.errors import DataError
from orchestration.pipeline.workspace import code_root


def slug(name: str) -> str:
    """A name that stages, folders and ids may carry."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_") or "documents"


def benchmarks_at(data: Path, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Entries of params.yaml for official release files under ``data/<name>``, or for one folder in the native format.

    Raises
    ------
    DataError
        If a folder is missing or no adapter reads a benchmark.
    """
    data = data.expanduser().resolve()
    if not data.is_dir():
        raise DataError(f"{data}: no such folder; --data takes a folder in the native format "
                        "(docs/own-documents.md), or with --benchmarks the folder that holds one folder a benchmark")
    if not names:
        if not (data / "items.jsonl").is_file():
            target = data.with_name(data.name + "-canopy")
            command = shlex.join(("canopy", "import", str(data), str(target)))
            raise DataError(f"{data}: not in the native format (no items.jsonl there); `{command}` makes such a folder "
                            "of documents, tables, images and videos; folders of official release files are named with "
                            "--benchmarks")
        return {slug(data.name): {"adapter": "native", "path": str(data)}}
    if list(names) == ["all"]:
        names = [p.name for p in sorted(data.iterdir()) if p.is_dir() and adapter_for(p.name)]
        if not names:
            raise DataError(f"{data}: no folder there is named like a benchmark; "
                            f"there are adapters for {', '.join(adapter_names())}")
    return {name: _release(data, name) for name in names}


def _release(data: Path, name: str) -> dict[str, str]:
    adapter = adapter_for(name)
    if adapter is None:
        raise DataError(f"no adapter reads {name!r}; there are {', '.join(adapter_names())}")
    if not (data / name).is_dir():
        raise DataError(f"{data / name}: no such folder; --data must hold one folder for each of --benchmarks")
    return {"adapter": adapter, "path": str(data / name)}


def workspace_for(benchmarks: Mapping[str, Mapping[str, str]], root: Path | None = None) -> Path:
    """The workspace of a set of benchmarks; the same set gets the same folder again.

    Parameters
    ----------
    root : Path, optional
        The folder that holds ``workspaces/``; the checkout unless given.
    """
    name = "-".join(benchmarks)[:60]
    folder = (root or code_root()) / "workspaces" / name
    if (folder / "params.yaml").exists():
        present = {k: v.path for k, v in load_config(folder / "params.yaml").benchmarks.items()}
        paths = {k: v["path"] for k, v in benchmarks.items()}
        if present != paths:
            folder = folder.with_name(f"{name}-{text_sha256(repr(sorted(paths.items())))[:6]}")
    return folder
