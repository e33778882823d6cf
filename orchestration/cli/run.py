"""`canopy run`: bring the pipeline up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.shared import (
    Assignments,
    Benchmarks,
    ParamsFiles,
    Workspace,
    orchestrator_of,
    print_whole,
    read_assignments,
    say,
    say_workspace,
    split_names,
    stoppable,
    workspace_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from orchestration.pipeline.rerun import Rerun


def run(
    context: typer.Context,
    stale: Annotated[bool, typer.Option("--stale", help=(
        "The default, written out: rerun what is stale or missing, nothing else."))] = False,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help=(
        "Your own documents in the native format (JSON Lines and media, see docs/own-documents.md). With --benchmarks: "
        "the folder that holds a folder of official release files for each of them."))] = None,
    benchmarks: Benchmarks = "",
    workspace: Workspace = None,
    assign: Assignments = None,
    params: ParamsFiles = None,
    select: Annotated[list[str] | None, typer.Option(metavar="STAGES", help=(
        "Only these, separated by comma: `corpus`, `benchmark@starter`, `+report` (with all it needs), `corpus+` (with "
        "all that needs it)."))] = None,
    force: Annotated[list[str] | None, typer.Option(metavar="STAGES", help=(
        "Run these even if nothing changed."))] = None,
) -> None:
    """Bring the pipeline up to date: rerun what is stale or missing, in order, and say why each stage ran.

    A stage is stale if its code, its parameters or its inputs' content changed. If a rerun gives the same output,
    nothing below it reruns. Stopping (Ctrl-C) or killing a run loses at most the stage at work; the next run goes on
    from there, training from its last checkpoint.

    `canopy run` — the starter benchmark, in the checkout

    `canopy run --data ~/handbook` — your own documents, in a workspace of their own under workspaces/

    `canopy run --benchmarks hotpotqa,ott-qa --data ~/releases` — official release files

    `canopy run --set training.epochs=1 --select +node_encoder` — a shorter training, and what it needs

    `canopy run --params params/qwen3_vl.yaml --set encoder.model=~/models/Qwen3-VL-Embedding-2B` — the paper's
    encoder, on a GPU
    """
    root = workspace_of(data, split_names([benchmarks]), workspace)
    from rich.console import Console

    from orchestration.pipeline.params_file import set_params
    from orchestration.pipeline.rerun import rerun

    console = Console()
    set_params(root, read_assignments(params, assign))
    say_workspace(root, console)
    with stoppable():
        result = rerun(root, orchestrator_of(context), select=split_names(select or []),
                       force=split_names(force or []), console=console)
    conclude(root, result, console)


def conclude(root: Path, result: Rerun, console: Console, next_steps: Sequence[str] = ()) -> None:
    """Print how much ran, what there are too few questions for, the report's summary tables, and what to type next."""
    if not result.ran and not result.kept and not result.short:
        console.print(f"[green]Nothing to do:[/green] everything is up to date (looked in {result.seconds:.1f} s).",
                      highlight=False)
    else:
        kept = f", kept {len(result.kept)} that needed no run" if result.kept else ""
        console.print(f"[green]Ran {len(result.ran)}[/green]{kept}, in {result.seconds:.1f} s.", highlight=False)
    report = root / "data" / "report" / "report.html"
    if report.exists() and "node_encoder" not in result.short:
        _show_summary(root, console)
        if not next_steps:
            say(console, f"report: {report}")
    for task, what in result.short.items():
        say(console, f"{task} is left out, with what needs it: {what}", "yellow")
    for line in next_steps or _next_steps(root, result, trained=report.exists()):
        say(console, line)


def _next_steps(root: Path, result: Rerun, *, trained: bool) -> list[str]:
    """What to type next: commands that run as they stand, each with its purpose as the shell's comment."""
    from canopy.config import load_config
    from orchestration.pipeline.hints import command

    if result.short:
        config = load_config(root / "params.yaml")
        items = [entry.path + "/items.jsonl" for entry in config.benchmarks.values() if entry.adapter == "native"]
        steps = [(command("run", workspace=root), "once there are more questions (docs/own-documents.md)"),
                 *((command("compress", "a question", i), "the documents without a trained model") for i in items[:1])]
    elif trained:
        steps = [(command("promote", workspace=root), "makes the model the champion, if it passes the gates"),
                 (command("compress", "a question", workspace=root),
                  "asks the champion; before there is one, add --alias challenger"),
                 (command("serve", workspace=root), "the service, likewise"),
                 (command("ui", workspace=root), "runs and models in the browser")]
    else:
        steps = [(command("run", workspace=root), "the stages that were not selected")]
    width = max(len(line) for line, _ in steps)
    return [f"{'next:' if not n else '':7} {line:{width}}  # {purpose}" for n, (line, purpose) in enumerate(steps)]


def _show_summary(root: Path, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    from canopy.formatting import cell
    from orchestration.pipeline.stage import read_summary

    def text(value: object) -> str:
        return escape(cell(value))

    for name, rows in ((n, rows) for n, rows in read_summary(root, "report").tables.items() if rows):
        columns = list(dict.fromkeys(k for row in rows for k in ("benchmark", "system", *row) if k in row))
        table = Table(*[c.replace("_", " ") for c in columns], title=name, title_justify="left")
        for row in rows:
            table.add_row(*[text(row.get(c)) for c in columns])
        print_whole(console, table)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(run)
