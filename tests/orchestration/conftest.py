"""Fixtures of the orchestration tests."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from canopy.stages.base import NullTracker
from canopy.validation.rules import OneOf, Rule
from orchestration.machine.environment import prepare_environment
from tests.orchestration.project import ROOT, Project

prepare_environment()


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

    monkeypatch.setattr("assets.checks.SUITES", {"benchmark": (Rule("has words", "The text is not empty.", True, "texts", OneOf("words", (True,)), ("text",)),)})
    monkeypatch.setattr("assets.checks.READS", {})
    monkeypatch.setattr("orchestration.pipeline.stage.load_stage", load)
    monkeypatch.setattr("orchestration.pipeline.stage.stage_run", untracked)
    monkeypatch.setattr("orchestration.pipeline.rerun.open_instance", lambda _: nullcontext(made.instance))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    yield made


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny benchmark in the native format: 16 passages of four sentences, a question each."""
    folder = tmp_path_factory.mktemp("raw") / "tiny"
    folder.mkdir()
    items, questions = [], []
    for i, (city, river, fact) in enumerate((c, r, f) for c, r in (("Lyon", "Rhone"), ("Linz", "Danube"), ("Turin", "Po"), ("Rouen", "Seine"))
                                            for f in ("silk", "steel", "cars", "ships")):
        sentences = [f"{city} lies on the {river}.", f"Its mayor of {1900 + i} collected stamps.", f"The town lived on {fact} for a century.",
                     "Visitors come in spring."]
        text = " ".join(sentences)
        start = text.index(sentences[2])
        items.append({"id": f"p{i}", "modality": "text", "title": f"{city} and its {fact}", "text": text})
        questions.append({"id": f"q{i}", "question": f"What did {city} on the {river} live on, according to the page about {fact}?", "answers": [fact],
                          "gold": [{"item": f"p{i}", "chars": [[start, start + len(sentences[2])]]}]})
    (folder / "items.jsonl").write_text("".join(json.dumps(x) + "\n" for x in items))
    (folder / "questions.jsonl").write_text("".join(json.dumps(x) + "\n" for x in questions))
    return folder
