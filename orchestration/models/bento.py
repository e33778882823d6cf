"""Builds a Bento: the code of `canopy` and `serving`, a bundle, and the pinned packages, in one deployable archive."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.bundle.manifest import Manifest
from canopy.errors import CanopyError
from canopy.links import link_or_copy_tree
from canopy.progress import progress
from orchestration.machine.environment import QUIET
from orchestration.models.deployment import SERVICE, service_environment
from orchestration.models.packages import SERVICE_PACKAGES, pinned_packages
from orchestration.pipeline.workspace import code_root

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion

# Not the name of a module: BentoML takes `canopy:TAG` for one first, and would serve the code of a checkout.
BENTO = "canopy-service"
ROOMS = ("canopy", "serving")  # the service imports nothing else of ours
_BENTOFILE = "bentofile.yaml"
_BUILD = """\
import sys, bentoml
name, version, bentofile = sys.argv[1:]
try:
    bentoml.delete(f"{name}:{version}")
except bentoml.exceptions.NotFound:
    pass
bentoml.bentos.build_bentofile(bentofile, version=version, build_ctx=".")
"""


def build_bento(workspace: Path, version: ModelVersion, bundle: Path) -> str:
    """Build a Bento that holds the code, the bundle and the list of packages; equal content has an equal tag.

    Returns
    -------
    str
        The Bento's tag.

    Raises
    ------
    CanopyError
        If BentoML cannot build it.
    """
    manifest = Manifest.read(bundle)
    tag_version = f"{bundle.name}-{manifest.parts.digest[:8]}"
    packages = (*SERVICE_PACKAGES, *manifest.encoder_config().packages)
    options = {
        "service": SERVICE, "name": BENTO, "include": ["**"],
        "labels": {"model": manifest.name, "version": manifest.version, "encoder": manifest.parts.digest[:63],
                   "mlflow_run": str(version.run_id)},
        "envs": [{"name": k, "value": v} for k, v in QUIET.items()],
        "python": {"packages": pinned_packages(packages), "lock_packages": False},
        "docker": {"python_version": "3.11"},
    }
    with _staging(workspace, bundle) as context:
        # In a process of its own: BentoML reads BENTOML_HOME once, and must import the service from the folder that it
        # packs. (Its command line would refuse the folder, since it lies under .canopy.)
        env = {**service_environment(workspace), "PYTHONPATH": str(context)}
        (context / _BENTOFILE).write_text(json.dumps(options), encoding="utf-8")  # JSON is YAML
        with progress("building the Bento"):
            build = subprocess.run([sys.executable, "-c", _BUILD, BENTO, tag_version, _BENTOFILE], env=env, cwd=context,
                                   capture_output=True, text=True, check=False)
    if build.returncode != 0:
        last = (build.stderr or build.stdout).strip().splitlines()[-1:] or ["no message"]
        raise CanopyError(f"bentoml build failed: {last[0]}")
    return f"{BENTO}:{tag_version}"


@contextmanager
def _staging(workspace: Path, bundle: Path) -> Iterator[Path]:
    """A folder with what a Bento is built from; it is removed afterwards."""
    folder = workspace.resolve() / ".canopy" / "build"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        context = Path(name)
        for room in ROOMS:
            shutil.copytree(code_root() / room, context / room, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        link_or_copy_tree(bundle, context / "bundle")
        yield context
