"""`canopy serve`: serve the champion with BentoML."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from orchestration.cli.shared import Alias, Workspace, open_workspace, say_workspace

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    workspace: Workspace = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 3001,
    host: Annotated[str, typer.Option(
        help="Address to bind; the default is reachable from this machine only.")] = "127.0.0.1",
    alias: Alias = "champion",
) -> None:
    """Serve the champion: POST /compress and /retrieve, an explorer page at /.

    Pins the version with its digest, node store and index in .canopy/serving/, then starts BentoML in the foreground
    (Ctrl-C stops it). /readyz fails if encoder, store and index do not belong together, and /status says why; /metrics
    is for Prometheus. Set CANOPY_API_KEY to ask callers for `Authorization: Bearer ...`, and do so before you bind
    another host than the loopback.

      curl -s localhost:3001/compress -H 'content-type: application/json' -d '{"question": "...", "k": 3}'
    """
    from rich.console import Console

    from orchestration.models.deployment import (
        bundle_of,
        check_port,
        describe_bundle,
        resolve_version,
        serve_command,
        service_environment,
    )
    from orchestration.pipeline.workspace import code_root

    root = open_workspace(workspace)
    say_workspace(root, Console(stderr=True))
    address = "127.0.0.1" if host == "localhost" else host
    check_port(address, port)
    bundle = bundle_of(root, resolve_version(root, alias))
    if host not in _LOOPBACK and not os.environ.get("CANOPY_API_KEY"):
        typer.secho(f"warning: {host} may be reached from other machines and CANOPY_API_KEY is not set: anyone may "
                    "call", err=True, fg="yellow")
    typer.echo(f"{describe_bundle(bundle)}\nhttp://{host}:{port}/ (explorer)  /compress  /retrieve  /readyz  /metrics",
               err=True)
    command, env = serve_command(address, port), service_environment(root, bundle)
    sys.stdout.flush()
    os.chdir(code_root())
    os.execve(command[0], command, env)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(serve)
