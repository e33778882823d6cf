"""From an alias in the registry to a running service: the pinned bundle and the server's command line."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from canopy.bundle.manifest import Manifest
from canopy.bundle.parts import ModelParts, read_parts
from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.progress import progress
from orchestration.machine.environment import QUIET
from orchestration.models.registry import CHALLENGER, CHAMPION, MODEL, PREVIOUS, version_by_alias, version_parts
from orchestration.models.tracking import open_client
from orchestration.pipeline.workspace import code_root
from serving.bundle import check_same_items, export_bundle

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion

SERVICE = "serving.service:Canopy"
PORT = 3001  # 3000 is the Dagster UI's


def bundles_folder(workspace: Path) -> Path:
    """Where a workspace's bundles lie."""
    return workspace / ".canopy" / "serving"


def resolve_version(workspace: Path, alias: str = CHAMPION) -> ModelVersion:
    """The version that an alias names.

    Raises
    ------
    DataError
        If there is none; the message names the command that makes one.
    """
    client = open_client(workspace)
    version = version_by_alias(client, alias)
    if version is None:
        if version_by_alias(client, CHALLENGER) is None:
            fix = "run `canopy run`, which registers one" + (
                "; then run `canopy promote`" if alias == CHAMPION else "")
        elif alias == CHAMPION:
            fix = "run `canopy promote`, or take the newest model as it is: --alias challenger"
        elif alias == PREVIOUS:
            fix = "no champion was replaced yet; --alias champion or --alias challenger names another version"
        else:
            fix = f"the aliases are {CHAMPION}, {CHALLENGER} and {PREVIOUS}"
        database = workspace / ".canopy" / "mlflow.db"
        raise DataError(f"no version of {MODEL} has the alias {alias!r} in {database}; {fix}")
    return version


def bundle_of(workspace: Path, version: ModelVersion) -> Path:
    """A version's bundle.

    It is exported from the workspace if that still holds the model; otherwise it is the last one that was exported.

    Raises
    ------
    DataError
        If the workspace holds another model and no bundle of the version is left.
    """
    pinned, folder = version_parts(version), bundles_folder(workspace)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".export.lock"):  # a second export would clear away what the first is building
        present = _workspace_holds(workspace, pinned)
        bundles = sorted((p.stat().st_mtime, p.parent) for p in folder.glob(f"{version.version}-*/manifest.json"))
        if bundles and not present:
            return bundles[-1][1]
        with progress(f"exporting version {version.version}"):
            return export_bundle(workspace, load_config(workspace / "params.yaml"), folder, name=MODEL,
                                 version=str(version.version), pinned=pinned)


def _workspace_holds(workspace: Path, pinned: ModelParts) -> bool:
    """Whether adapter, node store and index of the workspace are those of a version, over the same items."""
    try:
        current = read_parts(workspace)
        if (current.adapter, current.digest, current.query_digest) != (
                pinned.adapter, pinned.digest, pinned.query_digest):
            return False
        check_same_items(workspace)
    except DataError:
        return False
    return True


def service_environment(workspace: Path, bundle: Path | None = None) -> dict[str, str]:
    """The environment of BentoML's processes: telemetry off, its home in the workspace, and the bundle."""
    env = {**QUIET, "BENTOML_HOME": str(workspace.resolve() / ".canopy" / "bentoml"), **os.environ}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(code_root()), os.environ.get("PYTHONPATH", "")) if p)
    if bundle is not None:
        env["CANOPY_BUNDLE"] = str(bundle.resolve())
    return env


def serve_command(host: str, port: int) -> list[str]:
    """The command that starts the service (its working folder is the code's)."""
    return [sys.executable, "-m", "bentoml", "serve", SERVICE, "--host", host, "--port", str(port),
            "--working-dir", str(code_root())]


def run_command(workspace: Path, tag: str) -> str:
    """The shell command that runs a built Bento: its home, telemetry off, and this environment's BentoML."""
    env = service_environment(workspace)
    settings = [f"{name}={shlex.quote(env[name])}" for name in ("BENTOML_DO_NOT_TRACK", "BENTOML_HOME")]
    bentoml = str(Path(sys.executable).with_name("bentoml"))
    return " ".join([*settings, shlex.join([bentoml, "serve", tag, "--host", "127.0.0.1", "--port", str(PORT)])])


def check_port(host: str, port: int) -> None:
    """Check that a server could listen here.

    Raises
    ------
    CanopyError
        If it could not. BentoML would report it in a traceback, and only after the export.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a port in TIME_WAIT is free
            probe.bind(address)
    except OSError as e:
        raise CanopyError(f"cannot listen on {host}:{port} ({e.strerror or e}); choose another port with --port, or "
                          "another address with --host") from None


def describe_bundle(bundle: Path) -> str:
    """One line about what is served."""
    manifest = Manifest.read(bundle)
    store = json.loads((bundle / "node_store" / "manifest.json").read_text(encoding="utf-8"))
    return (f"{manifest.name} version {manifest.version}, encoder {manifest.parts.digest[:12]}, "
            f"{store['items']} items, {store['nodes']} nodes")
