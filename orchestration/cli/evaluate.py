"""`canopy evaluate`: answer the test questions with every system, and compare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canopy.errors import CanopyError
from orchestration.cli.shared import (
    Assignments,
    Benchmarks,
    ParamsFiles,
    Systems,
    Workspace,
    orchestrator_of,
    read_assignments,
    say,
    say_workspace,
    split_names,
    stoppable,
    workspace_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from canopy.config import Config


def evaluate(
    context: typer.Context,
    systems: Systems = "",
    list_only: Annotated[bool, typer.Option("--list", help=(
        "Name every system, what it needs, and whether it can run here; run nothing."))] = False,
    corpus_scopes: Annotated[str, typer.Option("--corpus-scopes", "--settings", metavar="LIST", help=(
        "Corpora to search, separated by comma: unified (all benchmarks' items), own (each benchmark's), gold "
        "(gold items given). --settings is the earlier name."))] = "",
    questions: Annotated[int | None, typer.Option(min=0, metavar="N", help=(
        "At most N test questions of each benchmark, drawn by the seed; 0: all."))] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="As for `canopy run`.")] = None,
    benchmarks: Benchmarks = "",
    workspace: Workspace = None,
    assign: Assignments = None,
    params: ParamsFiles = None,
) -> None:
    """Answer the test questions with every system, and compare.

    The tables show official scores, evidence kept, tokens and calls, with 95% intervals.

    These options are written into the workspace's params.yaml, as `--set` does it; then what is stale is run, up to the
    stage `answers` and the report. Without a language model server the LLM-free roles answer, and every table says so.
    With CANOPY_LLM_BASE_URL (and CANOPY_LLM_MODEL) set, or language.base_url in params.yaml, that server's model does;
    its key is read from CANOPY_LLM_API_KEY and written nowhere.

    Stopped or killed, the same command goes on: finished answers are kept in .canopy/work/answers, a server's replies
    in .canopy/work/llm.

    `canopy evaluate --list`

    `canopy evaluate --systems canopy,canopy-lookahead,vanilla --questions 50`

    `canopy evaluate --benchmarks hotpotqa,ott-qa --data ~/releases --corpus-scopes unified,gold`
    """
    from rich.console import Console

    from canopy.config import load_config
    from canopy.pipelines.base import find_systems
    from orchestration.cli.answers_table import show_answers
    from orchestration.cli.seconds_table import show_seconds
    from orchestration.cli.system_listing import show_systems
    from orchestration.pipeline.params_file import set_params
    from orchestration.pipeline.rerun import rerun

    names = [n for n in split_names([systems]) if n != "all"]
    find_systems(names)
    root, console = workspace_of(data, split_names([benchmarks]), workspace), Console()
    if list_only:
        say_workspace(root, console)
        show_systems(root, load_config(root / "params.yaml"), console)
        return
    options = [f"answers.systems=[{', '.join(names)}]"] if systems.strip(", ") else []
    options += [f"answers.corpus_scopes=[{', '.join(split_names([corpus_scopes]))}]"] if corpus_scopes else []
    options += [f"answers.questions={questions}"] if questions is not None else []
    set_params(root, [*read_assignments(params, None), *options, *(assign or [])])
    set_params(root, server_of_environment(load_config(root / "params.yaml"), console))
    say_workspace(root, console)
    with stoppable():
        result = rerun(root, orchestrator_of(context), select=["+report"], console=console)
    if result.short:
        raise CanopyError("; ".join(f"{task}: {what}" for task, what in result.short.items()))
    config = load_config(root / "params.yaml")
    count = show_answers(root, config, console)
    for name in config.benchmarks:
        show_seconds(root, name, console)
    say(console, f"report: {root / 'data' / 'report' / 'report.html'}")
    if not count:
        raise CanopyError("none of the systems could run here; the table above says what each needs")


def server_of_environment(config: Config, console: Console) -> list[str]:
    """Assignments that name the environment's server, if params.yaml names none.

    Results must not depend on what no stage declares, so that the server's address goes into params.yaml. If
    params.yaml names another server or model, a line says that the environment's is not used.

    Returns
    -------
    list of str
        For ``set_params``; empty if there is nothing to write.
    """
    environment = {key: os.environ.get(f"CANOPY_LLM_{key.upper()}", "").strip() for key in ("base_url", "model")}
    current = {"base_url": config.language.base_url.strip(), "model": config.language.model.strip()}
    url, model = environment["base_url"], environment["model"]
    if current["base_url"] or not url:
        for key, value in environment.items():
            if value and current[key] and value.rstrip("/") != current[key].rstrip("/"):
                say(console, f"CANOPY_LLM_{key.upper()} ({value}) is not used: params.yaml names {current[key]}; "
                             f"--set language.{key}={value} changes that", "yellow")
        return []
    say(console, "language model server of CANOPY_LLM_BASE_URL: written into params.yaml as language.base_url "
                 f"({url})", "dim")
    return [f"language.base_url={url}", *([f"language.model={model}"] if model and not current["model"] else [])]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(evaluate)
