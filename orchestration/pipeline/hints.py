"""The commands that messages tell people to type: as they called the program, and about the same workspace.

Rooms below know neither, so that they write `` `canopy run` ``; whatever prints such a message passes it through
`address`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextvars import ContextVar
from pathlib import Path

from orchestration.pipeline.workspace import ENVIRONMENT, default_workspace

# Commands that take --workspace; `data` and `import` speak of folders.
ABOUT_A_WORKSPACE = frozenset((
    "build", "compress", "demo", "doctor", "evaluate", "promote", "rollback", "run", "serve", "status", "sweep", "ui"))
# "another `canopy run` is at work" names a process, not something to type.
_HINT = re.compile(r"(?<!another )`canopy (?P<command>[a-z]+)(?P<arguments> [^`]*)?`")
_WORKSPACE: ContextVar[Path | None] = ContextVar("workspace", default=None)


def speak_of(workspace: Path | None) -> None:
    """Let every message from here on be about this workspace; None: about none yet."""
    _WORKSPACE.set(workspace)


def program(*, anywhere: bool = False) -> str:
    """The program as a shell takes it: ``canopy`` if it is on the path, otherwise its file."""
    called = Path(sys.argv[0])
    if called.name == "program.py" or anywhere:  # python -m assets.program, or a tool's own process
        called = Path(sys.executable).with_name("canopy")
    on_path = shutil.which("canopy")
    if called.name != "canopy" or not called.is_file() or (on_path and os.path.samefile(on_path, called)):
        return "canopy"
    full = Path(os.path.abspath(called))
    return shlex.quote(str(full) if anywhere else _short(full, inside="./"))


def command(*arguments: str, workspace: Path | None = None) -> str:
    """A command line to type, each argument quoted as the shell needs it.

    Parameters
    ----------
    workspace : Path, optional
        What it is about; it is named unless the command would choose that one by itself. None: about no workspace.
    """
    return " ".join([program(), *map(_quote, arguments), *_option(workspace, anywhere=False)])


def address(message: str, workspace: Path | None = None, *, anywhere: bool = False) -> str:
    """The message with its commands in backticks made such that they run as they stand, as `command` writes them.

    Parameters
    ----------
    workspace : Path, optional
        What it is about; otherwise the workspace that the running command speaks of.
    anywhere : bool
        The message is not read where this process runs, as in a tool's page: the workspace is named in any case.
    """
    option = _option(workspace or _WORKSPACE.get(), anywhere=anywhere)

    def complete(hint: re.Match[str]) -> str:
        name, arguments = hint["command"], (hint["arguments"] or "").strip()
        chosen = name not in ABOUT_A_WORKSPACE or "--workspace" in arguments or "--data" in arguments
        words = [program(anywhere=anywhere), name, *([arguments] if arguments else []), *([] if chosen else option)]
        return f"`{' '.join(words)}`"

    return _HINT.sub(complete, message)


def _option(workspace: Path | None, *, anywhere: bool) -> list[str]:
    if workspace is None:
        return []
    folder = workspace.resolve()
    # A variable may stand before one command only, so that it does not make the next one choose the same workspace.
    if not anywhere and not os.environ.get(ENVIRONMENT) and folder == default_workspace().resolve():
        return []
    return ["--workspace", shlex.quote(str(folder) if anywhere else _short(folder))]


def _short(path: Path, inside: str = "") -> str:
    """The path from the current folder if it lies in it, otherwise the full one."""
    here = Path.cwd()
    if not path.is_relative_to(here) or path == here:
        return str(path)
    relative = str(path.relative_to(here))
    return relative if os.sep in relative or not inside else inside + relative


def _quote(argument: str) -> str:
    """Quoted in double quotes, which read better, unless the shell would expand something in them."""
    if shlex.quote(argument) == argument or any(c in argument for c in '"$`\\!'):
        return shlex.quote(argument)
    return f'"{argument}"'
