"""What the program's commands have in common: the option that names a workspace, lists of names, and what Ctrl-C does, how tables are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canopy.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from orchestration.pipeline.history import Orchestrator

Workspace = Annotated[Path | None, typer.Option("--workspace", envvar="CANOPY_WORKSPACE", metavar="DIR", help=(
    "Folder with dvc.yaml, params.yaml and data/. Unless said: the current folder where it is one, else the checkout."))]


def orchestrator_of(context: typer.Context) -> Orchestrator:
    """The orchestrator that `main` was given."""
    orchestrator: Orchestrator = context.obj
    return orchestrator


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C, and what counts as one, ends the command with a word about what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        from rich.console import Console

        Console(stderr=True).print("stopped; what was finished is kept, and the same command goes on from there", style="yellow")
        raise typer.Exit(130) from None


def width_of(table: Table, console: Console) -> int:
    """Columns that a table takes where nothing is wrapped."""
    return console.measure(table, options=console.options.update(width=10_000)).maximum


def print_whole(console: Console, table: Table) -> None:
    """Print a table; a file or a pipe has no edge, so that nothing is wrapped there."""
    before = console.width
    console.width = before if console.is_terminal else max(before, width_of(table, console))
    console.print(table)
    console.width = before


def split_names(lists: Sequence[str]) -> list[str]:
    """Names in lists that are separated by comma or space."""
    return [name for text in lists for name in re.split(r"[,\s]+", text) if name]


def workspace_of(data: Path | None, names: Sequence[str], option: Path | None) -> Path:
    """The workspace that a command's options mean; made where it is not there yet."""
    from canopy.config import load_config
    from orchestration.pipeline.workspace import benchmarks_at, make_workspace, select_workspace, workspace_for

    if data is None and not names:
        return select_workspace(option)
    if data is None:
        root = select_workspace(option)
        if set(names) == set(load_config(root / "params.yaml").benchmarks):
            return root
        raise DataError(f"--benchmarks {','.join(names)}: say where their release files are with --data DIR")
    found = benchmarks_at(data, names)
    return make_workspace(option or workspace_for(found), found)
