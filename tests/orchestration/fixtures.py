"""Fixtures of the tests of orchestration and of assets."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from canopy.stages.base import NullTracker
from canopy.validation.rules import OneOf, Rule
from tests.orchestration.project import ROOT, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A fresh project whose stage functions are read from its own files."""
    made = Project(tmp_path)

    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(f"stub_{name}", tmp_path / "code" / f"{name}.py")
        stub = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(stub)

        def run(config: Any, paths: Any, tracker: Any, validator: Any, benchmark: str | None = None) -> Any:
            made.calls.append(f"{name}@{benchmark}" if benchmark else name)
            return stub.run(config, paths, tracker, validator, benchmark=benchmark)
        return run

    @contextmanager
    def untracked(*_: Any) -> Iterator[Any]:
        yield NullTracker()

    monkeypatch.setattr("assets.checks.SUITES", {"benchmark": (Rule("has words", "The text is not empty.", True,
                                                                    "texts", OneOf("words", (True,)), ("text",)),)})
    monkeypatch.setattr("assets.checks._reads", lambda _: {})
    monkeypatch.setattr("orchestration.pipeline.stage.load_stage", load)
    monkeypatch.setattr("orchestration.pipeline.stage.stage_run", untracked)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    yield made
