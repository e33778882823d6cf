"""DVC sees only code that `deps` list: every module a stage imports must be listed, or a change to it would go unnoticed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from canopy.benchmarks.base import adapter_names
from canopy.stages.base import STAGES
from orchestration.dvc_graph import load_graph
from orchestration.lineage import StageSpec
from orchestration.workspace import make_workspace

ROOT = Path(__file__).resolve().parents[2]
EXEMPT = {
    "canopy/__init__.py": "the package's name and version",
    "canopy/errors.py": "exception classes: they end a stage and never shape what it writes",
    "canopy/progress.py": "draws a progress bar on the terminal",
}


def modules_of(name: str) -> list[Path]:
    """The files of a dotted name: its module and the packages that hold it."""
    parts = name.split(".")
    found = [ROOT.joinpath(*parts[:i], "__init__.py") for i in range(1, len(parts) + 1)] + [ROOT.joinpath(*parts).with_suffix(".py")]
    return [f for f in found if f.is_file()]


def imports_of(file: Path) -> set[Path]:
    """Files under canopy/ that a file imports anywhere in it, lazily too; imports for type checkers alone are left out."""
    tree, names = ast.parse(file.read_text("utf-8")), set()
    skipped = {id(n) for block in ast.walk(tree) if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test) for b in block.body
               for n in ast.walk(b)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; this test and readers want absolute ones"
            names |= {node.module or "", *(f"{node.module}.{a.name}" for a in node.names)}
    return {f for n in names if n.split(".")[0] == "canopy" for f in modules_of(n)}


def closure_of(*start: Path) -> set[str]:
    """All files under canopy/ that importing ``start`` brings in."""
    seen: set[Path] = set()
    todo = list(start)
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += imports_of(file)
    return {str(f.relative_to(ROOT)) for f in seen}


def is_empty(file: str) -> bool:
    """Whether a file holds a docstring at most, so that nothing in it can change what a stage does."""
    return all(isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) for n in ast.parse((ROOT / file).read_text("utf-8")).body)


def code_of(spec: StageSpec) -> set[str]:
    """All files that a stage runs: its module's imports, its adapter's, and the rules it has its tables checked against."""
    module = ROOT / "canopy" / "stages" / f"{spec.base}.py"
    rules = [ROOT / "canopy" / "validation" / "checker.py"] if re.search(r"validator\.check\(|check_inputs\(", module.read_text("utf-8")) else []
    return closure_of(module, *rules, *(ROOT / c for c in spec.own_code))


def uncovered(spec: StageSpec) -> set[str]:
    """What a stage imports and does not list."""
    listed = (*spec.code, *spec.own_code, *spec.raw)
    return {f for f in code_of(spec) - set(EXEMPT) if not is_empty(f) and not any(f == d or f.startswith(d + "/") for d in listed)}


def specs() -> dict[str, StageSpec]:
    """The stages of the checkout, by base name (every adapter is looked at on its own)."""
    return {s.base: s for s in load_graph(ROOT).stages.values()}


@pytest.mark.parametrize("stage", STAGES)
def test_every_import_of_a_stage_is_among_its_deps(stage: str) -> None:
    assert uncovered(specs()[stage]) == set(), "list these under deps in dvc.yaml"


def test_every_adapter_of_a_benchmark_is_covered(tmp_path: Path) -> None:
    adapters = [p.stem for p in (ROOT / "canopy" / "benchmarks").glob("*.py") if p.stem not in ("__init__", "base") and re.search(r"^def read\(|^from .* import .*\bread\b", p.read_text("utf-8"), re.M)]
    assert {"native", "starter", "hotpotqa", "ott_qa"} <= set(adapters)
    folder = make_workspace(tmp_path / "w", {a: {"adapter": a, "path": "canopy/starter"} for a in adapters})
    for spec in load_graph(folder).stages.values():
        if spec.base == "benchmark":
            assert uncovered(spec) == set(), f"{spec.name}: list these under deps in dvc.yaml"


def test_deps_that_nothing_imports_are_not_listed() -> None:
    adapters = closure_of(*(ROOT / "canopy" / "benchmarks" / f"{name}.py" for name in adapter_names()))
    for stage, spec in specs().items():
        used = code_of(spec) | (adapters if stage == "benchmark" else set())  # its deps are those of all adapters together
        idle = [d for d in spec.code if Path(d).suffix in ("", ".py") and not any(f == d or f.startswith(d + "/") for f in used)]
        assert idle == [], f"{stage} would rerun for nothing when these change"
