"""Measures a registered version on data that it was not evaluated on, so that champion and challenger can be compared after the data changed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from canopy.config import Config, Encoder
from canopy.evaluation.measures import TUNED
from canopy.items import read_items, read_questions, write_table
from canopy.paths import Paths

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

_ITEMS_AT_ONCE = 256


def evaluate_again(workspace: Path, config: Config, client: MlflowClient, version: ModelVersion, benchmark: str, data: str) -> Any:
    """Per-question values of a version's encoder on a benchmark's current test questions.

    Encodes the nodes of the gold items with the version's adapter (out of its artifacts) and measures as the stage ``evaluation`` does; the result is
    kept with the version's run under the digest of the data, so that it is computed once.

    Parameters
    ----------
    data : str
        Digest of the current evaluation data (``registry.evaluation_data_digest``).

    Returns
    -------
    pandas.DataFrame
        Rows of ``systems.parquet`` for f_theta.
    """
    from canopy.evaluation.measurement import SCHEMAS

    folder = f"evaluated_again/{benchmark}-{data[:16]}"
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        if not any(a.path == f"{folder}/systems.parquet" for a in client.list_artifacts(version.run_id, folder)):
            model = Path(client.download_artifacts(version.run_id, "model/artifacts", name))
            settings = json.loads((model / "settings.json").read_text(encoding="utf-8"))
            rows = _measure(workspace, config, Encoder.model_validate(settings["encoder"]), model / "adapter", benchmark)
            write_table(here / "systems.parquet", rows, SCHEMAS["systems"])
            client.log_artifact(version.run_id, str(here / "systems.parquet"), folder)
        return pq.read_table(client.download_artifacts(version.run_id, f"{folder}/systems.parquet", name)).to_pandas()


def _measure(workspace: Path, config: Config, settings: Encoder, adapter: Path, benchmark: str) -> list[dict[str, Any]]:
    from canopy.embeddings.build import node_request
    from canopy.encoder.loading import load_encoder
    from canopy.evaluation.cases import build_cases, read_words
    from canopy.evaluation.measurement import measure

    data, hierarchy = workspace / "data", config.hierarchy
    gold = pq.read_table(data / "gold_spans" / benchmark / "gold.parquet").to_pylist()
    splits = pq.read_table(data / "gold_spans" / benchmark / "splits.parquet").to_pylist()
    instances = pq.read_table(data / "training_instances" / benchmark / "instances.parquet", filters=[("split", "=", "test")]).to_pylist()
    cases = build_cases(gold, splits, instances, hierarchy.branching)
    if not cases.questions:
        return []
    items = {i.id: i for i in read_items(data / "benchmark" / benchmark / "items.parquet", sorted(set(cases.pair_item)))}
    questions = {q.id: q for q in read_questions(data / "benchmark" / benchmark / "questions.parquet")}
    encoder = load_encoder(settings, adapter=adapter, media=Paths(workspace).media(config))
    queries = encoder.encode_queries([questions[q].question for q in cases.questions])
    vectors: dict[str, np.ndarray] = {}
    wanted = list(items.values())
    for start in range(0, len(wanted), _ITEMS_AT_ONCE):
        part = wanted[start:start + _ITEMS_AT_ONCE]
        encoded = encoder.encode_nodes([node_request(i, hierarchy.branching, hierarchy.segment_seconds) for i in part])
        vectors |= {i.id: v.astype(np.float16) for i, v in zip(part, encoded, strict=True)}  # half precision, as in the node store
    scores = np.concatenate([vectors[i].astype(np.float32) @ queries[q] for i, q in zip(cases.pair_item, cases.pair_question, strict=True)])
    words = read_words(cases, items, questions, hierarchy.segment_seconds, encoder.count_tokens)
    return [r for r in measure(cases, words, {TUNED: scores}, config.evaluation).systems if r["system"] == TUNED]
