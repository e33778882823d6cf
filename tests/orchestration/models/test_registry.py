"""A registered version must hold what it takes to compare, reload and serve it; equal things are one version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from canopy.errors import CanopyError, DataError
from orchestration.models.evaluation_data import evaluation_data_digest
from orchestration.models.registration import register_candidate
from orchestration.models.registry import (
    CHALLENGER,
    MODEL,
    evaluated_benchmarks,
    per_question,
    version_by_alias,
    version_parts,
)
from orchestration.models.tracking import open_client
from tests import tiny_model


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make_workspace(tmp_path_factory.mktemp("registry") / "template")


@pytest.fixture
def workspace(template: Path, tmp_path: Path) -> Path:
    return tiny_model.copy_workspace(template, tmp_path / "workspace")


def test_version_holds_model_lineage_and_evaluation(workspace: Path) -> None:
    assert register_candidate(workspace) == "1"
    client = open_client(workspace)
    version = version_by_alias(client, CHALLENGER)
    assert version is not None and str(version.version) == "1"
    parts = version_parts(version)
    assert version.tags["encoder.digest"] == parts.digest and version.tags["encoder.mode"] == "one_pass"
    assert version.tags["training.base"] == "all-MiniLM-L6-v2"
    assert evaluated_benchmarks(version).keys() == {tiny_model.BENCHMARK}
    assert 0.5 < float(version.tags["evaluation.tiny.decision_accuracy"]) < 0.7
    table = per_question(client, version, tiny_model.BENCHMARK)
    assert set(table["system"]) == {"f0-one-pass", "f0-separate", "f_theta"} and len(table) == 360
    artifacts = {a.path for a in client.list_artifacts(version.run_id, "model")}
    assert {"model/MLmodel", "model/node_encoder_model.py"} <= artifacts
    files = [p for p in (workspace / ".canopy" / "mlartifacts").rglob("*") if p.is_file()]
    assert [p.name for p in files if p.suffix == ".safetensors"] == ["adapter_model.safetensors"]
    assert not [p for p in files if p.suffix in (".pkl", ".pickle", ".pt", ".bin")]


def test_equal_model_and_evaluation_are_one_version(workspace: Path) -> None:
    assert [register_candidate(workspace) for _ in range(2)] == ["1", "1"]
    tiny_model.write_evaluation(workspace, 0.65)
    assert register_candidate(workspace) == "2"
    tiny_model.write_evaluation(workspace, 0.6)
    assert register_candidate(workspace) == "1"
    alias = version_by_alias(open_client(workspace), CHALLENGER)
    assert alias is not None and str(alias.version) == "1"


def test_data_digest_follows_test_data_only(workspace: Path) -> None:
    from canopy.config import load_config

    config = load_config(workspace / "params.yaml")
    before = evaluation_data_digest(workspace, config, tiny_model.BENCHMARK)
    tiny_model.write_evaluation(workspace, 0.9)
    assert evaluation_data_digest(workspace, config, tiny_model.BENCHMARK) == before
    tiny_model.write_evaluation(workspace, 0.6, questions=119)
    assert evaluation_data_digest(workspace, config, tiny_model.BENCHMARK) != before


def test_data_digest_follows_what_a_benchmarks_rules_read_of_a_question(workspace: Path) -> None:
    """An option or a scale that is another makes another question of it."""
    from canopy.config import load_config
    from canopy.items import read_questions, write_questions

    config = load_config(workspace / "params.yaml")
    path = workspace / "data" / "benchmark" / tiny_model.BENCHMARK / "questions.parquet"
    before = evaluation_data_digest(workspace, config, tiny_model.BENCHMARK)
    first, *others = read_questions(path)
    write_questions(path, [replace(first, details=(("A", "a river"), ("B", "a lake"))), *others])
    assert evaluation_data_digest(workspace, config, tiny_model.BENCHMARK) != before


def test_a_registry_that_cannot_be_read_is_not_an_empty_one(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.exceptions import MlflowException

    client = open_client(workspace)
    assert version_by_alias(client, CHALLENGER) is None

    def fail(*_: object) -> None:
        raise MlflowException("database is locked")

    monkeypatch.setattr(client, "get_model_version_by_alias", fail)
    with pytest.raises(CanopyError, match="challenger: database is locked"):
        version_by_alias(client, CHALLENGER)


def test_version_of_another_canopy_is_registered_again(workspace: Path) -> None:
    client, _ = open_client(workspace), register_candidate(workspace)
    client.set_model_version_tag(MODEL, "1", "parts", json.dumps({"digest": "a", "hash_of_store": "b"}))
    version = version_by_alias(client, CHALLENGER)
    assert version is not None
    with pytest.raises(DataError, match=r"version 1 .* another version .*`canopy run --force registered_model`"):
        version_parts(version)
    assert register_candidate(workspace) == "2"
    again = version_by_alias(client, CHALLENGER)
    assert again is not None and version_parts(again).digest == again.tags["encoder.digest"]


def test_missing_evaluation_is_named(workspace: Path) -> None:
    (workspace / "data" / "evaluation" / tiny_model.BENCHMARK / "systems.parquet").unlink()
    with pytest.raises(DataError, match=r"systems\.parquet: no such file.*canopy run"):
        register_candidate(workspace)


@pytest.mark.slow
def test_registered_model_loads_and_answers(workspace: Path) -> None:
    import mlflow
    import pandas as pd

    register_candidate(workspace)
    client = open_client(workspace)
    version = version_by_alias(client, CHALLENGER)
    assert version is not None
    model = mlflow.pyfunc.load_model(client.download_artifacts(version.run_id, "model", str(workspace)))
    text = "The sky is blue today. The Aswan High Dam was finished in 1970. Cats sleep a lot."
    item = json.dumps({"id": "a", "modality": "text", "text": text})
    answers = model.predict(pd.DataFrame({"question": ["When was the Aswan High Dam finished?"], "item": [item]}))
    assert any("1970" in r["text"] for r in json.loads(answers[0]))
    assert version.source.startswith(f"runs:/{version.run_id}")
    assert client.get_registered_model(MODEL).aliases[CHALLENGER] == version.version


def test_a_benchmark_without_anything_to_measure_is_left_out(workspace: Path) -> None:
    from canopy.gold.fragments import GOLD_SCHEMA
    from canopy.gold.split import SPLIT_SCHEMA
    from canopy.items import write_table
    from orchestration.pipeline.params_file import set_params

    set_params(workspace, ["benchmarks.waiting.adapter=native", "benchmarks.waiting.path=raw"])
    for stage, name, schema in (("gold_spans", "gold", GOLD_SCHEMA), ("split", "splits", SPLIT_SCHEMA)):
        write_table(workspace / "data" / stage / "waiting" / f"{name}.parquet", [], schema)
    assert register_candidate(workspace) == "1"
    client = open_client(workspace)
    assert evaluated_benchmarks(version_by_alias(client, CHALLENGER)).keys() == {tiny_model.BENCHMARK}
    write_table(workspace / "data" / "gold_spans" / tiny_model.BENCHMARK / "gold.parquet", [], GOLD_SCHEMA)
    with pytest.raises(DataError, match="tiny, waiting: no test question with gold evidence"):
        register_candidate(workspace)
