"""The program: help that teaches, one-line errors, and runs that survive being stopped."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.orchestration.project import ROOT


def canopy(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    env = {k: v for k, v in os.environ.items() if k not in ("CANOPY_WORKSPACE", "DAGSTER_HOME")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200", **options.pop("env_extra", {})}
    return subprocess.run([sys.executable, "-m", "assets.program", *arguments], capture_output=True, text=True,
                          timeout=500, env=env, cwd=options.pop("cwd", ROOT), **options)


def test_help_teaches() -> None:
    shown = canopy("run", "--help").stdout
    assert "canopy run --data ~/handbook" in shown and "--stale" in shown
    assert {"run", "status", "doctor", "promote", "compress", "serve"} <= set(canopy("--help").stdout.split())


@pytest.mark.parametrize(("arguments", "message"), [
    (["run", "--data", "/nowhere"], "error: /nowhere: no such folder"),
    (["run", "--benchmarks", "hotpotqa"],
     "error: --benchmarks hotpotqa: say where their release files are with --data DIR"),
    (["status", "--workspace", "/tmp"], "error: /tmp: no workspace"),
])
def test_errors_are_one_line(arguments: list[str], message: str) -> None:
    result = canopy(*arguments)
    assert result.returncode == 1 and result.stderr.startswith(message), result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["data", "list"], ["--help"], ["compress", "How long?", "{nile}"]])
def test_a_full_disk_is_one_line_and_a_closed_pipe_none(arguments: list[str], tmp_path: Path) -> None:
    nile = tmp_path / "nile.txt"
    nile.write_text("The Nile flows north. It is 6,650 km long. Its delta is fertile.")
    command = shlex.join([sys.executable, "-m", "assets.program", *(a.format(nile=nile) for a in arguments)])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for unbuffered in ("", "1"):
        shell = subprocess.run(["bash", "-c", f"{command} > /dev/full"], env={**env, "PYTHONUNBUFFERED": unbuffered},
                               capture_output=True, text=True)
        assert shell.returncode == 1
        assert shell.stderr == "error: the output cannot be written: No space left on device\n"
    shell = subprocess.run(["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], env=env, capture_output=True,
                           text=True)
    assert shell.returncode in (0, 1) and shell.stderr == ""


def test_tables_are_whole_in_a_pipe() -> None:
    shown = canopy("data", "list", env_extra={"COLUMNS": "80"}).stdout
    assert "natural_questions" in shown and "https://github.com/wenhuchen/OTT-QA" in shown and "…" not in shown


def test_the_stage_command_says_what_it_wants(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orchestration.pipeline.stage"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2
    assert "usage: python -m orchestration.pipeline.stage NAME [BENCHMARK]" in result.stderr
    result = subprocess.run([*command, "benchmark", "nope"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.count("\n") == 1 and "nope" in result.stderr


@pytest.mark.slow
def test_doctor() -> None:
    result = canopy("doctor")
    assert "weights have the published sha256" in result.stdout and "telemetry" in result.stdout


def stop_in_training(command: list[str], env: dict[str, str], kind: signal.Signals) -> tuple[int, str, str]:
    """Run the program and send it a signal while it trains; its exit code and its output before and after that."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    lines = []
    assert process.stdout
    for line in process.stdout:
        lines.append(line)
        if "> node_encoder" in line:
            time.sleep(4)
            process.send_signal(kind)
            break
    rest = process.stdout.read()
    return process.wait(60), "".join(lines), rest


@pytest.mark.slow
def test_the_whole_way_stopped_killed_and_taken_up_again(documents: Path, tmp_path: Path) -> None:
    """Run over documents; kill it in training; go on; nothing is left; DVC agrees; one parameter reruns its part."""
    folder = tmp_path / "work"
    command = [sys.executable, "-m", "assets.program", "run", "--data", str(documents), "--workspace", str(folder)]
    for assignment in ("training.epochs=2", "training.checkpoint_steps=1", "training.batch=2",
                       "evaluation.resamples=100"):
        command += ["--set", assignment]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    tracked = {f: (ROOT / f).read_bytes() for f in ("params.yaml", "dvc.yaml", ".dvc/config", ".dvcignore")}
    for kind in (signal.SIGINT, signal.SIGKILL):
        code, before, rest = stop_in_training(command, env, kind)
        if "Exception ignored in" in rest:  # the interrupt fell into a callback, in which Python drops exceptions
            shutil.rmtree(folder)
            code, before, rest = stop_in_training(command, env, kind)
        assert code == (130 if kind == signal.SIGINT else -9), before + rest
        assert kind == signal.SIGKILL or "stopped; what was finished is kept" in rest
        assert not (folder / "data" / "node_encoder").exists()
    assert "> benchmark@tiny" not in before  # the second run had nothing to do there

    result = canopy("run", "--workspace", str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "> node_encoder" in result.stdout and "> registered_model" in result.stdout
    assert "> benchmark" not in result.stdout
    assert {f: (ROOT / f).read_bytes() for f in tracked} == tracked

    again = canopy("run", "--stale", "--workspace", str(folder))
    assert again.returncode == 0 and "Nothing to do" in again.stdout, again.stdout
    status = canopy("status", "--workspace", str(folder))
    assert "Dagster and `dvc status` agree. Everything is up to date" in status.stdout, status.stdout

    dvc = [sys.executable, "-m", "dvc"]
    text = subprocess.run([*dvc, "status"], cwd=folder, env=env, capture_output=True, text=True).stdout
    assert "up to date" in text, text
    result = canopy("run", "--workspace", str(folder), "--set", "evaluation.resamples=200")
    ran = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("> ")]
    assert ran[:1] == ["evaluation@tiny"] and "params.yaml: evaluation.resamples 100 -> 200" in result.stdout
    assert set(ran) <= {"evaluation@tiny", "answers@tiny", "report", "registered_model"}

    bad = (documents / "questions.jsonl").read_text()
    try:
        (documents / "questions.jsonl").write_text(bad.replace('"gold"', '"gold" oops', 8))
        result = canopy("run", "--workspace", str(folder))
        assert result.returncode == 1 and "questions.jsonl" in result.stderr, result.stderr
        assert "Traceback" not in result.stdout + result.stderr
    finally:
        (documents / "questions.jsonl").write_text(bad)


@pytest.mark.slow
def test_both_uis_start_answer_and_stop(documents: Path, tmp_path: Path) -> None:
    from urllib.request import Request

    from assets.orchestrator import DagsterOrchestrator
    from canopy.errors import CanopyError
    from orchestration.cli.ui import running
    from orchestration.machine.loopback import open_local
    from orchestration.pipeline.data_options import benchmarks_at
    from orchestration.pipeline.workspace import make_workspace

    folder, dagster = make_workspace(tmp_path / "work", benchmarks_at(documents, [])), DagsterOrchestrator()
    with running(folder, dagster, 23000, 25000) as addresses:
        query = json.dumps({"query": "{assetNodes{assetKey{path} groupName}}"}).encode()
        busy = pytest.raises(CanopyError, match="another `canopy ui` is at work here")
        with busy, running(folder, dagster, 23100, 25100):
            pass
        request = Request(f"{addresses.dagster}/graphql", data=query, headers={"content-type": "application/json"})
        until, nodes = time.monotonic() + 60, []
        while not nodes and time.monotonic() < until:
            nodes = json.load(open_local(request, timeout=60))["data"]["assetNodes"]
            time.sleep(0.5)
        assert {n["assetKey"]["path"][0] for n in nodes} >= {"raw", "benchmark", "report", "registered_model"}
        assert b"mlflow" in open_local(addresses.mlflow, timeout=60).read().lower()
        with pytest.raises(OSError):  # loopback only
            import socket

            host, port = socket.gethostbyname(socket.gethostname()), int(addresses.dagster.rsplit(":")[-1])
            socket.create_connection((host, port), timeout=2).close()
            if host.startswith("127."):
                raise OSError
    for address in (addresses.dagster, addresses.mlflow):
        with pytest.raises(OSError):
            open_local(address, timeout=3)
