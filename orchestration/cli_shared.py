"""What the program's commands have in common: the option that names a workspace, lists of names, and what Ctrl-C does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from canopy.errors import DataError

Workspace = Annotated[Path | None, typer.Option("--workspace", envvar="CANOPY_WORKSPACE", metavar="DIR", help=(
    "Folder with dvc.yaml, params.yaml and data/. Unless said: the current folder where it is one, else the checkout."))]


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C, and what counts as one, ends the command with a word about what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        from rich.console import Console

        Console(stderr=True).print("stopped; what was finished is kept, and the same command goes on from there", style="yellow")
        raise typer.Exit(130) from None


def split_names(lists: Sequence[str]) -> list[str]:
    """Names in lists that are separated by comma or space."""
    return [name for text in lists for name in re.split(r"[,\s]+", text) if name]


def workspace_of(data: Path | None, names: Sequence[str], option: Path | None) -> Path:
    """The workspace that a command's options mean; made where it is not there yet."""
    from canopy.config import load_config
    from orchestration.workspace import benchmarks_at, make_workspace, select_workspace, workspace_for

    if data is None and not names:
        return select_workspace(option)
    if data is None:
        root = select_workspace(option)
        if set(names) == set(load_config(root / "params.yaml").benchmarks):
            return root
        raise DataError(f"--benchmarks {','.join(names)}: say where their release files are with --data DIR")
    found = benchmarks_at(data, names)
    return make_workspace(option or workspace_for(found), found)
