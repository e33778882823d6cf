"""The workspace of one point of a parameter sweep: it shares with its parent what the values do not touch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from canopy.atomic import write_bytes
from canopy.errors import DataError
from canopy.links import link_or_copy_tree
from orchestration.pipeline.dvc_graph import cache_folder
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.workspace import CODE_FOLDERS, link_folder, place_code

_SHARED_WORK = ("llm",)  # under .canopy/work: the model's replies


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of values: its name in tables, its parameters, its workspace, and the parameters that vary."""

    name: str
    assignments: tuple[str, ...]
    folder: Path
    axes: tuple[str, ...] = ()


def make_point(root: Path, point: Point) -> None:
    """Make a point's workspace, or bring it to the parent's present parameters; the point's own values stand.

    What the parent made is there without a run: dvc.lock says what each stage was made from, and the cache of outputs
    is the parent's. The node store is rebuilt if the values touch it. It starts from the parent's files (hard links if
    the file system has them), so that only regions it does not hold are encoded.

    Raises
    ------
    DataError
        If a reader's folder lies above the parent, or the point's values are not valid.
    """
    folder = point.folder
    folder.mkdir(parents=True, exist_ok=True)
    place_code(root, folder)
    write_bytes(folder / ".dvc" / "config.local", f"[cache]\n    dir = {cache_folder(root)}\n".encode())
    write_bytes(folder / "params.yaml", (root / "params.yaml").read_bytes())
    _share_relative(root, folder)
    set_params(folder, point.assignments)
    (folder / ".canopy" / "work").mkdir(parents=True, exist_ok=True)
    for name in _SHARED_WORK:
        shared = root / ".canopy" / "work" / name
        shared.mkdir(parents=True, exist_ok=True)
        link_folder(folder / ".canopy" / "work" / name, shared)
    if not (folder / "dvc.lock").exists():
        store = root / "data" / "node_embeddings"
        if store.is_dir() and not (folder / "data" / "node_embeddings").exists():
            link_or_copy_tree(store, folder / "data" / ".node_embeddings.building-0")
            os.replace(folder / "data" / ".node_embeddings.building-0", folder / "data" / "node_embeddings")
        write_bytes(folder / "dvc.lock", (root / "dvc.lock").read_bytes())  # last: with it the point is complete


def _share_relative(root: Path, folder: Path) -> None:
    """Link the folders that params.yaml names relative to the parent; those above the parent are named in full.

    A link has the name that the folder has in the parent, so that names, and with them dvc.lock, stay as they are.
    """
    params = yaml.safe_load((folder / "params.yaml").read_text("utf-8"))
    full = []
    for key, value in _folders_in(params):
        if not value.strip() or Path(value).expanduser().is_absolute() or not (root / value).exists():
            continue
        first = Path(value).parts[0]
        if first == ".." and key.startswith("answers.readers"):
            raise DataError(f"{root / 'params.yaml'}: {key}: name the folder in full; "
                            "a sweep's workspaces lie elsewhere")
        if first == "..":
            full.append(f"{key}={(root / value).resolve()}")
        elif first not in CODE_FOLDERS:
            link_folder(folder / first, (root / first).resolve())
    set_params(folder, full)


def _folders_in(params: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Keys of params.yaml whose values may name folders, with these values."""
    benchmarks = _group(params, "benchmarks")
    for name in benchmarks:
        yield f"benchmarks.{name}.path", str(_group(benchmarks, name).get("path", ""))
    yield "encoder.model", str(_group(params, "encoder").get("model") or "")
    yield "language.tokenizer", str(_group(params, "language").get("tokenizer") or "")
    answers = _group(params, "answers")
    readers = answers.get("readers")
    for n, reader in enumerate(readers if isinstance(readers, list) else ()):
        yield f"answers.readers.{n}.tokenizer", str(reader.get("tokenizer") or "")
    for key, value in _group(answers, "models").items():
        yield f"answers.models.{key}", str(value)


def _group(params: Mapping[str, object], name: str) -> Mapping[str, object]:
    group = params.get(name)
    return group if isinstance(group, Mapping) else {}
