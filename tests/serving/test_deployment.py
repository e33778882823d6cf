"""Exports must not hurt each other or mix parts, and what is printed to be run must run as it stands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import sys
import threading
import time
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_model

from canopy.bundle.parts import read_parts
from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.items import write_items
from orchestration.cli.serve import serve
from orchestration.models import deployment
from orchestration.models.deployment import PORT, bundle_of, check_port, run_command


@pytest.fixture
def mine(workspace: Path, tmp_path: Path) -> Path:
    shutil.copytree(workspace / "data", tmp_path / "workspace" / "data")
    shutil.copy(workspace / "params.yaml", tmp_path / "workspace")
    return tmp_path / "workspace"


def version_of(workspace: Path) -> Any:
    return SimpleNamespace(version="7", tags={"parts": json.dumps(asdict(read_parts(workspace)))})


def test_exports_wait_for_each_other(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []
    export, version = deployment.export_bundle, version_of(mine)

    def watched(*args: Any, **more: Any) -> Path:
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.2)
        made = export(*args, **more)
        inside.pop()
        return made

    monkeypatch.setattr(deployment, "export_bundle", watched)
    made: list[Path] = []
    threads = [threading.Thread(target=lambda: made.append(bundle_of(mine, version))) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(made) == 2 and made[0] == made[1] and (made[0] / "manifest.json").is_file()


def test_half_made_parts_fall_back_to_the_held_bundle(mine: Path) -> None:
    version = version_of(mine)
    held = bundle_of(mine, version)
    write_items(mine / "data" / "corpus" / "items.parquet", tiny_model.ITEMS[1:])
    assert bundle_of(mine, version) == held
    shutil.rmtree(held)
    with pytest.raises(DataError, match="run `canopy run` first"):
        bundle_of(mine, version)


def test_printed_command_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENTOML_HOME", raising=False)
    monkeypatch.setenv("BENTOML_DO_NOT_TRACK", "true")
    words = shlex.split(run_command(tmp_path / "my models", "canopy:7-abc"))
    assert words[:2] == ["BENTOML_DO_NOT_TRACK=true", f"BENTOML_HOME={tmp_path}/my models/.canopy/bentoml"]
    program = str(Path(sys.executable).parent / "bentoml")
    assert words[2:] == [program, "serve", "canopy:7-abc", "--host", "127.0.0.1", "--port", str(PORT)]
    assert os.access(words[2], os.X_OK)


def test_taken_port_is_told_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CanopyError, match=f"127.0.0.1:{port}.*--port"):
            check_port("127.0.0.1", port)
        monkeypatch.setattr("orchestration.pipeline.workspace.select_workspace", lambda _: tmp_path)
        with pytest.raises(CanopyError, match="--port"):
            serve(None, port=port, host="localhost")
    check_port("127.0.0.1", port)


def test_default_port_is_not_the_dagster_uis() -> None:
    assert signature(serve).parameters["port"].default == PORT == 3001


def test_registered_model_asks_for_no_package_of_canopys_name(workspace: Path, tmp_path: Path) -> None:
    from orchestration.models.registration import save_model

    save_model(tmp_path / "model", workspace, load_config(workspace / "params.yaml"))
    needs = (tmp_path / "model" / "requirements.txt").read_text().splitlines()
    assert any(n.startswith("torch==") for n in needs) and not [n for n in needs if "canopy" in n]
