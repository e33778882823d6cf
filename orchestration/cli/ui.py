"""Starts the Dagster UI and MLflow on this machine only, and stops both on Ctrl-C; what `make ui` runs."""

from __future__ import annotations

import argparse
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

from canopy.errors import CanopyError
from orchestration.machine.environment import prepare_environment
from orchestration.machine.loopback import open_local
from orchestration.machine.processes import end_like_ctrl_c, start_group, stop_groups

_HOST, _PATIENCE = "127.0.0.1", 120.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the two UIs listen."""

    dagster: str
    mlflow: str


def free_port(wanted: int) -> int:
    """The wanted port, or the next one that nothing listens on."""
    for port in range(wanted, wanted + 100):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((_HOST, port))
            except OSError:
                continue
            return port
    raise CanopyError(f"no free port from {wanted} to {wanted + 99}")


def _commands(workspace: Path, dagster_port: int, mlflow_port: int) -> dict[str, list[str]]:
    from orchestration.models.tracking import artifact_root, database_uri

    python = [sys.executable, "-m"]
    return {
        "dagster": [*python, "dagster_webserver", "-h", _HOST, "-p", str(dagster_port), "-m", "assets.definitions"],
        # The UI's "materialize" over several benchmarks is a backfill, and backfills are the daemon's.
        "daemon": [*python, "dagster._daemon", "run", "-m", "assets.definitions"],
        "mlflow": [*python, "mlflow", "server", "--host", _HOST, "--port", str(mlflow_port), "--workers", "1",
                   "--backend-store-uri", database_uri(workspace), "--default-artifact-root", artifact_root(workspace).as_uri()],
    }


def _settle(workspace: Path) -> None:
    """Let Dagster know of raw data and of `dvc repro` runs before anyone looks, and make MLflow's database."""
    from assets.definitions import build_definitions
    from assets.resources import open_instance
    from orchestration.models.tracking import open_client
    from orchestration.pipeline.rerun import close_dead_runs
    from orchestration.pipeline.status import look

    with open_instance(workspace) as instance:
        close_dead_runs(instance, untagged=True)
        look(workspace, instance, build_definitions(workspace))
    open_client(workspace)


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _PATIENCE
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
def running(workspace: Path, dagster_port: int = 3000, mlflow_port: int = 5000) -> Iterator[Addresses]:
    """Run both UIs over a workspace until the block ends.

    Raises
    ------
    CanopyError
        Where other UIs are at work in this workspace, or one does not answer.
    """
    from assets.resources import dagster_home
    from orchestration.pipeline.workspace import locked

    with locked(workspace, "ui", by="`make ui`"):
        _settle(workspace)
        home = dagster_home(workspace)
        ports = free_port(dagster_port), free_port(mlflow_port)
        env = {**os.environ, "DAGSTER_HOME": str(home), "CANOPY_WORKSPACE": str(workspace), "PYTHONUNBUFFERED": "1",
               "PYTHONPATH": os.pathsep.join(p for p in (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")) if p),
               "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        logs = workspace / ".canopy" / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        addresses = Addresses(f"http://{_HOST}:{ports[0]}", f"http://{_HOST}:{ports[1]}")
        processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name, command in _commands(workspace, *ports).items():
                with open(logs / f"{name}.log", "wb") as log:
                    processes[name] = start_group(command, cwd=workspace, env=env, stdout=log)
            _wait(f"{addresses.dagster}/server_info", processes["dagster"], logs / "dagster.log")
            _wait(f"{addresses.mlflow}/health", processes["mlflow"], logs / "mlflow.log")
            yield addresses
        finally:
            stop_groups(list(processes.values()))


def main() -> int:
    """Run both UIs over the selected workspace until Ctrl-C."""
    prepare_environment()
    from orchestration.pipeline.workspace import select_workspace

    parser = argparse.ArgumentParser(prog="python -m orchestration.cli.ui", description=__doc__)
    parser.add_argument("--workspace", type=Path, metavar="DIR", help="folder with dvc.yaml, params.yaml and data/")
    parser.add_argument("--dagster-port", type=int, default=3000, help="the next free one is taken where it is in use (default: 3000)")
    parser.add_argument("--mlflow-port", type=int, default=5000, help="likewise (default: 5000)")
    options = parser.parse_args()
    end_like_ctrl_c()
    try:
        workspace = select_workspace(options.workspace)
        print(f"starting over {workspace} ...", flush=True)
        with running(workspace, options.dagster_port, options.mlflow_port) as addresses:
            print(f"Dagster  {addresses.dagster}   assets, runs, checks: materialize from here\n"
                  f"MLflow   {addresses.mlflow}   runs and registered models\nCtrl-C stops both; logs are in {workspace / '.canopy' / 'logs'}", flush=True)
            signal.pause()
    except CanopyError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        with suppress(OSError):  # a closed terminal
            print("stopped")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
