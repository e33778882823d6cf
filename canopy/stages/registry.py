"""The stages that there are, by what their modules declare."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

import canopy.stages
from canopy.stages.base import StageResult
from canopy.stages.declaration import Stage

StageFunction = Callable[..., StageResult]


def _read_declaration(path: Path) -> Stage | None:
    """The ``STAGE = Stage(...)`` of a module, read without an import: a stage's libraries take a second to load."""
    for node in ast.parse(path.read_text("utf-8")).body:
        call = node.value if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STAGE" else None
        if isinstance(call, ast.Call):
            try:
                values = [ast.literal_eval(a) for a in call.args]
                named = {k.arg or "": ast.literal_eval(k.value) for k in call.keywords}
            except ValueError:
                raise ValueError(f"{path}:{node.lineno}: STAGE must hold plain values alone") from None
            return Stage(*values, **named)
    return None


def _find_stages() -> dict[str, Stage]:
    """The declarations in the modules of ``canopy.stages``, by name; every folder of its ``__path__`` counts."""
    files = {f.stem: f for folder in canopy.stages.__path__ for f in Path(folder).glob("*.py")}
    stages = {}
    for module, path in sorted(files.items()):
        stage = _read_declaration(path)
        if stage is None:
            continue
        if stage.name != module:
            raise ValueError(f"canopy/stages/{module}.py declares a stage {stage.name!r}: give both one name")
        stages[module] = stage
    return stages


STAGES: Mapping[str, Stage] = _find_stages()
PER_BENCHMARK: frozenset[str] = frozenset(s.name for s in STAGES.values() if s.per_benchmark)


def load_stage(name: str) -> StageFunction:
    """The function of a stage: ``canopy.stages.<name>.run(config, paths, tracker, validator, benchmark=None)``."""
    if name not in STAGES:
        raise KeyError(f"no stage {name!r}; there are {', '.join(STAGES)}")
    function: StageFunction = importlib.import_module(f"canopy.stages.{name}").run
    return function
