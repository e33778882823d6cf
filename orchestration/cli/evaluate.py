"""The commands about answers: `canopy evaluate` runs systems side by side, `canopy sweep` a parameter's values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from canopy.config import CORPUS_SCOPES
from canopy.errors import CanopyError, DataError
from orchestration.cli.shared import (
    Workspace,
    orchestrator_of,
    print_whole,
    split_names,
    stoppable,
    width_of,
    workspace_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.answers.summary import Line
    from canopy.config import Config
    from canopy.report.tables import Table as Comparison


def evaluate(
    context: typer.Context,
    systems: Annotated[str, typer.Option(metavar="LIST", help="Systems by comma; `all`: every one that can run here. Unless said, those of params.yaml.")] = "",
    list_only: Annotated[bool, typer.Option("--list", help="Name every system, what it needs, and whether it can run here; run nothing.")] = False,
    corpus_scopes: Annotated[str, typer.Option("--corpus-scopes", "--settings", metavar="LIST", help=(
        "Corpora to search, by comma: unified (all benchmarks' items), own (each benchmark's), gold (annotated items given)."))] = "",
    questions: Annotated[int | None, typer.Option(min=0, metavar="N", help="At most so many test questions of each benchmark, drawn by the seed; 0: all.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="As for `canopy run`.")] = None,
    benchmarks: Annotated[str, typer.Option(metavar="LIST", help="Benchmarks under --data, by comma or space: hotpotqa,ott-qa.")] = "",
    workspace: Workspace = None,
    assign: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Write a parameter into the workspace's params.yaml first.")] = None,
    params: Annotated[list[Path] | None, typer.Option("--params", metavar="FILE", help="Write a file's parameters there first, before --set.")] = None,
) -> None:
    """Answer the test questions with every system, and compare: official scores, evidence kept, tokens, calls, with 95% intervals.

    What is chosen here is written into the workspace's params.yaml, as `--set` does it; then what is stale is run, up to the stage `answers` and the
    report. Without a language model server the LLM-free roles answer, and every table says so. With CANOPY_LLM_BASE_URL (and CANOPY_LLM_MODEL) set, or
    language.base_url in params.yaml, that server's model does; its key is read from CANOPY_LLM_API_KEY and written nowhere.

    Stopped or killed, the same command goes on: finished answers are kept in .canopy/work/answers, a server's replies in .canopy/work/llm.

    `canopy evaluate --list`

    `canopy evaluate --systems canopy,canopy-lookahead,vanilla --questions 50`

    `canopy evaluate --benchmarks hotpotqa,ott-qa --data ../shared/data --corpus-scopes unified,gold`
    """
    from rich.console import Console

    from canopy.config import load_config
    from canopy.pipelines.base import find_systems
    from orchestration.cli.seconds_table import show_seconds
    from orchestration.cli.system_listing import show_systems
    from orchestration.pipeline.rerun import rerun
    from orchestration.pipeline.workspace import read_overlay, set_params

    named = split_names([systems])
    find_systems([n for n in named if n != "all"])
    root, console = workspace_of(data, split_names([benchmarks]), workspace), Console()
    chosen = [*(pair for file in params or [] for pair in read_overlay(file))]
    chosen += [f"answers.systems=[{', '.join(n for n in named if n != 'all')}]"] if named else []
    chosen += [f"answers.corpus_scopes=[{', '.join(split_names([corpus_scopes]))}]"] if corpus_scopes else []
    chosen += [f"answers.questions={questions}"] if questions is not None else []
    if list_only:
        show_systems(root, load_config(root / "params.yaml"), console)
        return
    set_params(root, [*chosen, *(assign or [])])
    set_params(root, server_of_environment(load_config(root / "params.yaml"), console))
    console.print(f"workspace {root}", style="dim", highlight=False, soft_wrap=True)
    with stoppable():
        rerun(root, orchestrator_of(context), select=["+report"], console=console)
    config = load_config(root / "params.yaml")
    ran = show_answers(root, config, console)
    for name in config.benchmarks:
        show_seconds(root, name, console)
    report = root / "data" / "report" / "report.html"
    console.print(f"report: {report}", highlight=False, soft_wrap=True)
    if not ran:
        raise CanopyError("none of the systems asked for could run here; the table above says what each needs")


def server_of_environment(config: Config, console: Console) -> list[str]:
    """Parameters that name the server of the environment, where params.yaml names none: results must not depend on what no stage declares."""
    url, model = (os.environ.get(f"CANOPY_LLM_{n}", "").strip() for n in ("BASE_URL", "MODEL"))
    held = config.language.base_url.strip(), config.language.model.strip()
    if held[0] or not url:
        for name, key, given, kept in (("BASE_URL", "base_url", url, held[0]), ("MODEL", "model", model, held[1])):
            if given and kept and given.rstrip("/") != kept.rstrip("/"):
                console.print(f"CANOPY_LLM_{name} ({given}) is not used: params.yaml names {kept}; --set language.{key}={given} changes that", style="yellow",
                              highlight=False, markup=False, soft_wrap=True)
        return []
    console.print(f"language model server of CANOPY_LLM_BASE_URL: written into params.yaml as language.base_url ({url})", style="dim", highlight=False, soft_wrap=True)
    return [f"language.base_url={url}", *([f"language.model={model}"] if model and not config.language.model.strip() else [])]


def show_answers(root: Path, config: Config, console: Console) -> int:
    """A table of every benchmark and corpus scope, what was not run and why; returns how many systems answered."""
    from rich.markup import escape

    ran = set[str]()
    for name in config.benchmarks:
        lines, listed = read_lines(root, config, name)
        labels = ", ".join(r["label"] for r in listed["readers"])
        for corpus_scope in dict.fromkeys(x.corpus_scope for x in lines):
            if corpus_scope == "own" and listed["own_is_unified"]:
                console.print(f"{name}, {CORPUS_SCOPES[corpus_scope]}: it is all there is, so its figures are those of the unified corpus.", highlight=False, soft_wrap=True)
                continue
            _print_fitting(console, f"{name}, {CORPUS_SCOPES[corpus_scope]}", [x for x in lines if x.corpus_scope == corpus_scope], listed["metric"]["primary"])
        how = "no language model took part" if listed["llm_free"] else "with a language model"
        console.print(f"{name}: read by {escape(labels)}; {how}. {escape(listed['metric']['rules'])}", highlight=False, soft_wrap=True)
        ran |= {s["name"] for s in listed["systems"] if s["ran"]}
        for s in listed["systems"]:
            if not s["ran"]:
                console.print(f"  [yellow]not run: {s['name']}[/]: {escape('; '.join(s['why_not']))}", highlight=False, soft_wrap=True)
    return len(ran)




def read_lines(root: Path, config: Config, benchmark: str) -> tuple[list[Line], dict[str, Any]]:
    """Systems side by side on a benchmark, as the stage wrote them, and its systems.json.

    Raises
    ------
    DataError
        Where the stage has not run.
    """
    import json

    import pyarrow.parquet as pq

    from canopy.answers.summary import columns_read, compare_systems

    folder = root / "data" / "answers" / benchmark
    try:
        listed = json.loads((folder / "systems.json").read_text("utf-8"))
        primary = listed["metric"]["primary"]
        rows = pq.read_table(folder / "answers.parquet", columns=columns_read(primary)).to_pylist()
    except (OSError, ValueError) as e:
        raise DataError(f"{folder}: no answers that can be read ({type(e).__name__}); run `canopy evaluate`") from None
    e = config.evaluation
    return compare_systems(rows, primary, resamples=e.resamples, seed=config.answers.seeds[0], confidence=e.confidence), listed


def _print_fitting(console: Console, title: str, lines: Sequence[Line], primary: Sequence[str]) -> None:
    """All of a table where there is room for it, as in a file or a pipe, which have no edge; else what fits."""
    table = _table(title, lines, primary, wide=True)
    print_whole(console, table if not console.is_terminal or width_of(table, console) <= console.width else _table(title, lines, primary, wide=False))


def _table(title: str, lines: Sequence[Line], primary: Sequence[str], wide: bool) -> Any:
    """Systems side by side. Where it is narrow, intervals stand at the first measure and the difference alone; other than the first two measures, calls and rounds are left
    to the report."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from canopy.report.render import show, show_interval

    several = len({x.reader for x in lines}) > 1
    reference = next((x.reference for x in lines if x.reference), "")
    labels = {"answer_in_evidence": "answer kept", "gold_recall": "gold kept", "em": "EM", "f1": "F1"}
    shown = [*((m, "percent") for m in (primary if wide else primary[:2])), ("gold_recall", "percent"), ("answer_in_evidence", "percent"), ("tokens", "count"),
             *((("calls", "number"), ("rounds", "number")) if wide else ())]

    def cell(line: Line, measure: str, kind: str) -> str:
        value = show(line.values[measure].estimate, kind)
        interval = show_interval(line.values[measure], kind) if kind == "percent" and (wide or measure == primary[0]) else ""
        return joined(value, interval)

    def joined(value: str, interval: str) -> str:
        return (f"{value} {interval}" if wide else f"{value}\n{interval}").strip().replace(", ", ",\u00a0")

    def right(label: str) -> Column:
        return Column(label, justify="right", no_wrap=wide, min_width=max(map(len, label.split())))

    table = Table(*([Column("reader", no_wrap=True)] if several else []), Column("system", no_wrap=True), *(right(labels.get(m, m.replace("_", " "))) for m, _ in shown),
                  *([right(f"{labels.get(primary[0], primary[0])} - {reference}'s")] if reference else []), title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for line in lines:
        difference = joined(show(line.difference.estimate, "points"), show_interval(line.difference, "points")) if line.difference else ""
        table.add_row(*([line.reader] if several else []), f"{line.system} {line.variant}".strip(), *(cell(line, m, kind) for m, kind in shown),
                      *([difference] if reference else []))
    return table


def sweep_values(
    context: typer.Context,
    assignments: Annotated[list[str], typer.Argument(metavar="KEY=V1,V2...", help="A parameter and its values; several give every combination.")],
    systems: Annotated[str, typer.Option(metavar="LIST", help="Systems to compare, by comma; unless said, those of params.yaml.")] = "",
    workspace: Workspace = None,
) -> None:
    """Run the pipeline once for every value of a parameter, and lay the results side by side.

    Each value gets a workspace of its own under .canopy/sweeps, with the parameters of this one but for that value. They share the cache of stage outputs, so
    that what a value does not touch is taken over; the node store's vectors by content, so that only new regions are encoded; and the language model's
    replies. Stopped or killed, the same command goes on.

    `dvc exp run -S hierarchy.branching=4` does one value in place; it needs git: a checkout with `no_scm = false` in .dvc/config and dvc.lock committed. Workspaces
    without git, as they are made here, have this command.

    `canopy sweep hierarchy.branching=2,3,4` — the paper's figure on B

    `canopy sweep answers.k=5,10,20 answers.rounds=1,3 --systems canopy,vanilla`
    """
    from rich.console import Console

    from canopy.config import load_config
    from canopy.pipelines.base import find_systems
    from orchestration.pipeline.parameter_sweep import compare, plan_points, run_points, write_comparison
    from orchestration.pipeline.workspace import select_workspace, set_params

    named = split_names([systems])
    find_systems(named)
    root, console = select_workspace(workspace), Console()
    points = plan_points(root, assignments, [f"answers.systems=[{', '.join(named)}]"] if named else [])
    set_params(root, server_of_environment(load_config(root / "params.yaml"), console))
    with stoppable():
        run_points(root, points, orchestrator_of(context), console)
    files, tables = compare(points)
    for table in tables:
        print_whole(console, _values_side_by_side(table))
    for path in write_comparison(points, files):
        console.print(f"comparison: {path}", highlight=False, soft_wrap=True)


def _values_side_by_side(table: Comparison) -> Any:
    """The columns of a sweep's table that a terminal has room for; the page has the others."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from canopy.answers.rows import METRICS
    from canopy.report.render import cell

    first = next(c.key for c in table.columns if c.key in METRICS)
    several = len({r["benchmark"] for r in table.rows}) > 1
    wanted = (*(["benchmark"] if several else []), "system", first, "gold_recall", "tokens", "difference", "change_tokens")
    kept = [c for k in wanted for c in table.columns if c.key == k]
    shown = Table(*(Column(c.label, justify="left" if c.kind == "text" else "right", min_width=max(map(len, c.label.split()))) for c in kept),
                  title=table.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for row in table.rows:
        shown.add_row(*("\n".join(t.replace(", ", ",\u00a0") for t in cell(c, row) if t) for c in kept))
    return shown


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(evaluate)
    app.command("sweep")(sweep_values)
