"""What `canopy evaluate --list` says: every system, what it needs, and whether it can run in a workspace."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.errors import ServerError

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.config import Config
    from canopy.pipelines.availability import Situation

_WIDEST = 120  # longer lines are hard to follow


def show_systems(root: Path, config: Config, console: Console) -> None:
    """A paragraph for every system: its name and whether it can run here, what it is, what it needs, and each thing that keeps it from running.

    On a terminal, lines are wrapped between words; in a file or a pipe each statement is one line, so that they can be searched.
    """
    from rich.text import Text

    from canopy.pipelines.availability import describe_needs, find_obstacles
    from canopy.pipelines.base import all_systems

    here, server, trouble = situation_of(root, config)
    width = min(console.width, _WIDEST) if console.is_terminal else 0

    def say(text: str, indent: str = "    ", style: str = "") -> None:
        lines = [indent + text]
        if width:  # names and addresses stay whole, to be copied
            lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=f"{indent}  " if indent else "", break_long_words=False, break_on_hyphens=False)
        for line in lines:
            console.print(Text(line, style), soft_wrap=True)

    able = 0
    for name, spec in all_systems().items():
        told, needs = find_obstacles(spec, here), describe_needs(spec)
        able += not told
        console.print(Text.assemble((name, "bold"), ": ", ("can run here", "green") if not told else ("cannot run here", "yellow")), soft_wrap=True)
        say(spec.says)
        if needs:
            say(f"needs {needs}", style="dim")
        for why in told:
            say(f"why not: {why}")
    console.print()
    say(f"{able} of {len(all_systems())} systems can run in {root}.", "")
    if trouble:
        say(f"{trouble}; while params.yaml or the environment names it, no system can run", "", "red")
    elif server:
        say(f"Read by the model at {server}.", "")
    else:
        say("No language model server is set: the LLM-free roles read, judge and route. Their answers are no measure of a language model's.", "")


def situation_of(root: Path, config: Config) -> tuple[Situation, str, str]:
    """What systems can count on in a workspace, the server's address, and what is wrong with it (empty where nothing is)."""
    from canopy.llm.connect import named_server
    from canopy.pipelines.availability import Situation, find_models

    server, trouble = "", ""
    try:
        server = named_server(config.language)
        if server:
            ask_for_models(server)
    except ServerError as e:
        trouble = str(e)
    made = root / "data" / "node_embeddings"
    # f0 and f_theta are made on the way; others where something made them.
    scorers = {"f0", "f_theta", *(p.name for p in made.glob("*") if (p / "manifest.json").is_file())}
    return Situation(bool(server) and not trouble, find_models(config.answers.models, root), config.answers.models, frozenset(scorers), True), server, trouble


def ask_for_models(server: str) -> None:
    """Whether a server answers at all; ServerError where it does not. Asked once and not for long: this is a look, no run."""
    from canopy.llm.client import ChatClient
    from canopy.llm.connect import KEY
    from canopy.llm.wire import Server

    ChatClient(Server(server, "", os.environ.get(KEY, "").strip(), concurrency=1, timeout_seconds=5.0, tries=1)).models()
