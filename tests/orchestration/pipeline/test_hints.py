"""Commands that messages name run as they are printed, about the workspace that the message is about."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestration.cli.main import build_app
from orchestration.pipeline.hints import ABOUT_A_WORKSPACE, address, command, program, speak_of
from orchestration.pipeline.workspace import ENVIRONMENT, code_root, make_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace in a folder with a blank in its name, beside the current folder."""
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    yield make_workspace(tmp_path / "my work", {"docs": {"adapter": "native", "path": "/docs"}})
    speak_of(None)


def test_a_command_names_its_workspace_unless_it_would_choose_that_one(
        workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shlex.split(command("promote", workspace=workspace)) == ["canopy", "promote", "--workspace", str(workspace)]
    assert command("promote", workspace=code_root()) == command("promote") == "canopy promote"
    monkeypatch.chdir(workspace.parent)
    assert command("compress", "a question", workspace=workspace) == (
        "canopy compress \"a question\" --workspace 'my work'")
    monkeypatch.chdir(workspace)
    assert command("promote", workspace=workspace) == "canopy promote"
    assert shlex.split(command("run", workspace=code_root()))[2:] == ["--workspace", str(code_root())]


def test_a_workspace_from_the_environment_is_named(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(workspace))  # as in `CANOPY_WORKSPACE=... canopy run`, gone for the next one
    for folder in (workspace, code_root()):
        monkeypatch.chdir(folder)
        assert "--workspace" in command("promote", workspace=workspace)


@pytest.mark.parametrize("argument", ["a question", "it's", 'say "hi"', "$HOME", "`ls`", "a\\b", "plain", "ü;x", "!"])
def test_arguments_are_quoted_for_the_shell(argument: str) -> None:
    assert shlex.split(command("compress", argument)) == ["canopy", "compress", argument]


def test_messages_of_rooms_below_get_the_workspace(workspace: Path) -> None:
    name = shlex.quote(str(workspace))
    message = "run `canopy run --force benchmark` or `canopy compress \"a question\"`; see `canopy data fetch`"
    assert address(message) == message
    option = f"--workspace {name}"
    assert address(message, workspace) == (
        f"run `canopy run --force benchmark {option}` or `canopy compress \"a question\" {option}`; "
        "see `canopy data fetch`")
    speak_of(workspace)
    assert address("`canopy run`") == f"`canopy run --workspace {name}`"
    for whole in ("`canopy run --data DIR`", f"`canopy run --workspace {name}`", "another `canopy run` is at work",
                  "`dvc status`", "canopy run"):
        assert address(whole) == whole


def test_every_command_that_takes_a_workspace_is_known() -> None:
    import typer.main

    commands = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
    takes = {name for name, c in commands.items() if any("--workspace" in p.opts for p in c.params)}
    assert takes == ABOUT_A_WORKSPACE


def test_the_program_is_named_as_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bin" / "canopy"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "argv", [str(file), "run"])
    assert program() == str(file)
    monkeypatch.chdir(tmp_path)
    assert program() == "bin/canopy"
    monkeypatch.chdir(file.parent)
    assert program() == "./canopy"
    monkeypatch.setenv("PATH", str(file.parent))
    assert program() == "canopy"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert program() == "canopy"


def test_what_is_read_anywhere_names_everything_in_full(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    words = shlex.split(address("`canopy promote`", workspace, anywhere=True).strip("`"))
    assert words[1:] == ["promote", "--workspace", str(workspace)] and Path(words[0]).name == "canopy"
