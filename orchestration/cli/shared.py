"""What the program's commands share: options, lists of names, how tables are printed, and what Ctrl-C does."""

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
    "Folder with dvc.yaml, params.yaml and data/. Default: the current folder if it is one, otherwise the checkout."))]
Benchmarks = Annotated[str, typer.Option(
    "--benchmarks", metavar="LIST", help="Benchmarks under --data, separated by comma or space: hotpotqa,ott-qa.")]
Alias = Annotated[str, typer.Option(
    "--alias", help="Which registered version: champion, challenger or previous_champion.")]
Systems = Annotated[str, typer.Option("--systems", metavar="LIST", help=(
    "Systems, separated by comma; `all`: every one that can run here. Default: those of params.yaml."))]
Assignments = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=(
    "Write a parameter into the workspace's params.yaml first; may be repeated. In the checkout that is a tracked "
    "file."))]
ParamsFiles = Annotated[list[Path] | None, typer.Option("--params", metavar="FILE", help=(
    "Write a file's parameters into the workspace's params.yaml first, before --set: params/qwen3_vl.yaml is the "
    "paper's encoder."))]


def orchestrator_of(context: typer.Context) -> Orchestrator:
    """The orchestrator that `main` was given."""
    orchestrator: Orchestrator = context.obj
    return orchestrator


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends the command with exit code 130 and a line that says what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        from rich.console import Console

        Console(stderr=True).print("stopped; what was finished is kept, and the same command goes on from there",
                                   style="yellow")
        raise typer.Exit(130) from None


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print one line as it is: no markup, no highlighting, no line breaks of Rich's own.

    Commands in backticks become such that they run as they stand (see `orchestration.pipeline.hints`).
    """
    from orchestration.pipeline.hints import address

    console.print(address(line), style=style, markup=False, highlight=False, soft_wrap=True)


def width_of(table: Table, console: Console) -> int:
    """Columns of the terminal that a table takes if nothing is wrapped."""
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


def read_assignments(params: Sequence[Path] | None, assign: Sequence[str] | None) -> list[str]:
    """The parameters that ``--params`` and ``--set`` name, in the order in which they are written."""
    from orchestration.pipeline.params_file import read_overlay

    return [*(pair for file in params or () for pair in read_overlay(file)), *(assign or ())]


def workspace_of(data: Path | None, names: Sequence[str], option: Path | None) -> Path:
    """The workspace that a command's options mean; it is made if it does not exist.

    Parameters
    ----------
    data : Path or None
        The option ``--data``.
    names : sequence of str
        The benchmarks of ``--benchmarks``.
    option : Path or None
        The option ``--workspace``.

    Raises
    ------
    DataError
        If benchmarks are named without their folder, or the folder holds none.
    """
    from canopy.config import load_config
    from orchestration.pipeline.data_options import benchmarks_at, workspace_for
    from orchestration.pipeline.hints import speak_of
    from orchestration.pipeline.workspace import make_workspace

    if data is None:
        root = open_workspace(option)
        if not names or set(names) == set(load_config(root / "params.yaml").benchmarks):
            return root
        raise DataError(f"--benchmarks {','.join(names)}: say where their release files are with --data DIR")
    benchmarks = benchmarks_at(data, names)
    root = make_workspace(option or workspace_for(benchmarks), benchmarks)
    speak_of(root)
    return root


def open_workspace(option: Path | None) -> Path:
    """The workspace that ``--workspace`` or the place names; messages from here on are about it.

    Raises
    ------
    DataError
        If the folder that was named is no workspace.
    """
    from orchestration.pipeline.hints import speak_of
    from orchestration.pipeline.workspace import select_workspace

    root = select_workspace(option)
    speak_of(root)
    return root


def say_workspace(root: Path, console: Console) -> None:
    """Print which workspace a command speaks of."""
    say(console, f"workspace {root}", "dim")
