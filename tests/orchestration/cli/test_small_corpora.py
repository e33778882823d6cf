"""A few everyday files and a few questions: every command says what is missing and what to type next, and that runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from orchestration.cli.main import build_app
from tests.orchestration.project import ROOT

FILES = {
    "bread.md": "# Bread\n\n## Rye\n\nRye bread rises for eleven hours. It bakes at 210 °C. Cool it on a rack.\n\n"
                "## Wheat\n\nWheat bread rises for two hours. It bakes at 230 °C for thirty minutes.\n",
    "garden.txt": "The garden has forty apple trees. Miss Alder planted them in 1962. The juice is sold in autumn.\n",
    "hours.csv": "Day,Opens,Closes\nMonday,9:00,17:00\nTuesday,9:00,19:00\n",
    "lake.html": "<title>Lake Brun</title><p>Lake Brun is 31 metres deep. Swans nest there. The ferry is slow.</p>",
}
QUESTIONS = ("question,answers\nHow long does rye bread rise?,eleven hours\nWho planted the apple trees?,Miss Alder\n"
             "How deep is Lake Brun?,31 metres\n")
QUICK = ("--set", "answers.systems=[vanilla, canopy]", "--set", "answers.budgets=[]", "--set", "training.epochs=1",
         "--set", "evaluation.resamples=100")
Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a blank in its name: documents, questions, and room for workspaces."""
    folder = tmp_path_factory.mktemp("few") / "my papers"
    (folder / "docs").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / "docs" / name).write_text(content, "utf-8")
    (folder / "faq.csv").write_text(QUESTIONS, "utf-8")
    return folder


@pytest.fixture(scope="module")
def program(folder: Path) -> Program:
    """Run the program in the folder; its output, all of it, has no traceback."""
    env = {k: v for k, v in os.environ.items() if k not in ("CANOPY_WORKSPACE", "DAGSTER_HOME")}
    env |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        result = subprocess.run([sys.executable, "-m", "assets.program", *arguments], cwd=folder, env=env, timeout=500,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert "Traceback" not in result.stdout, result.stdout
        return result

    return run


def hints(output: str) -> list[list[str]]:
    """The arguments of every command that an output tells to type, in backticks or on lines after next:."""
    program = r"((?:[^\s`]*/)?canopy "
    lines = re.findall(rf"(?<!another )`{program}[^`]*)`", output)
    lines += re.findall(rf"^(?:next:)? +{program}.*?)(?:  +#.*)?$", output, re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines]


def parse(arguments: list[str]) -> dict[str, Any]:
    """The options of a command line, as the program reads them."""
    commands: Any = typer.main.get_command(build_app())
    return dict(commands.commands[arguments[0]].make_context(arguments[0], arguments[1:]).params)


def check_hints(output: str, workspace: Path, folder: Path) -> list[list[str]]:
    """Every hint parses, and what speaks of a workspace names this one."""
    commands = hints(output)
    for arguments in commands:
        options = parse(list(arguments))
        if "workspace" in options and not options.get("data") and not options.get("files"):
            assert (folder / options["workspace"]).resolve() == workspace.resolve(), arguments
    return commands


@pytest.mark.slow
def test_three_questions_all_the_way(folder: Path, program: Program) -> None:
    workspace = folder / "work space"
    imported = program("import", "docs", "three", "--questions", "faq.csv")
    (run_it,) = hints(imported.stdout)
    assert run_it == ["run", "--data", "three"]
    result = program(*run_it, "--workspace", str(workspace), *QUICK)
    assert result.returncode == 0, result.stdout
    commands = check_hints(result.stdout, workspace, folder)
    assert [c[0] for c in commands] == ["promote", "compress", "serve", "ui"]

    judged = program(*commands[0])
    assert judged.returncode == 1 and f"workspace {workspace}" in judged.stdout
    assert "on at least 6 test questions: there is 1" in judged.stdout
    after = check_hints(judged.stdout, workspace, folder)
    assert [c[:1] for c in after] == [["compress"], ["serve"], ["promote"]] and "challenger" in after[0]

    asked = program(*commands[1])
    assert asked.returncode == 1 and "--alias challenger" in asked.stdout and f"workspace {workspace}" in asked.stdout
    assert "promote" in {c[0] for c in check_hints(asked.stdout, workspace, folder)}
    answer = program(*after[0])
    assert answer.returncode == 0 and f"workspace {workspace}" in answer.stdout
    assert "canopy-node-encoder version 1" in answer.stdout

    refused = program(*commands[2])
    assert refused.returncode == 1 and "--alias challenger" in refused.stdout
    for command in ("status", "rollback", "doctor", "build"):
        shown = program(command, "--workspace", str(workspace))
        assert f"workspace {workspace}" in shown.stdout, shown.stdout
        check_hints(shown.stdout, workspace, folder)


@pytest.mark.slow
def test_without_questions_a_run_says_what_is_missing(folder: Path, program: Program) -> None:
    workspace = folder / "none"
    assert "no questions" in program("import", "docs", "no questions").stdout
    result = program("run", "--data", "no questions", "--workspace", str(workspace))
    assert result.returncode == 0 and "node_encoder is left out" in result.stdout, result.stdout
    assert "(0 questions): training needs questions" in result.stdout
    commands = check_hints(result.stdout, workspace, folder)
    assert [c[0] for c in commands] == ["run", "compress"] and "error" not in result.stdout
    kept = program(*commands[1])
    assert kept.returncode == 0 and "tokens" in kept.stdout, kept.stdout
    again = program(*commands[0])
    assert again.returncode == 0 and "node_encoder is left out" in again.stdout
    for command in (["promote"], ["compress", "Why?"], ["evaluate"]):
        refused = program(*command, "--workspace", str(workspace))
        assert refused.returncode == 1 and "error: " in refused.stdout.splitlines()[-1], refused.stdout
        check_hints(refused.stdout, workspace, folder)
