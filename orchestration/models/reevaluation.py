"""Measures a registered version on data that it was not evaluated on.

Champion and challenger can thus be compared after the test data changed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from canopy.config import Config
from canopy.evaluation.systems import TUNED
from canopy.items import Item, read_items, read_questions, write_table
from canopy.paths import Paths
from canopy.progress import counted
from canopy.settings import EncoderSettings, parse_encoder

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

    from canopy.encoder.base import NodeEncoder

_ITEMS_AT_ONCE = 256


def evaluate_again(workspace: Path, config: Config, client: MlflowClient, version: ModelVersion, benchmark: str,
                   data: str) -> pd.DataFrame:
    """Per-question values of a version's encoder on a benchmark's current test questions.

    Encodes the nodes of the gold items with the version's adapter (out of its artifacts) and measures as the stage
    ``evaluation`` does. The result is kept with the version's run under the digest of the data, so that it is computed
    once.

    Parameters
    ----------
    data : str
        Digest of the current evaluation data (``evaluation_data.evaluation_data_digest``).

    Returns
    -------
    pandas.DataFrame
        Rows of ``systems.parquet`` for f_theta.
    """
    folder = f"evaluated_again/{benchmark}-{data[:16]}"
    with tempfile.TemporaryDirectory() as name:
        values = Path(name) / "systems.parquet"
        if not any(a.path == f"{folder}/systems.parquet" for a in client.list_artifacts(version.run_id, folder)):
            model = Path(client.download_artifacts(version.run_id, "model/artifacts", name))
            settings = json.loads((model / "settings.json").read_text(encoding="utf-8"))
            encoder = parse_encoder(settings["encoder"], lenient=True)
            _write_values(values, workspace, config, encoder, model / "adapter", benchmark)
            client.log_artifact(version.run_id, str(values), folder)
        return pq.read_table(client.download_artifacts(version.run_id, f"{folder}/systems.parquet", name)).to_pandas()


def _write_values(target: Path, workspace: Path, config: Config, settings: EncoderSettings, adapter: Path,
                  benchmark: str) -> None:
    """Measure the encoder with an adapter, and write its rows of ``systems.parquet``."""
    from canopy.encoder.loading import load_encoder
    from canopy.evaluation.cases import build_cases, read_words
    from canopy.evaluation.measurement import measure
    from canopy.evaluation.rows import SCHEMAS

    data, hierarchy = workspace / "data", config.hierarchy
    gold = pq.read_table(data / "gold_spans" / benchmark / "gold.parquet").to_pylist()
    splits = pq.read_table(data / "split" / benchmark / "splits.parquet").to_pylist()
    instances = pq.read_table(data / "training_instances" / benchmark / "instances.parquet",
                              filters=[("split", "=", "test")]).to_pylist()
    cases = build_cases(gold, splits, instances, hierarchy.branching)
    if not cases.questions:
        write_table(target, [], SCHEMAS["systems"])
        return
    inputs = data / "benchmark" / benchmark
    items = {i.id: i for i in read_items(inputs / "items.parquet", sorted(set(cases.pair_item)))}
    questions = {q.id: q for q in read_questions(inputs / "questions.parquet")}
    encoder = load_encoder(settings, adapter=adapter, media=Paths(workspace).media(config))
    queries = encoder.encode_queries([questions[q].question for q in cases.questions])
    vectors = _encode(encoder, list(items.values()), config)
    scores = np.concatenate([vectors[i].astype(np.float32) @ queries[q]
                             for i, q in zip(cases.pair_item, cases.pair_question, strict=True)])
    words = read_words(cases, items, questions, hierarchy.segment_seconds, encoder.count_tokens)
    rows = measure(cases, words, {TUNED: scores}, config.evaluation).systems
    write_table(target, [r for r in rows if r["system"] == TUNED], SCHEMAS["systems"])


def _encode(encoder: NodeEncoder, items: list[Item], config: Config) -> dict[str, np.ndarray]:
    """Node vectors of each item, fp16[nodes, dim]: half precision, as in the node store."""
    from canopy.embeddings.build import node_request

    hierarchy = config.hierarchy
    vectors: dict[str, np.ndarray] = {}
    starts = range(0, len(items), _ITEMS_AT_ONCE)
    for start in counted(starts, "encoding gold items", len(starts), "parts"):
        part = items[start:start + _ITEMS_AT_ONCE]
        requests = [node_request(i, hierarchy.branching, hierarchy.segment_seconds) for i in part]
        encoded = encoder.encode_nodes(requests)
        vectors |= {i.id: v.astype(np.float16) for i, v in zip(part, encoded, strict=True)}
    return vectors
