"""One workspace for each value of a parameter, sharing stage outputs, node vectors and model replies; and their results side by side."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from canopy.atomic import write_bytes
from canopy.config import load_config
from canopy.errors import DataError
from canopy.links import link_or_copy_tree
from orchestration.pipeline.workspace import set_params, slug

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.report.tables import Table
    from orchestration.pipeline.history import Orchestrator
    from orchestration.pipeline.rerun import Rerun

_CODE = ("canopy", "orchestration", "assets", "serving")
_COPIED = ("dvc.yaml", ".dvcignore", ".dvc/config")
_SHARED_WORK = ("llm",)  # under .canopy/work: the model's replies


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of values: its name in tables, its parameters, its workspace, and which parameters have several values."""

    name: str
    assignments: tuple[str, ...]
    folder: Path
    axes: tuple[str, ...] = ()


def plan_points(root: Path, assignments: Sequence[str], fixed: Sequence[str] = ()) -> list[Point]:
    """Every combination of the values of ``key=v1,v2``.

    Parameters
    ----------
    fixed : sequence of str
        Assignments that all points share.

    Raises
    ------
    DataError
        Where an assignment is not of that form, or no parameter has several values.
    """
    from canopy.report.sweep import SHORT

    axes: list[list[tuple[str, str]]] = []
    for given in assignments:
        key, equals, values = given.partition("=")
        try:
            parsed = yaml.safe_load(f"[{values}]")
        except yaml.YAMLError:
            parsed = None
        if not equals or not key.strip() or not parsed:
            raise DataError(f"{given}: write it as key=value,value, for example hierarchy.branching=2,3,4")
        axes.append([(key.strip(), yaml.safe_dump(v, default_flow_style=True).removesuffix("...\n").strip()) for v in parsed])
    if not any(len(a) > 1 for a in axes):
        raise DataError("a sweep needs a parameter with several values, for example hierarchy.branching=2,3,4; for one value there is `canopy run --set`")
    name = slug("-".join(a[0][0] for a in axes))
    points, several = [], tuple(a[0][0] for a in axes if len(a) > 1)
    for combination in itertools.product(*axes):
        label = ", ".join(f"{SHORT.get(k, k.rpartition('.')[2])}={v}" for (k, v), axis in zip(combination, axes, strict=True) if len(axis) > 1)
        pairs = tuple(f"{k}={v}" for k, v in combination)
        points.append(Point(label, (*fixed, *pairs), root / ".canopy" / "sweeps" / name / slug("-".join(v for _, v in combination)), several))
    if len({p.folder for p in points}) < len(points):
        raise DataError("two of the values have one name; give each once")
    return points


def run_points(root: Path, points: Sequence[Point], orchestrator: Orchestrator, console: Console) -> list[Rerun]:
    """Bring the parent up to date, then every point; what a point has done before is not done again. Returns what each point's run did.

    Raises
    ------
    DataError
        Where a value is none that the parameter takes; nothing has run then.
    CanopyError
        Where a stage fails; the points before it are kept.
    """
    from orchestration.pipeline.rerun import rerun

    check_points(root, points)
    console.print(f"workspace {root}: what the values do not touch", style="dim", highlight=False, soft_wrap=True)
    rerun(root, orchestrator, select=["+evaluation"], console=console)  # not its answers: every point has its own
    done = []
    for point in points:
        make_point(root, point)
        console.print(f"[bold]{point.name}[/]  [dim]{point.folder}[/]", highlight=False, soft_wrap=True)
        done.append(rerun(point.folder, orchestrator, select=["+report"], console=console))
    return done


def check_points(root: Path, points: Sequence[Point]) -> None:
    """DataError where a point's parameters are not valid: found out before anything runs."""
    load_config(root / "params.yaml")
    for point in points:
        with tempfile.TemporaryDirectory() as made:
            (folder := Path(made)).joinpath("params.yaml").write_bytes((root / "params.yaml").read_bytes())
            try:
                set_params(folder, point.assignments)
            except DataError as e:
                raise DataError(f"{point.name}: {str(e).removeprefix(f'{folder}/params.yaml: ')}") from None


def make_point(root: Path, point: Point) -> None:
    """A workspace with the parent's parameters but for the point's; made anew where it is missing, else brought to the parent's present parameters.

    What the parent made is there without running: dvc.lock says what each stage was made from, and the cache of outputs is the parent's. The node store
    is the exception: it is rebuilt where the values touch it, out of a copy of the parent's (hard links where the file system has them), so that only regions
    it does not hold are encoded.
    """
    from orchestration.pipeline.dvc_graph import cache_folder

    folder = point.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in _CODE:
        if (root / name).exists():
            _link(folder / name, (root / name).resolve())
    for name in _COPIED:
        write_bytes(folder / name, (root / name).read_bytes())
    write_bytes(folder / ".dvc" / "config.local", f"[cache]\n    dir = {cache_folder(root)}\n".encode())
    write_bytes(folder / "params.yaml", (root / "params.yaml").read_bytes())
    _share_relative(root, folder)
    set_params(folder, point.assignments)
    for name in _SHARED_WORK:
        shared = root / ".canopy" / "work" / name
        shared.mkdir(parents=True, exist_ok=True)
        (folder / ".canopy" / "work").mkdir(parents=True, exist_ok=True)
        _link(folder / ".canopy" / "work" / name, shared)
    if not (folder / "dvc.lock").exists():
        store = root / "data" / "node_embeddings"
        if store.is_dir() and not (folder / "data" / "node_embeddings").exists():
            link_or_copy_tree(store, folder / "data" / ".node_embeddings.building-0")
            os.replace(folder / "data" / ".node_embeddings.building-0", folder / "data" / "node_embeddings")
        write_bytes(folder / "dvc.lock", (root / "dvc.lock").read_bytes())  # last: with it the point is made


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and (not link.exists() or link.resolve() != target.resolve()):
        link.unlink()
    if not link.exists():
        link.symlink_to(target)


def _share_relative(root: Path, folder: Path) -> None:
    """Folders that params.yaml names relative to the parent: a link of the same name, so that names, and with them dvc.lock, stay as they are; what lies above
    the parent is named in full."""
    config, full = yaml.safe_load((folder / "params.yaml").read_text("utf-8")), []
    for key, value in _paths_in(config):
        if not value.strip() or Path(value).expanduser().is_absolute() or not (root / value).exists():
            continue
        first = Path(value).parts[0]
        if first == ".." and key.startswith("answers.readers"):
            raise DataError(f"{root / 'params.yaml'}: {key}: name the folder in full; a sweep's workspaces lie elsewhere")
        if first == "..":
            full.append(f"{key}={(root / value).resolve()}")
        elif first not in _CODE:
            _link(folder / first, (root / first).resolve())
    set_params(folder, full)


def _paths_in(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, benchmark in (config.get("benchmarks") or {}).items():
        yield f"benchmarks.{name}.path", str(benchmark.get("path", ""))
    yield "encoder.model", str((config.get("encoder") or {}).get("model") or "")
    yield "language.tokenizer", str((config.get("language") or {}).get("tokenizer") or "")
    for n, reader in enumerate((config.get("answers") or {}).get("readers") or ()):
        yield f"answers.readers.{n}.tokenizer", str(reader.get("tokenizer") or "")
    for key, value in ((config.get("answers") or {}).get("models") or {}).items():
        yield f"answers.models.{key}", str(value)


def compare(points: Sequence[Point]) -> tuple[dict[str, str], list[Table]]:
    """The points side by side: files by path (a page, a text, tables, figures), and the tables, one of each reader and corpus.

    Raises
    ------
    DataError
        Where a point's answers are missing or cannot be read.
    """
    from canopy.report.answered import read_answered
    from canopy.report.sweep import sweep_files
    from canopy.report.tables import Settings

    config = load_config(points[0].folder / "params.yaml")
    benchmarks = []
    for name in config.benchmarks:
        read = {p.name: read_answered(p.folder / "data" / "answers" / name, name) for p in points}
        if missing := [n for n, a in read.items() if a is None]:
            raise DataError(f"{points[0].folder.parent}: no answers of {name} at {missing[0]}: run the same `canopy sweep` again")
        benchmarks.append({n: a for n, a in read.items() if a is not None})
    e = config.evaluation
    return sweep_files(", ".join(p.name for p in points), list(points[0].axes), benchmarks, Settings(e.resamples, e.seed, e.confidence))


def write_comparison(points: Sequence[Point], files: Mapping[str, str]) -> list[Path]:
    """Write the comparison beside the points' workspaces; returns the page and the text."""
    folder = points[0].folder.parent
    for name in ("tables", "figures"):
        shutil.rmtree(folder / name, ignore_errors=True)  # of a comparison of other values
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / name, text.encode())
    return [folder / name for name in files if "/" not in name]
