"""The `canopy` program of a checkout: one module beside this one for each command."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import typer

from orchestration.machine.environment import prepare_environment

if TYPE_CHECKING:
    from orchestration.pipeline.history import Orchestrator

# The modules of the commands, in the order in which the help lists them; each has ``register(app)``.
COMMANDS = ("run", "demo", "status", "doctor", "promote", "rollback", "compress", "serve", "build", "data",
            "import_documents", "evaluate", "sweep", "ui")
_HELP = """canopy compresses what a retriever returned to the parts that answer the question.

The way through: `canopy run` (data, training, index, report, registration), `canopy promote`, then
`canopy compress "a question"` or `canopy serve`. After any change to data, parameters or code, `canopy run` again: it
reruns what the change made stale and nothing else."""


def build_app() -> typer.Typer:
    """The program with every command."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown",
                      pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
                      help=_HELP)
    for name in COMMANDS:
        importlib.import_module(f"orchestration.cli.{name}").register(app)
    return app


def main(orchestrator: Orchestrator) -> None:
    """Run the program; an error that a user can act on is one red line and exit code 1."""
    prepare_environment()
    from canopy.cli import one_line_errors
    from orchestration.machine.processes import end_like_ctrl_c
    from orchestration.pipeline.hints import speak_of

    app = build_app()
    end_like_ctrl_c()
    speak_of(None)
    with one_line_errors(_show_error):
        app(obj=orchestrator)


def _show_error(message: str) -> None:
    from rich.console import Console

    from orchestration.cli.shared import say

    say(Console(stderr=True), f"error: {message}", "red")
