"""One workspace for each value of a parameter, sharing stage outputs, node vectors and model replies; and their results side by side."""

from __future__ import annotations

import html
import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from canopy.atomic import write_bytes
from canopy.config import load_config
from canopy.errors import DataError
from orchestration.workspace import set_params, slug

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.evaluation.tables import Table
    from orchestration.sweep import Sweep

_CODE = ("canopy", "orchestration", "assets", "serving")
_COPIED = ("dvc.yaml", ".dvcignore", ".dvc/config")
_SHARED_WORK = ("llm",)  # under .canopy/work: the model's replies


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of values: its name in tables, its parameters, its workspace."""

    name: str
    assignments: tuple[str, ...]
    folder: Path


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
    points = []
    for combination in itertools.product(*axes):
        label = ", ".join(f"{k.rpartition('.')[2]} = {v}" for (k, v), axis in zip(combination, axes, strict=True) if len(axis) > 1)
        pairs = tuple(f"{k}={v}" for k, v in combination)
        points.append(Point(label, (*fixed, *pairs), root / ".canopy" / "sweeps" / name / slug("-".join(v for _, v in combination))))
    if len({p.folder for p in points}) < len(points):
        raise DataError("two of the values have one name; give each once")
    return points


def run_points(root: Path, points: Sequence[Point], console: Console) -> list[Sweep]:
    """Bring the parent up to date, then every point; what a point has done before is not done again. Returns what each point's run did.

    Raises
    ------
    CanopyError
        Where a stage fails; the points before it are kept.
    """
    from orchestration.sweep import sweep

    console.print(f"workspace {root}: what the values do not touch", style="dim", highlight=False, soft_wrap=True)
    sweep(root, select=["+report"], console=console)
    done = []
    for point in points:
        make_point(root, point)
        console.print(f"[bold]{point.name}[/]  [dim]{point.folder}[/]", highlight=False, soft_wrap=True)
        done.append(sweep(point.folder, select=["+report"], console=console))
    return done


def make_point(root: Path, point: Point) -> None:
    """A workspace with the parent's parameters but for the point's; made anew where it is missing, else brought to the parent's present parameters.

    What the parent made is there without running: dvc.lock says what each stage was made from, and the cache of outputs is the parent's. The node store
    is the exception: it is rebuilt where the values touch it, out of a copy of the parent's (hard links where the file system has them), so that only regions
    it does not hold are encoded.
    """
    from orchestration.dvc_graph import cache_folder

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
            shutil.copytree(store, folder / "data" / ".node_embeddings.building-0", copy_function=_place, dirs_exist_ok=True)
            os.replace(folder / "data" / ".node_embeddings.building-0", folder / "data" / "node_embeddings")
        write_bytes(folder / "dvc.lock", (root / "dvc.lock").read_bytes())  # last: with it the point is made


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and (not link.exists() or link.resolve() != target.resolve()):
        link.unlink()
    if not link.exists():
        link.symlink_to(target)


def _place(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


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


def compare(points: Sequence[Point]) -> Table:
    """Every system of every point, benchmark and setting, with intervals, and the difference to the first point on the same questions."""
    from canopy.evaluation.tables import Column, Table

    rows: list[dict[str, Any]] = []
    first: dict[tuple[str, ...], dict[str, Any]] = {}
    measures: dict[str, None] = {}
    for point in points:
        config = load_config(point.folder / "params.yaml")
        for benchmark in config.benchmarks:
            lines, raw, primary = _read(point.folder, benchmark)
            measures |= dict.fromkeys(primary)
            for line in lines:
                key = (benchmark, line.reader, line.setting, line.system, line.variant)
                mine = raw[line.reader, line.setting, line.system, line.variant]
                row: dict[str, Any] = {"benchmark": benchmark, "value": point.name, "setting": line.setting, "system": f"{line.system} {line.variant}".strip(),
                                       "reader": line.reader, **line.values, "_good": True}
                if key in first:
                    row["difference"] = _difference(mine, first[key], primary[0], config)
                    row["_good"] = bool(row["difference"].difference >= 0)
                else:
                    first[key] = mine
                rows.append(row)
    rows.sort(key=lambda r: list(load_config(points[0].folder / "params.yaml").benchmarks).index(r["benchmark"]))  # stable: points stay in their order
    several = len({r["reader"] for r in rows}) > 1
    columns = [Column("benchmark", "benchmark", "text"), Column("value", "value", "text"), *([Column("reader", "reader", "text")] if several else []),
               Column("setting", "corpus", "text"), Column("system", "system", "text"), *(Column(m, m.replace("_", " "), "percent") for m in measures),
               Column("gold_recall", "gold kept", "percent"), Column("answer_in_evidence", "answer kept", "percent"), Column("tokens", "tokens", "count"),
               Column("calls", "calls", "number"), Column("rounds", "rounds", "number"), Column("difference", f"first measure, less {points[0].name}", "points")]
    return Table("sweep", f"{', '.join(p.name for p in points)}", columns, rows,
                 "Means over the test questions with 95% intervals; differences are of the benchmark's first measure, over the same questions, resampled together.")


def _read(folder: Path, benchmark: str) -> tuple[list[Any], dict[tuple[str, ...], dict[str, Any]], list[str]]:
    import pyarrow.parquet as pq

    from orchestration.cli_evaluate import read_lines

    lines, listed = read_lines(folder, load_config(folder / "params.yaml"), benchmark)
    primary = listed["metric"]["primary"]
    raw: dict[tuple[str, ...], dict[str, Any]] = {}
    for r in pq.read_table(folder / "data" / "answers" / benchmark / "answers.parquet",
                           columns=["question_id", "reader", "setting", "system", "variant", primary[0]]).to_pylist():
        raw.setdefault((r["reader"], r["setting"], r["system"], r["variant"]), {})[r["question_id"]] = r
    return lines, raw, primary


def _difference(mine: dict[str, Any], theirs: dict[str, Any], measure: str, config: Any) -> Any:
    from canopy.evaluation.answer_summary import difference_of

    shared = sorted(set(mine) & set(theirs))
    e = config.evaluation
    return difference_of([mine[i] for i in shared], [theirs[i] for i in shared], measure, e.resamples, config.answers.seeds[0], e.confidence)


def write_comparison(points: Sequence[Point], table: Table) -> list[Path]:
    """The comparison beside the points' workspaces, as CSV, Markdown and a page."""
    from canopy.evaluation.rendering import to_csv, to_html, to_markdown

    folder = points[0].folder.parent
    style = ("body{font:16px/1.5 system-ui,sans-serif;margin:2rem;max-width:90rem}table{border-collapse:collapse}th,td{padding:.25rem .6rem;text-align:left;"
             "border-bottom:1px solid #ccc}td.n,th.n{text-align:right}.ci{color:#666;font-size:.85em;margin-left:.4em}.scroll{overflow-x:auto}"
             ".good{color:#0a7a5a}.bad{color:#b0402c}.open{color:#a8650a}")
    page = (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>canopy · sweep</title>'
            f"<style>{style}</style></head><body><h1>Sweep: {html.escape(table.title)}</h1>\n{to_html(table)}</body></html>\n")
    texts = {"comparison.csv": to_csv(table), "comparison.md": f"# Sweep: {table.title}\n\n{to_markdown(table)}", "comparison.html": page}
    for name, text in texts.items():
        write_bytes(folder / name, text.encode())
    return [folder / name for name in texts]
