"""The lists of packages suffice: a Bento's image and a registered model's environment hold nothing else."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys

import pytest

from orchestration.models.packages import MODEL_PACKAGES, SERVICE_PACKAGES, pinned_packages
from tests.orchestration.project import ROOT

OURS = {"canopy-rag", "canopy-pipeline"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def with_requirements(names: tuple[str, ...]) -> set[str]:
    """Packages and all that they require, without extras."""
    closure: set[str] = set()
    queue = [normal(n) for n in names]
    while queue:
        name = queue.pop()
        if name in closure:
            continue
        closure.add(name)
        try:
            requirements = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:  # for another platform
            continue
        queue += [normal(re.split(r"[\s<>=!~;\[(]", r, maxsplit=1)[0]) for r in requirements if "extra ==" not in r]
    return closure


@pytest.mark.parametrize(("module", "packages"), [
    ("serving.service", SERVICE_PACKAGES), ("canopy.ingest.native", MODEL_PACKAGES), ("canopy", MODEL_PACKAGES)])
def test_what_is_loaded_at_the_start_is_listed(module: str, packages: tuple[str, ...]) -> None:
    code = f"import sys, json, {module}; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True,
                         check=True)
    holders = importlib.metadata.packages_distributions()
    loaded = {m: {normal(d) for d in holders[m]} for m in json.loads(run.stdout.splitlines()[-1]) if m in holders}
    listed = with_requirements(packages) | OURS
    assert {m: sorted(names) for m, names in loaded.items() if not names & listed} == {}


def test_pins_have_no_local_build_tags() -> None:
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pinned_packages())
