"""What `canopy doctor` looks at: Python, packages, cores, accelerators, weights, disk, ports, telemetry."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from canopy.errors import CanopyError
from orchestration.machine.environment import QUIET, thread_count

_PORTS = {3000: "the Dagster UI", 3001: "the service", 5000: "the MLflow UI"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, and what to do if it is not well."""

    level: Literal["ok", "note", "problem"]
    what: str
    fix: str = ""


def examine(workspace: Path) -> Iterator[Finding]:
    """Look at everything; a finding that a later one depends on comes first."""
    yield from _python()
    yield from _packages()
    yield from _compute()
    yield from _encoder(workspace)
    yield from _disk(workspace)
    yield from _ports()
    yield from _telemetry()
    yield from _graph(workspace)


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    if sys.version_info[:2] == (3, 11):
        yield Finding("ok", f"Python {version}")
    elif sys.version_info[:2] in ((3, 12), (3, 13)):
        yield Finding("note", f"Python {version}: 3.11 is the version that is tested")
    else:
        yield Finding("problem", f"Python {version}", "install Python 3.11 and run `make setup`")


def _packages() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    try:
        required = [Requirement(r) for r in importlib.metadata.requires("canopy-rag") or ()]
    except importlib.metadata.PackageNotFoundError:
        yield Finding("problem", "canopy-rag is not installed in this environment",
                      "run `make setup`, or `pip install -e . -c constraints.txt`")
        return
    wrong = []
    for requirement in required:
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if wrong:
        yield Finding("problem", "; ".join(wrong), "run `make setup`, or `pip install -e . -c constraints.txt`")
    else:
        yield Finding("ok", f"{len(required)} required packages are there in the versions asked for")


def _compute() -> Iterator[Finding]:
    try:
        import torch
    except ImportError as e:
        yield Finding("problem", f"torch cannot be imported: {e}", "run `make setup`")
        return
    threads, cores = torch.get_num_threads(), thread_count()
    if threads > cores:
        yield Finding("note", f"torch uses {threads} threads, with {cores} physical cores to use",
                      f"set OMP_NUM_THREADS={cores}")
    else:
        yield Finding("ok", f"{cores} physical cores to use, torch {torch.__version__} with {threads} threads")
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
        yield Finding("ok", f"GPU: {', '.join(names)}")
        import faiss

        if not hasattr(faiss, "StandardGpuResources"):
            yield Finding("note", "faiss here is the CPU build: index.device must stay cpu",
                          "`pip install '.[gpu]'` for faiss-gpu")
    else:
        yield Finding("ok", "no GPU that torch can use: everything runs on the CPU, index.device must stay cpu")


def _encoder(workspace: Path) -> Iterator[Finding]:
    """The model that the configured kind of encoder needs, as far as it can be checked without loading it."""
    from canopy.config import load_config
    from canopy.settings import encoder_kinds

    try:
        settings = load_config(workspace / "params.yaml").encoder
    except (CanopyError, OSError) as e:
        yield Finding("problem", str(e), "correct params.yaml")
        return
    kind = encoder_kinds()[settings.kind]
    try:
        yield Finding("ok", kind.check(settings))
    except (CanopyError, OSError) as e:
        yield Finding("problem", str(e), kind.REMEDY)


def _disk(workspace: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(workspace).free / 1e9
    if free < 1:
        yield Finding("problem", f"{free:.1f} GB free at {workspace}",
                      "free some space: outputs are kept once in data/ and once in DVC's cache; "
                      "`dvc gc --workspace` drops old ones")
    else:
        yield Finding("ok" if free > 5 else "note", f"{free:.0f} GB free at {workspace}")


def _ports() -> Iterator[Finding]:
    for port, use in _PORTS.items():
        with socket.socket() as s:
            in_use = s.connect_ex(("127.0.0.1", port)) == 0
        if in_use:
            yield Finding("note", f"port {port} ({use}) is in use",
                          "`make ui` takes the next free one; for the service say --port")
        else:
            yield Finding("ok", f"port {port} is free ({use})")


def _telemetry() -> Iterator[Finding]:
    switches = {k: v for k, v in QUIET.items() if "TRACK" in k or "TELEMETRY" in k or "ANALYTICS" in k}
    on = [k for k, v in switches.items() if os.environ.get(k, "").lower() != v.lower()]
    if on:
        yield Finding("note", f"telemetry of some tool was turned on in your environment: {', '.join(on)}",
                      f"unset {' '.join(on)}")
    else:
        yield Finding("ok", "telemetry of Dagster, MLflow, DVC, BentoML and Great Expectations is off")


def _graph(workspace: Path) -> Iterator[Finding]:
    from orchestration.pipeline.dvc_graph import load_graph

    try:
        graph = load_graph(workspace)
    except CanopyError as e:
        yield Finding("problem", str(e), "correct the file that is named")
        return
    yield Finding("ok", f"workspace {workspace}: {len(graph.stages)} stages over {', '.join(graph.partitions)}")
    if not _is_this_python(shutil.which("python")):
        yield Finding("note", "`python` on the PATH is another environment's: `dvc repro` from a shell would use it",
                      f"`source {Path(sys.prefix) / 'bin' / 'activate'}` first; `canopy run` does not need it")


def _is_this_python(path: str | None) -> bool:
    """Whether a path is this environment's interpreter; its folder counts, because its links lead to the system's."""
    if path is None:
        return False
    same_folder = os.path.dirname(os.path.abspath(path)) == os.path.dirname(os.path.abspath(sys.executable))
    return same_folder and os.path.samefile(path, sys.executable)
