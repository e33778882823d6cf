"""Registers a trained node encoder with the evaluation it passed, as a version that can be compared and promoted."""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from canopy.bundle.parts import ModelParts, part_sha256, read_parts
from canopy.config import Config, load_config
from canopy.digests import text_sha256
from canopy.errors import DataError, Shortage
from canopy.evaluation.systems import TUNED
from canopy.formatting import number
from canopy.scoring.measure import EVALUATION, measures_of
from orchestration.models.evaluation_data import evaluation_data_digest, measurable_benchmarks
from orchestration.models.packages import MODEL_PACKAGES
from orchestration.models.registry import CHALLENGER, MODEL, find_version, registry_lock
from orchestration.models.tracking import experiment_id, git_lineage, open_client, safe_name

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's evaluation on one benchmark.

    Parameters
    ----------
    path : Path
        The file with per-question values, ``systems.parquet``.
    data, values : str
        SHA-256 of the data it was measured on, and of that file.
    measures : mapping
        f_theta's measures over all questions.
    questions : int
        How many questions it was measured on.
    """

    path: Path
    data: str
    values: str
    measures: Mapping[str, float]
    questions: int


def register_candidate(workspace: Path, lineage: dict[str, str] | None = None) -> str:
    """Register the workspace's trained node encoder with its evaluation, as alias ``challenger``.

    Equal adapter, encoder settings and per-question evaluation values are the same version: a second call registers
    nothing.

    Parameters
    ----------
    lineage : dict
        Tags of the registering run, such as the Dagster run's id.

    Returns
    -------
    str
        The version.

    Raises
    ------
    DataError
        If a stage's output is missing, or nothing was measured.
    """
    config = load_config(workspace / "params.yaml")
    parts, evaluations = read_parts(workspace), _read_evaluations(workspace, config)
    content = [parts.digest, parts.adapter, {b: [e.data, e.values] for b, e in evaluations.items()}]
    fingerprint = text_sha256(json.dumps(content, sort_keys=True))
    client = open_client(workspace)
    with registry_lock(workspace):
        version = find_version(client, fingerprint)
        if version is None:
            tags = _version_tags(workspace, config, parts, evaluations, fingerprint)
            version = _create(client, workspace, config, evaluations, tags, lineage or {})
        client.set_registered_model_alias(MODEL, CHALLENGER, version.version)
    return str(version.version)


def _read_evaluations(workspace: Path, config: Config) -> dict[str, Evaluation]:
    """The evaluation of each benchmark that has something to measure."""
    benchmarks = measurable_benchmarks(workspace, config)
    if not benchmarks:
        raise Shortage(f"{', '.join(config.benchmarks)}: no test question with gold evidence, so nothing was "
                       "measured, and a model is registered only with what it was measured on. Give more questions, "
                       "with gold in other items, or mark some \"split\": \"test\"; the adapter is in "
                       f"{workspace / 'data' / 'node_encoder'} all the same")
    return {b: _read_evaluation(workspace, config, b) for b in benchmarks}


def _read_evaluation(workspace: Path, config: Config, benchmark: str) -> Evaluation:
    path = workspace / "data" / "evaluation" / benchmark / "systems.parquet"
    if not path.is_file():
        raise DataError(f"{path}: no such file; a model is registered with its evaluation: run `canopy run` first")
    table = pq.read_table(path).to_pandas()
    rows = table[table["system"] == TUNED]
    if rows.empty:
        raise DataError(f"{path}: holds no question, though the test split has some with gold; run `canopy run` first")
    columns, measures = {c: rows[c].to_numpy() for c in rows.columns}, {}
    for name, measure in measures_of(EVALUATION).items():
        top, low = measure.ratio(columns)
        if low.sum():
            measures[name] = float(top.sum() / low.sum())
    return Evaluation(path, evaluation_data_digest(workspace, config, benchmark), part_sha256(path), measures,
                      int(rows["question_id"].nunique()))


def _version_tags(workspace: Path, config: Config, parts: ModelParts, evaluations: Mapping[str, Evaluation],
                  fingerprint: str) -> dict[str, str]:
    """What a version states: digests of its parts, the encoder's settings, its training and its evaluation."""
    encoder, training = config.encoder, _training_tags(workspace)
    tags = {
        "fingerprint": fingerprint, "parts": json.dumps(asdict(parts), sort_keys=True),
        "encoder.digest": parts.digest, "adapter.sha256": parts.adapter, "store.manifest_sha256": parts.store,
        "index.manifest_sha256": parts.index, "corpus.sha256": parts.corpus, "encoder.kind": encoder.kind,
        "encoder.mode": encoder.mode, "encoder.window": str(encoder.window_tokens),
        "encoder.overlap": str(encoder.overlap),
        "encoder.pooling": training.get("training.pooling", "mean"), **training,
    }
    for benchmark, e in evaluations.items():
        head = f"evaluation.{benchmark}"
        tags |= {f"{head}.data_sha256": e.data, f"{head}.values_sha256": e.values}
        tags[f"{head}.questions"] = str(e.questions)
        tags |= {f"{head}.{name}": number(value) for name, value in e.measures.items()}
    return {safe_name(name): value for name, value in tags.items()}


def _training_tags(workspace: Path) -> dict[str, str]:
    """What training.json says of the base model and the training, as tags."""
    path = workspace / "data" / "node_encoder" / "training.json"
    try:
        training = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `canopy run` first") from None
    except ValueError as e:
        raise DataError(f"{path}: not JSON: {e}; run `canopy run` to train again") from None
    return {f"training.{k}": str(v) for k, v in training.items() if isinstance(v, (str, int, float, bool))}


def _create(client: MlflowClient, workspace: Path, config: Config, evaluations: Mapping[str, Evaluation],
            tags: dict[str, str], lineage: Mapping[str, str]) -> ModelVersion:
    """A new version, with the run that holds its model and its evaluation."""
    run_tags = {"canopy.stage": "registration", **git_lineage(Path(__file__).resolve().parent), **lineage}
    run_id = client.create_run(experiment_id(client), run_name="registration", tags=run_tags).info.run_id
    try:
        _log_run(client, run_id, workspace, config, evaluations, tags["fingerprint"])
        _ensure_model(client)
        version = client.create_model_version(MODEL, source=f"runs:/{run_id}/model", run_id=run_id, tags=tags)
    except BaseException:
        with suppress(Exception):  # the error that is on its way is the one to show
            client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id, "FINISHED")
    return version


def _log_run(client: MlflowClient, run_id: str, workspace: Path, config: Config,
             evaluations: Mapping[str, Evaluation], fingerprint: str) -> None:
    """Write model, evaluation files and measures into the registering run."""
    from mlflow.entities import Metric, RunTag

    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder) / "model", workspace, config)
        client.log_artifacts(run_id, str(Path(folder) / "model"), "model")
    for benchmark, e in evaluations.items():
        for path in (e.path, e.path.with_name("summary.json")):
            if path.is_file():
                client.log_artifact(run_id, str(path), f"evaluation/{benchmark}")
    metrics = [Metric(safe_name(f"{b}.{name}"), value, 0, 0)
               for b, e in evaluations.items() for name, value in e.measures.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag("fingerprint", fingerprint)])


def _ensure_model(client: MlflowClient) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.get_registered_model(MODEL)
    except MlflowException:
        client.create_registered_model(MODEL, description=(
            "CANOPY's node encoder f_theta: a LoRA adapter on a frozen f0, with the evaluation it passed. Aliases: "
            "challenger, champion, previous_champion."))


def save_model(target: Path, workspace: Path, config: Config) -> None:
    """Write an MLflow model as code; the adapter (safetensors) and the settings are its artifacts.

    Parameters
    ----------
    target : Path
        The model's folder; the settings are written beside it.
    """
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ColSpec, Schema

    settings = target.parent / "settings.json"
    content = {"encoder": config.encoder.model_dump(mode="json"), "hierarchy": config.hierarchy.model_dump(mode="json")}
    settings.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
    packages = (*MODEL_PACKAGES, *config.encoder.packages)
    mlflow.pyfunc.save_model(
        path=str(target), python_model=str(Path(__file__).with_name("node_encoder_model.py")),
        artifacts={"adapter": str(workspace / "data" / "node_encoder" / "adapter"), "settings": str(settings)},
        signature=ModelSignature(inputs=Schema([ColSpec("string", "question"), ColSpec("string", "item")]),
                                 outputs=Schema([ColSpec("string")])),
        pip_requirements=[f"{p}=={importlib.metadata.version(p)}" for p in packages])
