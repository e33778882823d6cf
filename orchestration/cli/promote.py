"""`canopy promote`: make the challenger the champion, if it passes the gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.shared import Workspace, open_workspace, print_whole, say, say_workspace

if TYPE_CHECKING:
    from orchestration.models.promotion import Verdict


def promote(
    workspace: Workspace = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge only; move nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Promote although a gate fails; needs --reason.")] = False,
    reason: Annotated[str, typer.Option(help="Why a gate is overruled; kept on the version.")] = "",
) -> None:
    """Make the challenger the champion, if it passes the gates.

    `canopy run` registers each trained and evaluated model as `challenger`. This compares it, question by question,
    with the champion on the same evaluation data (with f0, the untrained encoder, if there is no champion yet), checks
    the data rules, pins what it is served from, and then moves the alias `champion`. What a challenger must show is in
    params.yaml under `promotion`.

    Exit code 1 if a gate fails. `canopy rollback` goes back.

    `canopy promote --dry-run` — every gate, and nothing moves
    """
    from rich.console import Console

    from canopy.progress import progress
    from orchestration.models import promotion
    from orchestration.models.deployment import bundle_of

    root = open_workspace(workspace)
    say_workspace(root, Console())
    with progress("judging"):
        verdict = promotion.promote(root, dry_run=dry_run, force=force, reason=reason,
                                    export=lambda version: bundle_of(root, version))
    show_verdict(verdict)
    if verdict.outcome == "refused":
        raise typer.Exit(1)


def show_verdict(verdict: Verdict) -> None:
    """Print the table of gates, and where the alias is now."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from orchestration.pipeline.hints import address

    console = Console()
    if verdict.outcome == "already champion":
        say(console, f"version {verdict.challenger} is the champion already; nothing to do")
        return
    opponent = f"version {verdict.champion}" if verdict.champion else "f0"
    table = Table("gate", "", "why", title=f"version {verdict.challenger} against {opponent}", title_justify="left")
    for gate in verdict.gates:
        why = escape(address(gate.why))
        table.add_row(escape(gate.name), "[green]pass[/]" if gate.passed else "[red]FAIL[/]", why)
    print_whole(console, table)
    if verdict.outcome == "promoted":
        previous = ("" if not verdict.champion else
                    f"; version {verdict.champion} is previous_champion (`canopy rollback` goes back)")
        say(console, f"champion is now version {verdict.challenger}{previous}", "green")
        say(console, "next: `canopy serve`, or `canopy compress \"a question\"`")
    elif verdict.outcome == "would promote":
        say(console, "every gate passes (dry run: nothing was moved)" if verdict.passed
            else "would promote by force (dry run)")
    else:
        say(console, "not promoted: the gates above say why", "red")
        say(console, "next: `canopy compress \"a question\" --alias challenger` or `canopy serve --alias challenger` "
                     "uses the model all the same; `canopy promote --force --reason \"...\"` overrules the gates")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(promote)
