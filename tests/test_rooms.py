"""Imports between the rooms go one way, and heavy libraries are not imported where a program only starts."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("canopy", "serving", "orchestration", "assets")
MAY = {"canopy": set(), "serving": {"canopy"}, "orchestration": {"canopy"}, "assets": {"canopy", "orchestration"}}
# Where the program, an entry point of orchestration, opens the door to a room that stands on it or beside it.
DOORS = {"assets/definitions.py": {"assets"}, "orchestration/cli/models.py": {"serving"}, "orchestration/models/deployment.py": {"serving"},
         "orchestration/models/bento.py": {"serving"}}
TOOLS = {"dagster", "mlflow", "dvc", "bentoml", "great_expectations"}
HEAVY = ("torch", "transformers", "mlflow", "bentoml", "great_expectations", "faiss", "matplotlib", "pandas")
FILES = [f for room in ROOMS for f in sorted((ROOT / room).rglob("*.py"))]


def imported(file: Path, *, at_top: bool = False) -> set[str]:
    """First names (of our rooms: the whole module) that a file imports; with ``at_top``, as soon as it is imported itself."""
    tree, found = ast.parse(file.read_text("utf-8")), set()
    for node in tree.body if at_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module}
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_go_one_way(file: Path) -> None:
    room = file.relative_to(ROOT).parts[0]
    rooms = {m.split(".")[0] for m in imported(file)} & set(ROOMS) - {room}
    allowed = MAY[room] | DOORS.get(str(file.relative_to(ROOT)), set())
    assert rooms <= allowed, f"{file.relative_to(ROOT)} imports {sorted(rooms - allowed)}"


def test_the_program_starts_without_the_service() -> None:
    assert not {m for m in imported(ROOT / "orchestration" / "cli_model.py", at_top=True) if m.startswith("serving")}


@pytest.mark.parametrize("file", [f for f in FILES if f.is_relative_to(ROOT / "canopy")], ids=lambda f: str(f.relative_to(ROOT)))
def test_the_method_knows_no_tool(file: Path) -> None:
    assert {m.split(".")[0] for m in imported(file)} & TOOLS == set()


def test_only_one_file_uses_dvc() -> None:
    assert [f.name for f in FILES if "dvc" in {m.split(".")[0] for m in imported(f)}] == ["dvc_graph.py"]


def test_only_one_file_uses_dagsters_private_modules() -> None:
    assert [f.name for f in FILES if any(m.startswith("dagster._") for m in imported(f))] == ["staleness.py"]


def test_no_file_is_too_long() -> None:
    assert {str(f): n for f in FILES if (n := len(f.read_text("utf-8").splitlines())) > 400} == {}


@pytest.mark.parametrize("module", ["orchestration.cli.main", "orchestration.cli.models", "assets.definitions", "orchestration.pipeline.stage"])
def test_starting_a_program_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, json, {module}; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_only_one_file_uses_great_expectations() -> None:
    assert [f.name for f in FILES if any(m.split(".")[0] == "great_expectations" for m in imported(f))] == ["expectations.py"]
