"""`canopy doctor`: what is wrong with this machine or installation, and what to do about it."""

from __future__ import annotations

import typer

from orchestration.cli.shared import Workspace, open_workspace, say_workspace


def doctor(workspace: Workspace = None) -> None:
    """Check this machine and installation, and say what to do about each problem.

    Exit code 1 if something must be fixed before `canopy run` can work.
    """
    from rich.console import Console
    from rich.markup import escape

    from orchestration.machine.doctor import examine
    from orchestration.pipeline.hints import address

    root, console, has_problem = open_workspace(workspace), Console(), False
    say_workspace(root, console)
    marks = {"ok": "[green]ok[/]     ", "note": "[yellow]note[/]   ", "problem": "[red]problem[/]"}
    for finding in examine(root):
        fix = f"\n        [bold]{escape(address(finding.fix))}[/]" if finding.fix else ""
        console.print(f"{marks[finding.level]} {escape(address(finding.what))}{fix}", highlight=False, soft_wrap=True)
        has_problem |= finding.level == "problem"
    if has_problem:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(doctor)
