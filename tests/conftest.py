"""Shared fixtures: threads kept to the machine, the real slices if there are any, one encoder a session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import settings

for name in ("DAGSTER_DISABLE_TELEMETRY", "MLFLOW_DISABLE_TELEMETRY", "BENTOML_DO_NOT_TRACK", "DVC_NO_ANALYTICS"):
    os.environ.setdefault(name, "true")
os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# What a user set for a service must not reach the services that tests start, nor may a proxy stand before loopback.
for name in ("CANOPY_API_KEY", "CANOPY_WORKSPACE", "CANOPY_BUNDLE", "BENTOML_HOME", "CANOPY_LLM_BASE_URL",
             "CANOPY_LLM_MODEL", "CANOPY_LLM_API_KEY"):
    os.environ.pop(name, None)
for name in ("NO_PROXY", "no_proxy"):
    os.environ[name] = ",".join(x for x in (os.environ.get(name, ""), "127.0.0.1,localhost") if x)
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")

# The time of an example tells how busy the machine is, nothing more.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with official benchmark slices; skips if CANOPY_REAL_DATA names none."""
    where = os.environ.get("CANOPY_REAL_DATA", "")
    if not where or not Path(where).is_dir():
        pytest.skip("CANOPY_REAL_DATA names no folder of official benchmark slices")
    return Path(where)


@pytest.fixture(scope="session")
def encoder():
    """f0 under one_pass, loaded once."""
    from canopy.encoder.minilm import MiniLMEncoder

    return MiniLMEncoder("one_pass")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny benchmark in the native format: 16 passages of four sentences, a question each."""
    folder = tmp_path_factory.mktemp("raw") / "tiny"
    folder.mkdir()
    items, questions = [], []
    towns = (("Lyon", "Rhone"), ("Linz", "Danube"), ("Turin", "Po"), ("Rouen", "Seine"))
    pages = [(city, river, trade) for city, river in towns for trade in ("silk", "steel", "cars", "ships")]
    for i, (city, river, trade) in enumerate(pages):
        sentences = [f"{city} lies on the {river}.", f"Its mayor of {1900 + i} collected stamps.",
                     f"The town lived on {trade} for a century.", "Visitors come in spring."]
        text = " ".join(sentences)
        start = text.index(sentences[2])
        items.append({"id": f"p{i}", "modality": "text", "title": f"{city} and its {trade}", "text": text})
        questions.append({
            "id": f"q{i}", "question": f"What did {city} on the {river} live on, according to the page about {trade}?",
            "answers": [trade], "gold": [{"item": f"p{i}", "chars": [[start, start + len(sentences[2])]]}]})
    (folder / "items.jsonl").write_text("".join(json.dumps(x) + "\n" for x in items))
    (folder / "questions.jsonl").write_text("".join(json.dumps(x) + "\n" for x in questions))
    return folder
