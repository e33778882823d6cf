"""`canopy evaluate --list`: every system, what it needs, and whether it can run in a workspace."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.errors import ServerError

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.config import Config
    from canopy.pipelines.availability import Situation

_WIDEST = 120  # longer lines are hard to follow


@dataclass(frozen=True, slots=True)
class Workplace:
    """What systems can use in a workspace, the language model server's address, and what is wrong with the server."""

    situation: Situation
    server: str = ""
    trouble: str = ""


def show_systems(root: Path, config: Config, console: Console) -> None:
    """Print a paragraph for every system: what it is, what it needs, and each thing that keeps it from running.

    On a terminal, lines are wrapped between words; in a file or a pipe each statement is one line, so that they can be
    searched.
    """
    from rich.text import Text

    from canopy.pipelines.availability import describe_needs, find_obstacles
    from canopy.pipelines.base import all_systems

    workplace = inspect_workspace(root, config)
    width = min(console.width, _WIDEST) if console.is_terminal else 0

    def say(text: str, indent: str = "    ", style: str = "") -> None:
        lines = [indent + text]
        if width:  # names and addresses stay whole, to be copied
            lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  " if indent else "",
                                  break_long_words=False, break_on_hyphens=False)
        for line in lines:
            console.print(Text(line, style), soft_wrap=True)

    count = 0
    for name, spec in all_systems().items():
        obstacles, needs = find_obstacles(spec, workplace.situation), describe_needs(spec)
        count += not obstacles
        verdict = ("cannot run here", "yellow") if obstacles else ("can run here", "green")
        console.print(Text.assemble((name, "bold"), ": ", verdict), soft_wrap=True)
        say(spec.says)
        if needs:
            say(f"needs {needs}", style="dim")
        for obstacle in obstacles:
            say(f"why not: {obstacle}")
    console.print()
    say(f"{count} of {len(all_systems())} systems can run in {root}.", "")
    if workplace.trouble:
        say(f"{workplace.trouble}; while params.yaml or the environment names it, no system can run", "", "red")
    elif workplace.server:
        say(f"Read by the model at {workplace.server}.", "")
    else:
        say("No language model server is set: the LLM-free roles read, judge and route. Their answers are no measure "
            "of a language model's.", "")


def inspect_workspace(root: Path, config: Config) -> Workplace:
    """Look up the server, the models on this machine and the node scores of a workspace."""
    from canopy.llm.connect import named_server
    from canopy.pipelines.availability import Situation, find_models

    server, trouble = "", ""
    try:
        server = named_server(config.language)
        if server:
            ask_for_models(server)
    except ServerError as e:
        trouble = str(e)
    # The pipeline makes f0 and f_theta before it answers; others count if they exist.
    stores = (root / "data" / "node_embeddings").glob("*")
    scorers = {"f0", "f_theta", *(p.name for p in stores if (p / "manifest.json").is_file())}
    models = config.answers.models
    situation = Situation(bool(server) and not trouble, find_models(models, root), models, frozenset(scorers), True)
    return Workplace(situation, server, trouble)


def ask_for_models(server: str) -> None:
    """Ask a server once which models it has, with a short deadline.

    Raises
    ------
    ServerError
        If it does not answer.
    """
    from canopy.llm.client import ChatClient
    from canopy.llm.connect import KEY
    from canopy.llm.wire import Server

    key = os.environ.get(KEY, "").strip()
    ChatClient(Server(server, "", key, concurrency=1, timeout_seconds=5.0, tries=1)).models()
