"""What the program starts must be reached past proxies, ends with it, and has the threads and the name that the
machine gives."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from canopy.errors import CanopyError
from orchestration.cli import bento_trial
from orchestration.machine import doctor
from orchestration.machine.environment import cpu_quota, prepare_environment
from orchestration.machine.loopback import open_local
from orchestration.machine.processes import identity, is_alive
from orchestration.pipeline import stage
from orchestration.pipeline.locks import locked
from tests.orchestration.project import ROOT, Project


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """A web server on this machine; POST is an error there."""
    with HTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_proxy_stands_before_this_machine(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with open_local(address, timeout=5) as answer:
        assert answer.read() == b"here"
    assert bento_trial._ready(address)
    with pytest.raises(CanopyError, match="/compress: HTTP Error 501"):
        bento_trial.ask(address, "why?")


PARENT = """
import sys, time
from orchestration.machine.processes import end_like_ctrl_c, start_group, stop_groups
end_like_ctrl_c()
stubborn = "import signal, subprocess, sys, time; signal.signal(signal.SIGINT, signal.SIG_IGN); " \
    "p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"
child = start_group([sys.executable, "-c", stubborn], stdout=sys.stdout)
print(child.pid, flush=True)
try:
    time.sleep(60)
finally:
    print("stopping", flush=True)
    stop_groups([child], seconds=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_stays_behind(first: signal.Signals) -> None:
    """A closed terminal ends all that was started, with a second and a third signal while that goes on."""
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, start_new_session=True) as parent:
        assert parent.stdout
        started = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(identity(p) for p in started)
        parent.send_signal(first)
        assert parent.stdout.readline() == "stopping\n"
        for kind in (signal.SIGINT, signal.SIGHUP):
            time.sleep(0.2)
            parent.send_signal(kind)
        parent.wait(20)
    until = time.monotonic() + 5
    while any(identity(p) for p in started) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(identity(p) for p in started)


def test_a_process_is_known_by_more_than_its_number() -> None:
    mine = identity()
    assert is_alive(mine) and not is_alive(f"{os.getpid()}@1") and not is_alive("")
    with subprocess.Popen(["sleep", "60"]) as child:
        other = identity(child.pid)
        assert is_alive(other) and other != mine
        child.kill()
        child.wait()
    assert not is_alive(other)


@pytest.mark.parametrize(("files", "wanted"), [
    ({"cpu.max": "150000 100000\n"}, 1.5), ({"cpu.max": "max 100000\n"}, float("inf")), ({}, float("inf")),
    ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
    ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, float("inf")),
])
def test_a_containers_share_of_cpus(tmp_path: Path, files: dict[str, str], wanted: float) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_quota(tmp_path) == wanted


def test_a_user_without_a_name_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    prepare_environment()
    assert getpass.getuser() == f"uid{os.getuid()}"


def test_the_systems_python_is_not_this_environments(tmp_path: Path) -> None:
    assert doctor._is_this_python(sys.executable)
    (tmp_path / "python").symlink_to(Path(sys.executable).resolve())
    assert not doctor._is_this_python(str(tmp_path / "python")) and not doctor._is_this_python(None)


def test_dvc_repro_leaves_a_stage_that_canopy_run_is_at_work_on(project: Project, monkeypatch: pytest.MonkeyPatch,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(project.root)
    with locked(project.root, "benchmark@one"):
        assert stage.main(["benchmark", "one"]) == 1
    assert "another `canopy run` is at work here" in capsys.readouterr().err and project.calls == []
    assert stage.main(["benchmark", "one"]) == 0 and project.calls == ["benchmark@one"]
