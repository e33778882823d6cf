"""`canopy ui`: the Dagster UI and MLflow on this machine only, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from canopy.errors import CanopyError
from orchestration.cli.shared import Workspace, open_workspace, orchestrator_of
from orchestration.machine.loopback import open_local
from orchestration.machine.processes import start_group, stop_groups
from orchestration.pipeline.workspace import code_root

if TYPE_CHECKING:
    from orchestration.pipeline.history import Orchestrator

_HOST, _START_SECONDS = "127.0.0.1", 120.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the two UIs listen."""

    dagster: str
    mlflow: str


def free_port(first: int) -> int:
    """The first port, or the next one that nothing listens on."""
    for port in range(first, first + 100):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((_HOST, port))
            except OSError:
                continue
            return port
    raise CanopyError(f"no free port from {first} to {first + 99}")


def _commands(workspace: Path, orchestrator: Orchestrator, dagster_port: int, mlflow_port: int) -> dict[str, list[str]]:
    from orchestration.models.tracking import artifact_root, database_uri

    return {
        **orchestrator.ui_commands(workspace, _HOST, dagster_port),
        "mlflow": [sys.executable, "-m", "mlflow", "server", "--host", _HOST, "--port", str(mlflow_port),
                   "--workers", "1", "--backend-store-uri", database_uri(workspace),
                   "--default-artifact-root", artifact_root(workspace).as_uri()],
    }


def _settle(workspace: Path, orchestrator: Orchestrator) -> None:
    """Report raw data and `dvc repro` runs to Dagster before anyone looks, and make MLflow's database."""
    from orchestration.models.tracking import open_client
    from orchestration.pipeline.status import look

    with orchestrator.open(workspace) as history:
        history.close_dead_runs(untagged=True)
        look(workspace, history)
    open_client(workspace)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with open_local(address, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise CanopyError(f"{address} does not answer; see {log}")


@contextmanager
def running(workspace: Path, orchestrator: Orchestrator, dagster_port: int = 3000,
            mlflow_port: int = 5000) -> Iterator[Addresses]:
    """Run both UIs over a workspace until the block ends.

    Raises
    ------
    CanopyError
        If other UIs are at work in this workspace, or one does not answer in two minutes.
    """
    from orchestration.pipeline.locks import locked

    with locked(workspace, "ui", by="`canopy ui`"):
        _settle(workspace, orchestrator)
        ports = free_port(dagster_port), free_port(mlflow_port)
        env = _environment(workspace, orchestrator)
        logs = workspace / ".canopy" / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        addresses = Addresses(f"http://{_HOST}:{ports[0]}", f"http://{_HOST}:{ports[1]}")
        processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name, command in _commands(workspace, orchestrator, *ports).items():
                with open(logs / f"{name}.log", "wb") as log:
                    processes[name] = start_group(command, cwd=workspace, env=env, stdout=log)
            _wait(f"{addresses.dagster}/server_info", processes["dagster"], logs / "dagster.log")
            _wait(f"{addresses.mlflow}/health", processes["mlflow"], logs / "mlflow.log")
            yield addresses
        finally:
            stop_groups(list(processes.values()))


def _environment(workspace: Path, orchestrator: Orchestrator) -> dict[str, str]:
    folders = [str(code_root()), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **orchestrator.ui_environment(workspace), "CANOPY_WORKSPACE": str(workspace),
            "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(f for f in folders if f),
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


def ui(
    context: typer.Context,
    workspace: Workspace = None,
    dagster_port: Annotated[int, typer.Option(
        metavar="PORT", help="Dagster's port; if it is in use, the next free one.")] = 3000,
    mlflow_port: Annotated[int, typer.Option(
        metavar="PORT", help="MLflow's port; if it is in use, the next free one.")] = 5000,
) -> None:
    """Start the Dagster UI and MLflow on this machine only; Ctrl-C stops both.

    Dagster shows assets, runs and checks, and materializes them; MLflow shows runs and registered models.
    """
    root = open_workspace(workspace)
    print(f"workspace {root}\nstarting ...", flush=True)
    try:
        with running(root, orchestrator_of(context), dagster_port, mlflow_port) as addresses:
            print(f"Dagster  {addresses.dagster}   assets, runs, checks: materialize from here\n"
                  f"MLflow   {addresses.mlflow}   runs and registered models\n"
                  f"Ctrl-C stops both; logs are in {root / '.canopy' / 'logs'}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        with suppress(OSError):  # a closed terminal
            print("stopped")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(ui)
