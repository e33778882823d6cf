"""One tiny bundle a session, and a server that is surely stopped."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))  # tests/tiny_model.py
import tiny_model

from canopy.bundle.parts import read_parts
from canopy.config import load_config
from serving.bundle import export_bundle


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make_workspace(tmp_path_factory.mktemp("serving") / "workspace")


@pytest.fixture(scope="session")
def bundle(workspace: Path) -> Path:
    return export_bundle(workspace, load_config(workspace / "params.yaml"), workspace / ".canopy" / "serving",
                         name="canopy-node-encoder", version="7", pinned=read_parts(workspace))


@dataclass(frozen=True)
class Server:
    """A running service."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def status(self, path: str) -> int:
        """Status code of a GET; 0 where nothing answers."""
        try:
            # The loopback is never behind the user's proxy.
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(self.url + path, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return 0


@pytest.fixture(scope="session")
def serve(workspace: Path) -> Iterator[Callable[..., Server]]:
    """Start the service over a bundle in a process of its own and wait until it answers ``until``."""
    from orchestration.models.deployment import serve_command, service_environment

    started: list[subprocess.Popen[bytes]] = []

    def start(bundle: Path | None, until: tuple[str, int] = ("/readyz", 200), bento: str = "", **more: str) -> Server:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = workspace / f"server-{port}.log"
        env = {**service_environment(workspace, bundle), "OMP_NUM_THREADS": "1", **more}
        with open(log, "wb") as out:
            command = serve_command("127.0.0.1", port)
            if bento:
                # From the store, without the checkout's code.
                command, env["PYTHONPATH"] = [*command[:4], bento, *command[5:-2]], ""
            process = subprocess.Popen(command, env=env, stdout=out, stderr=out, cwd=workspace)
        started.append(process)
        server = Server(f"http://127.0.0.1:{port}", process, log)
        deadline = time.monotonic() + 120
        while server.status(until[0]) != until[1]:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(0.2)
        return server

    yield start
    for process in started:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a server and every process it started, by their ids; those that do not go within 30 s are killed."""
    try:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    process.terminate()
    _, left = psutil.wait_procs(family, timeout=30)
    for one in left:
        one.kill()
    process.wait(10)
