"""Every shell and Python block of the documents runs as printed, or says that it needs a GPU or a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import BLOCKS, PAGES, REASONS, ROOT, Block

SHELL = [b for b in BLOCKS if b.language in ("sh", "bash", "shell", "console")]
PYTHON = [b for b in BLOCKS if b.language == "python"]
PAGES_WITH_COMMANDS = sorted({b.page for b in SHELL if not b.reason})


def test_every_block_names_its_language() -> None:
    assert [b.name for b in BLOCKS if not b.language] == []
    assert len(PYTHON) >= 4 and len(SHELL) >= 12


def test_blocks_that_do_not_run_say_what_they_need() -> None:
    assert [b.name for b in BLOCKS if b.reason and not b.reason.startswith(REASONS)] == []
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for block in (b for b in BLOCKS if b.reason.startswith(".ci/run")):
        commands = [line.partition("#")[0].strip() for line in block.code.splitlines() if line.strip()]
        assert [c for c in commands if c not in ci.splitlines()] == [], block.name


def test_json_blocks_are_json() -> None:
    for block in (b for b in BLOCKS if b.language == "json"):
        assert all(json.loads(line) for line in block.code.splitlines()), block.name


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 800


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
        rooms = "canopy|orchestration|assets|serving|tests|bench|params"
        for path in re.findall(rf"`((?:{rooms})/[\w./]+)`", page.read_text("utf-8")):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


@pytest.mark.parametrize("block", PYTHON, ids=lambda b: b.name)
def test_python_blocks_run(block: Block, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", block.code]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert run.returncode == 0, f"{block.name}\n{run.stderr}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, documents: Path) -> Path:
    """A copy of the checkout over a tiny benchmark, run once, with a champion.

    The home folder beside it holds what the documents name.
    """
    folder = tmp_path_factory.mktemp("docs")
    copy, home = folder / "canopy", folder / "home"
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    left_out = ("tests/", "docs/images/")
    for name in (f for f in listing.split("\0") if (ROOT / f).is_file() and not f.startswith(left_out)):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    params = yaml.safe_load((copy / "params.yaml").read_text("utf-8"))
    params["benchmarks"] = {"tiny": {"adapter": "native", "path": str(documents)}}
    params["training"] |= {"epochs": 1, "batch": 2}
    params["evaluation"]["resamples"] = 100
    params["ingest"]["max_quarantined_share"] = 1.0  # the hand-made releases are full of bad records
    params["answers"] |= {"systems": ["vanilla", "canopy"], "budgets": [0.3]}
    params["promotion"] = {"metric": "decision_accuracy", "min_difference": -1.0, "require_interval_above": False}
    (copy / "params.yaml").write_text(yaml.safe_dump(params), "utf-8")
    handbook = home / "handbook"
    handbook.mkdir(parents=True)
    items = [json.loads(line) for line in (documents / "items.jsonl").read_text("utf-8").splitlines()]
    questions = [json.loads(line) for line in (documents / "questions.jsonl").read_text("utf-8").splitlines()]
    for item in items:
        (handbook / f"{item['id']}.txt").write_text(item["text"], "utf-8")
    rows = ["question,answers", *(f'"{q["question"]}","{q["answers"][0]}"' for q in questions)]
    (home / "faq.csv").write_text("\n".join(rows), "utf-8")
    releases = home / "releases"
    releases.mkdir()
    for name in ("hotpotqa", "ott-qa", "tat-qa"):
        shutil.copytree(ROOT / "tests" / "data" / name, releases / name)
    run_block("canopy run && canopy promote", copy)
    return copy


def run_block(code: str, checkout: Path) -> None:
    """Run a shell block in the copied checkout with the program on the path, its home beside it."""
    bin_folder = checkout.parent / "bin"
    bin_folder.mkdir(exist_ok=True)
    program = bin_folder / "canopy"
    program.write_text(f"#!{sys.executable} -Wignore\nfrom canopy.cli import main\nmain()\n", "utf-8")
    program.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k not in ("CANOPY_WORKSPACE", "DAGSTER_HOME")}
    folders = [str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]]
    env |= {"PYTHONPATH": str(checkout), "HOME": str(checkout.parent / "home"), "COLUMNS": "200",
            "OMP_NUM_THREADS": "2", "PATH": os.pathsep.join(folders)}
    command = ["bash", "-euo", "pipefail", "-c", code]
    run = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, f"{code}\n{run.stdout}\n{run.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_shell_blocks_run(page: str, checkout: Path) -> None:
    for block in (b for b in SHELL if b.page == page and not b.reason):
        run_block(block.code, checkout)
