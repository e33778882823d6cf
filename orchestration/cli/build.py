"""`canopy build`: a Bento of the champion."""

from __future__ import annotations

import typer

from orchestration.cli.shared import Alias, Workspace, open_workspace, say_workspace


def build(workspace: Workspace = None, alias: Alias = "champion") -> None:
    """Build a Bento of the champion: code, model, node store, index and pinned packages in one archive.

    The Bento goes to BENTOML_HOME (default: .canopy/bentoml in the workspace). The command that runs it is printed;
    `bentoml containerize TAG` makes an image of it.
    """
    from rich.console import Console

    from orchestration.models.bento import build_bento
    from orchestration.models.deployment import bundle_of, resolve_version, run_command

    root = open_workspace(workspace)
    say_workspace(root, Console(stderr=True))
    version = resolve_version(root, alias)
    tag = build_bento(root, version, bundle_of(root, version))
    typer.echo(tag)
    typer.echo(f"run it: {run_command(root, tag)}", err=True)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(build)
