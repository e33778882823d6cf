"""The `canopy` program: run, status and doctor; the other commands come from the modules beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from canopy.errors import CanopyError
from orchestration.cli.shared import Workspace, orchestrator_of, split_names, stoppable, workspace_of
from orchestration.machine.environment import prepare_environment

if TYPE_CHECKING:
    from orchestration.pipeline.history import Orchestrator
    from orchestration.pipeline.rerun import Rerun

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""canopy compresses what a retriever found to the parts that answer the question.

The way through: `canopy run` (data, training, index, report, registration), `canopy promote`, `canopy compress "a question"` or
`canopy serve`. After any change to data, parameters or code, `canopy run` again: it reruns what the change made stale and nothing else.""")

@app.command()
def run(
    context: typer.Context,
    stale: Annotated[bool, typer.Option("--stale", help="Say plainly what is done anyway: rerun what is stale or missing, nothing else.")] = False,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help=(
        "Your own documents in the native format (JSON Lines and media, see README); with --benchmarks, the folder that holds a folder "
        "of official release files for each of them."))] = None,
    benchmarks: Annotated[str, typer.Option(metavar="LIST", help="Benchmarks under --data, by comma or space: hotpotqa,ott-qa.")] = "",
    workspace: Workspace = None,
    assign: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=(
        "Write a parameter into the workspace's params.yaml first; may be repeated. In the checkout that is a tracked file."))] = None,
    params: Annotated[list[Path] | None, typer.Option("--params", metavar="FILE", help=(
        "Write a file's parameters into the workspace's params.yaml first, before --set: params/qwen3_vl.yaml is the paper's encoder."))] = None,
    select: Annotated[list[str] | None, typer.Option(metavar="STAGES", help=(
        "Only these, by comma: `corpus`, `benchmark@starter`, `+report` (with all it needs), `corpus+` (with all that needs it)."))] = None,
    force: Annotated[list[str] | None, typer.Option(metavar="STAGES", help="Run these even where nothing changed.")] = None,
) -> None:
    """Bring the pipeline up to date: rerun what is stale or missing, in order, and say why each stage ran.

    A stage is stale when its code, its parameters or its inputs' content changed. Where a rerun gives the same output, nothing below
    it reruns. Stopping (Ctrl-C) or killing a run loses at most the stage at work; the next run goes on from there, training from its last
    checkpoint.

    `canopy run` — the starter benchmark, in the checkout

    `canopy run --data ~/handbook` — your own documents, in a workspace of their own under workspaces/

    `canopy run --benchmarks hotpotqa,ott-qa --data ../shared/data` — official release files

    `canopy run --set training.epochs=1 --select +node_encoder` — a shorter training, and what it needs

    `canopy run --params params/qwen3_vl.yaml --set encoder.model=~/models/Qwen3-VL-Embedding-2B` — the paper's encoder, on a GPU
    """
    root = workspace_of(data, split_names([benchmarks]), workspace)
    from orchestration.pipeline.rerun import rerun
    from orchestration.pipeline.workspace import read_overlay, set_params

    console = Console()
    set_params(root, [*(pair for file in params or [] for pair in read_overlay(file)), *(assign or [])])
    console.print(f"workspace {root}", style="dim", highlight=False, soft_wrap=True)
    with stoppable():
        done = rerun(root, orchestrator_of(context), select=split_names(select or []), force=split_names(force or []), console=console)
    _conclude(root, done, console)


@app.command()
def demo(
    context: typer.Context,
    benchmarks: Annotated[str, typer.Option(metavar="LIST", help="Benchmarks under --data, by comma or space: hotpotqa,ott-qa.")] = "",
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="As for `canopy run`; unless said, the starter benchmark.")] = None,
    workspace: Workspace = None,
) -> None:
    """The whole main job: run the pipeline, promote the model, build its Bento, let it answer a question, and say where to look next.

    `canopy demo` — the starter benchmark, a few minutes on two cores

    `canopy demo --benchmarks "hotpotqa ott-qa" --data ../shared/data` — official release files
    """
    from orchestration.cli.demo import closing, deploy_and_ask
    from orchestration.cli.models import show_verdict
    from orchestration.models.deployment import bundle_of
    from orchestration.models.promotion import promote
    from orchestration.models.registry import CHALLENGER, CHAMPION
    from orchestration.pipeline.rerun import rerun

    root, console = workspace_of(data, split_names([benchmarks]), workspace), Console()
    console.print(f"workspace {root}", style="dim", highlight=False, soft_wrap=True)
    with stoppable():
        done = rerun(root, orchestrator_of(context), console=console)
        verdict = promote(root, export=lambda version: bundle_of(root, version))
        show_verdict(verdict)
        alone = verdict.outcome == "refused" and not verdict.champion
        if alone:
            console.print("[yellow]there is no champion: what answers below is the challenger, which has not earned it[/]", highlight=False)
        deploy_and_ask(root, console, CHALLENGER if alone else CHAMPION)
    _conclude(root, done, console, closing(root))


@app.command()
def status(context: typer.Context, workspace: Workspace = None) -> None:
    """Say what is stale and why, and whether Dagster and DVC agree on it.

    Looks at the files, observes raw data, and tells Dagster about every `dvc repro` it did not see. Nothing is run. Outputs that were
    edited by hand are DVC's to notice and are listed too; `canopy run` puts them back.
    """
    from rich.table import Column, Table

    from orchestration.pipeline.lineage import shorten
    from orchestration.pipeline.status import differences, look
    from orchestration.pipeline.workspace import select_workspace

    root, console = select_workspace(workspace), Console()
    with orchestrator_of(context).open(root) as history:
        view = look(root, history)
        differ = differences(view, root)
    console.print(f"workspace {root}", style="dim", highlight=False, soft_wrap=True)
    table = Table("stage", "benchmark", "Dagster", "DVC", Column("why", overflow="fold"))
    for task in view.tasks.values():
        state = "[green]fresh[/]" if task.dagster == "FRESH" else f"[yellow]{task.dagster.lower()}[/]"
        dvc = "[dim]no stage[/]" if task.dvc is None else "[yellow]changed[/]" if task.dvc else "[green]unchanged[/]"
        table.add_row(task.asset, task.partition or "", state, dvc, escape(shorten(task.why)))
    console.print(table)
    if view.reported:
        console.print(f"taken over from dvc.lock, made outside Dagster: {', '.join(view.reported)}", highlight=False)
    edited = [t.name for t in view.tasks.values() if t.edited]
    if edited:
        console.print(f"[yellow]outputs edited by hand (DVC sees it, Dagster cannot): {', '.join(edited)}; `canopy run` puts them back[/]", highlight=False)
    for line in differ:
        console.print(line, style="red", highlight=False, markup=False)
    stale = [t.name for t in view.tasks.values() if t.stale]
    told = f"{len(stale)} of {len(view.tasks)} are stale: `canopy run` makes them, and what changes below them" if stale else "Everything is up to date"
    console.print(("Dagster and `dvc status` agree. " if not differ else "Dagster and `dvc status` do NOT agree (above). ") + told, highlight=False)


@app.command()
def doctor(workspace: Workspace = None) -> None:
    """Check this machine and installation, and say what to do about each problem.

    Exits 1 where something must be fixed before `canopy run` can work.
    """
    from orchestration.machine.doctor import examine
    from orchestration.pipeline.workspace import select_workspace

    console, bad = Console(), False
    for finding in examine(select_workspace(workspace)):
        mark = {"ok": "[green]ok[/]     ", "note": "[yellow]note[/]   ", "problem": "[red]problem[/]"}[finding.level]
        console.print(f"{mark} {escape(finding.what)}" + (f"\n        [bold]{escape(finding.fix)}[/]" if finding.fix else ""), highlight=False, soft_wrap=True)
        bad |= finding.level == "problem"
    if bad:
        raise typer.Exit(1)


def _conclude(root: Path, done: Rerun, console: Console, next_steps: Sequence[str] = ()) -> None:
    """The summary table of the report, what was done, and where to look next."""
    from orchestration.pipeline.stage import read_summary

    if not done.ran and not done.kept:
        console.print(f"[green]Nothing to do:[/green] everything is up to date (looked in {done.seconds:.1f} s).", highlight=False)
    else:
        kept = f", kept {len(done.kept)} that needed no run" if done.kept else ""
        console.print(f"[green]Ran {len(done.ran)}[/green]{kept}, in {done.seconds:.1f} s.", highlight=False)
    report = root / "data" / "report" / "report.html"
    if not report.exists():
        return
    from rich.table import Table

    for name, rows in read_summary(root, "report").tables.items():
        columns = list(dict.fromkeys(k for row in rows for k in ("benchmark", "system", *row) if k in row))
        table = Table(*[c.replace("_", " ") for c in columns], title=name, title_justify="left")
        for row in rows:
            table.add_row(*[escape(f"{v:,.3g}" if isinstance(v, float) else str(v if v is not None else "")) for v in (row.get(c) for c in columns)])
        console.print(table)
    if next_steps:
        for line in next_steps:
            console.print(line, highlight=False, soft_wrap=True)
        return
    console.print(f"report: {report}\nnext:   `canopy promote`, then `canopy compress \"a question\"` or `canopy serve`; `make ui` shows runs and models",
                  highlight=False, soft_wrap=True)


def main(orchestrator: Orchestrator) -> None:
    """Run the program; an error that a user can act on is one red line and exit code 1."""
    prepare_environment()
    from orchestration.cli import data as cli_data
    from orchestration.cli import evaluate as cli_evaluate
    from orchestration.cli import import_documents as cli_import
    from orchestration.cli import models as cli_model
    from orchestration.cli import ui as cli_ui
    from orchestration.machine.processes import end_like_ctrl_c

    cli_model.register(app)
    cli_data.register(app)
    cli_import.register(app)
    cli_evaluate.register(app)
    cli_ui.register(app)
    end_like_ctrl_c()
    try:
        app(obj=orchestrator)
    except CanopyError as e:
        Console(stderr=True).print(f"error: {e}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(1) from None
