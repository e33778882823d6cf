"""`canopy rollback`: go back to the previous champion."""

from __future__ import annotations

import typer

from orchestration.cli.shared import Workspace, open_workspace, say, say_workspace


def rollback(workspace: Workspace = None) -> None:
    """Go back to the previous champion.

    Swaps the aliases `champion` and `previous_champion`; calling it twice changes nothing. A running service keeps the
    version that it was started with: start it again to serve the other one.
    """
    from rich.console import Console

    from orchestration.models import promotion

    root, console = open_workspace(workspace), Console()
    say_workspace(root, console)
    now, before = promotion.rollback(root)
    say(console, f"champion is now version {now} (was {before}); start the service again (`canopy serve`) to serve it")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(rollback)
