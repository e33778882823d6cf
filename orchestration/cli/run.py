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
    read_assignments,
    say,
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
    say(console, f"workspace {root}", "dim")
    with stoppable():
        result = rerun(root, orchestrator_of(context), select=split_names(select or []),
                       force=split_names(force or []), console=console)
    conclude(root, result, console)


def conclude(root: Path, result: Rerun, console: Console, next_steps: Sequence[str] = ()) -> None:
    """Print how much ran, the report's summary tables, and where to look next."""
    if not result.ran and not result.kept:
        console.print(f"[green]Nothing to do:[/green] everything is up to date (looked in {result.seconds:.1f} s).",
                      highlight=False)
    else:
        kept = f", kept {len(result.kept)} that needed no run" if result.kept else ""
        console.print(f"[green]Ran {len(result.ran)}[/green]{kept}, in {result.seconds:.1f} s.", highlight=False)
    report = root / "data" / "report" / "report.html"
    if not report.exists():
        return
    _show_summary(root, console)
    for line in next_steps or (
            f"report: {report}",
            "next:   `canopy promote`, then `canopy compress \"a question\"` or `canopy serve`; `canopy ui` shows runs "
            "and models"):
        console.print(line, highlight=False, soft_wrap=True)


def _show_summary(root: Path, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    from orchestration.pipeline.stage import read_summary

    def text(value: object) -> str:
        return escape(f"{value:,.3g}" if isinstance(value, float) else "" if value is None else str(value))

    for name, rows in read_summary(root, "report").tables.items():
        columns = list(dict.fromkeys(k for row in rows for k in ("benchmark", "system", *row) if k in row))
        table = Table(*[c.replace("_", " ") for c in columns], title=name, title_justify="left")
        for row in rows:
            table.add_row(*[text(row.get(c)) for c in columns])
        console.print(table)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(run)
