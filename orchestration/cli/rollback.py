"""`canopy rollback`: go back to the previous champion."""

from __future__ import annotations

import typer

from orchestration.cli.shared import Workspace


def rollback(workspace: Workspace = None) -> None:
    """Go back to the previous champion.

    Swaps the aliases `champion` and `previous_champion`; calling it twice changes nothing. A running service keeps the
    version that it was started with: start it again to serve the other one.
    """
    from orchestration.models import promotion
    from orchestration.pipeline.workspace import select_workspace

    now, before = promotion.rollback(select_workspace(workspace))
    typer.echo(f"champion is now version {now} (was {before}); start the service again to serve it")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(rollback)
