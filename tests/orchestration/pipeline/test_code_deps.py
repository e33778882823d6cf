"""DVC sees only the code that `deps` list: a module that a stage imports and no dep names would change unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from canopy.benchmarks.registry import adapter_names
from canopy.stages.code import ADAPTER, closure_of, code_deps
from canopy.stages.registry import STAGES
from orchestration.pipeline.code_deps import rewrite
from orchestration.pipeline.dvc_graph import load_graph
from orchestration.pipeline.lineage import StageSpec
from orchestration.pipeline.workspace import make_workspace

ROOT = Path(__file__).resolve().parents[3]


def uncovered(spec: StageSpec) -> set[str]:
    """What a stage imports and does not list."""
    listed = (*spec.code, *spec.own_code, *spec.raw)
    own = [closure_of(ROOT, ROOT / c) for c in spec.own_code]
    used = set(code_deps(ROOT, spec.base)).union(*own) - {ADAPTER}
    return {f for f in used if not any(f == d or f.startswith(d + "/") for d in listed)}


def specs() -> dict[str, StageSpec]:
    """The stages of the checkout, by base name (every adapter is looked at on its own)."""
    return {s.base: s for s in load_graph(ROOT).stages.values()}


@pytest.mark.parametrize("stage", STAGES)
def test_every_import_of_a_stage_is_among_its_deps(stage: str) -> None:
    assert uncovered(specs()[stage]) == set(), "list these under deps in dvc.yaml"


def test_every_adapter_of_a_benchmark_is_covered(tmp_path: Path) -> None:
    adapters = adapter_names()
    assert {"native", "starter", "hotpotqa", "ott_qa"} <= set(adapters)
    folder = make_workspace(tmp_path / "w", {a: {"adapter": a, "path": "canopy/starter"} for a in adapters})
    for spec in load_graph(folder).stages.values():
        if spec.base == "benchmark":
            assert uncovered(spec) == set(), f"{spec.name}: list these under deps in dvc.yaml"


def test_code_deps_are_those_of_the_imports() -> None:
    text = (ROOT / "dvc.yaml").read_text("utf-8")
    assert rewrite(ROOT, text) == text, "run `make deps`: the code deps of dvc.yaml are not those of the imports"
