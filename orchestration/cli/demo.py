"""`canopy demo`: the whole main job in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.shared import (
    Benchmarks,
    Workspace,
    orchestrator_of,
    say,
    say_workspace,
    split_names,
    stoppable,
    workspace_of,
)


def demo(
    context: typer.Context,
    benchmarks: Benchmarks = "",
    data: Annotated[Path | None, typer.Option(metavar="DIR", help=(
        "As for `canopy run`. Default: the starter benchmark."))] = None,
    workspace: Workspace = None,
) -> None:
    """Do the whole main job: run the pipeline, promote the model, build its Bento, and let it answer a question.

    The last lines say where to look next.

    `canopy demo` — the starter benchmark, a few minutes on two cores

    `canopy demo --benchmarks "hotpotqa ott-qa" --data ~/releases` — official release files
    """
    from rich.console import Console

    from orchestration.cli.bento_trial import closing, deploy_and_ask
    from orchestration.cli.promote import show_verdict
    from orchestration.cli.run import conclude
    from orchestration.models.deployment import bundle_of
    from orchestration.models.promotion import promote
    from orchestration.models.registry import CHALLENGER, CHAMPION
    from orchestration.pipeline.rerun import rerun

    root, console = workspace_of(data, split_names([benchmarks]), workspace), Console()
    say_workspace(root, console)
    with stoppable():
        result = rerun(root, orchestrator_of(context), console=console)
        if result.short:
            conclude(root, result, console)
            raise typer.Exit(1)
        verdict = promote(root, export=lambda version: bundle_of(root, version))
        show_verdict(verdict)
        no_champion = verdict.outcome == "refused" and not verdict.champion
        if no_champion:
            say(console, "there is no champion: the answers below are the challenger's, which did not pass the gates",
                "yellow")
        alias = CHALLENGER if no_champion else CHAMPION
        deploy_and_ask(root, console, alias)
    conclude(root, result, console, closing(root, alias))


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(demo)
