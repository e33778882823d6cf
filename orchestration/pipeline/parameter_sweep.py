"""A parameter sweep: one workspace for each value of a parameter, and a comparison of their results."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from canopy.atomic import write_bytes
from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from orchestration.pipeline.data_options import slug
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.sweep_point import Point, make_point

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.report.model import Table
    from orchestration.pipeline.history import Orchestrator
    from orchestration.pipeline.rerun import Rerun


def plan_points(root: Path, assignments: Sequence[str], fixed: Sequence[str] = ()) -> list[Point]:
    """Every combination of the values of ``key=v1,v2``.

    Parameters
    ----------
    fixed : sequence of str
        Assignments that all points share.

    Raises
    ------
    DataError
        If an assignment is not of that form, or no parameter has several values.
    """
    from canopy.report.sweep import SHORT

    axes = [_axis(assignment) for assignment in assignments]
    varied = tuple(axis[0][0] for axis in axes if len(axis) > 1)
    if not varied:
        raise DataError("a sweep needs a parameter with several values, for example hierarchy.branching=2,3,4; "
                        "for one value there is `canopy run --set`")
    folder = root / ".canopy" / "sweeps" / slug("-".join(axis[0][0] for axis in axes))
    points = []
    for combination in itertools.product(*axes):
        label = ", ".join(f"{SHORT.get(k, k.rpartition('.')[2])}={v}" for k, v in combination if k in varied)
        pairs = tuple(f"{k}={v}" for k, v in combination)
        points.append(Point(label, (*fixed, *pairs), folder / slug("-".join(v for _, v in combination)), varied))
    if len({p.folder for p in points}) < len(points):
        raise DataError("two of the values have one name; give each once")
    return points


def _axis(assignment: str) -> list[tuple[str, str]]:
    """The parameter of ``key=v1,v2`` with each of its values, as YAML writes it."""
    key, equals, values = assignment.partition("=")
    try:
        parsed = yaml.safe_load(f"[{values}]")
    except yaml.YAMLError:
        parsed = None
    if not equals or not key.strip() or not parsed:
        raise DataError(f"{assignment}: write it as key=value,value, for example hierarchy.branching=2,3,4")
    texts = [yaml.safe_dump(v, default_flow_style=True).removesuffix("...\n").strip() for v in parsed]
    return [(key.strip(), text) for text in texts]


def run_points(root: Path, points: Sequence[Point], orchestrator: Orchestrator, console: Console) -> list[Rerun]:
    """Bring the parent up to date, then every point; returns what each point's run did.

    What a point has done before is not done again.

    Raises
    ------
    DataError
        If a value is none that the parameter takes; nothing has run then.
    CanopyError
        If a stage fails; the points before it are kept.
    """
    from orchestration.pipeline.rerun import rerun

    check_points(root, points)
    console.print(f"workspace {root}: what the values do not touch", style="dim", highlight=False, soft_wrap=True)
    shared = rerun(root, orchestrator, select=["+evaluation"], console=console)  # every point has answers of its own
    if shared.short:
        raise CanopyError("; ".join(f"{task}: {what}" for task, what in shared.short.items()))
    summaries = []
    for point in points:
        make_point(root, point)
        console.print(f"[bold]{point.name}[/]  [dim]{point.folder}[/]", highlight=False, soft_wrap=True)
        summaries.append(rerun(point.folder, orchestrator, select=["+report"], console=console))
    return summaries


def check_points(root: Path, points: Sequence[Point]) -> None:
    """Check every point's parameters before anything runs.

    Raises
    ------
    DataError
        If they are not valid; the message names the point.
    """
    load_config(root / "params.yaml")
    for point in points:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "params.yaml").write_bytes((root / "params.yaml").read_bytes())
            try:
                set_params(folder, point.assignments)
            except DataError as e:
                raise DataError(f"{point.name}: {str(e).removeprefix(f'{folder}/params.yaml: ')}") from None


def compare(points: Sequence[Point]) -> tuple[dict[str, str], list[Table]]:
    """The comparison of the points: files by path (a page, a text, tables, figures), and a table a reader and corpus.

    Raises
    ------
    DataError
        If a point's answers are missing or cannot be read.
    """
    from canopy.report.answered import read_answered
    from canopy.report.results import Settings
    from canopy.report.sweep import sweep_files

    config = load_config(points[0].folder / "params.yaml")
    benchmarks = []
    for name in config.benchmarks:
        answers = {p.name: read_answered(p.folder / "data" / "answers" / name, name) for p in points}
        if missing := [n for n, a in answers.items() if a is None]:
            raise DataError(f"{points[0].folder.parent}: no answers of {name} at {missing[0]}: "
                            "run the same `canopy sweep` again")
        benchmarks.append({n: a for n, a in answers.items() if a is not None})
    e = config.evaluation
    settings = Settings(e.resamples, e.seed, e.confidence)
    return sweep_files(", ".join(p.name for p in points), list(points[0].axes), benchmarks, settings)


def write_comparison(points: Sequence[Point], files: Mapping[str, str]) -> list[Path]:
    """Write the comparison beside the points' workspaces; returns the page and the text."""
    folder = points[0].folder.parent
    for name in ("tables", "figures"):
        shutil.rmtree(folder / name, ignore_errors=True)  # of a comparison of other values
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / name, text.encode())
    return [folder / name for name in files if "/" not in name]
