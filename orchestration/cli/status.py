"""`canopy status`: what is stale and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orchestration.cli.shared import Workspace, open_workspace, orchestrator_of, say, say_workspace

if TYPE_CHECKING:
    from rich.table import Table

    from orchestration.pipeline.status import View


def status(context: typer.Context, workspace: Workspace = None) -> None:
    """Say what is stale and why, and whether Dagster and DVC agree on it.

    Looks at the files, observes raw data, and reports to Dagster every `dvc repro` that it did not see. Nothing is run.
    Outputs that were edited by hand are listed too (DVC notices them); `canopy run` puts them back.
    """
    from rich.console import Console

    from orchestration.pipeline.status import differences, look

    root, console = open_workspace(workspace), Console()
    say_workspace(root, console)
    with orchestrator_of(context).open(root) as history:
        view = look(root, history)
        disagreements = differences(view, root)
    console.print(_table(view))
    if view.reported:
        say(console, f"taken over from dvc.lock, made outside Dagster: {', '.join(view.reported)}")
    edited = [t.name for t in view.tasks.values() if t.edited]
    if edited:
        say(console, f"outputs edited by hand (DVC sees it, Dagster cannot): {', '.join(edited)}; `canopy run` puts "
                     "them back", "yellow")
    for line in disagreements:
        say(console, line, "red")
    stale = [t.name for t in view.tasks.values() if t.stale]
    agreement = "do NOT agree (above)" if disagreements else "agree"
    conclusion = (f"{len(stale)} of {len(view.tasks)} are stale: `canopy run` makes them, and what changes below them"
                  if stale else "Everything is up to date")
    say(console, f"Dagster and `dvc status` {agreement}. {conclusion}")


def _table(view: View) -> Table:
    from rich.markup import escape
    from rich.table import Column, Table

    from orchestration.pipeline.lineage import shorten

    table = Table("stage", "benchmark", "Dagster", "DVC", Column("why", overflow="fold"))
    for task in view.tasks.values():
        state = "[green]fresh[/]" if task.dagster == "FRESH" else f"[yellow]{task.dagster.lower()}[/]"
        dvc = "[dim]no stage[/]" if task.dvc is None else "[yellow]changed[/]" if task.dvc else "[green]unchanged[/]"
        table.add_row(task.asset, task.partition or "", state, dvc, escape(shorten(task.why)))
    return table


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(status)
