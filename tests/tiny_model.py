"""A small workspace as the pipeline leaves it: nine items, an adapter, stores, an index, an evaluation."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import write_json
from canopy.config import load_config
from canopy.embeddings.build import build_store
from canopy.embeddings.store import NodeStore
from canopy.encoder.adapter import add_adapter, save_adapter
from canopy.encoder.loading import load_encoder
from canopy.evaluation.rows import SCHEMAS
from canopy.gold.split import SPLIT_SCHEMA
from canopy.hierarchy.leaves import cut_item
from canopy.hierarchy.tree import build_tree
from canopy.index.item_index import ItemIndex
from canopy.items import Annotation, Cue, Item, Question, write_annotations, write_items, write_questions, write_table
from canopy.paths import Paths
from canopy.stages.registry import PER_BENCHMARK, STAGES

BENCHMARK = "tiny"
PARAMS = """\
benchmarks:
  tiny: {adapter: native, path: raw}
store: {shards: 2}
evaluation: {resamples: 200}
"""
ITEMS = [
    Item("tiny/nile", BENCHMARK, "text", "Nile", text=(
        "The Nile flows north through eleven countries. It is about 6,650 kilometres long. Its two main branches meet "
        "at Khartoum, the capital of "
        "Sudan. The Aswan High Dam was finished in 1970. Farmers have used its floods for millennia. The delta begins "
        "north of Cairo.")),
    Item("tiny/danube", BENCHMARK, "text", "Danube", text=(
        "The Danube rises in the Black Forest. It passes through Vienna, Bratislava, Budapest and Belgrade. No other "
        "river crosses as many "
        "capitals. It ends in a delta on the Black Sea in Romania. Johann Strauss named a waltz after it.")),
    Item("tiny/curie", BENCHMARK, "text", "Marie Curie", text=(
        "Marie Curie was born in Warsaw in 1867. She moved to Paris to study physics. In 1903 she shared the Nobel "
        "Prize in Physics. In 1911 she "
        "won the Nobel Prize in Chemistry. She named polonium after Poland. She died in 1934.")),
    Item("tiny/mars", BENCHMARK, "text", "Mars", text=(
        "Mars is the fourth planet from the Sun. Its red colour comes from iron oxide. Olympus Mons is the tallest "
        "volcano known. The planet has "
        "two small moons, Phobos and Deimos.")),
    Item("tiny/elements", BENCHMARK, "table", "Noble gases", "Properties",
         header=("Element", "Symbol", "Boiling point in kelvin"), rows=(
        ("Helium", "He", "4.2"), ("Neon", "Ne", "27.1"), ("Argon", "Ar", "87.3"), ("Krypton", "Kr", "119.9"),
        ("Xenon", "Xe", "165.1"),
        ("Radon", "Rn", "211.5"))),
    Item("tiny/lakes", BENCHMARK, "table", "Great Lakes", header=("Lake", "Area in square kilometres"), rows=(
        ("Superior", "82,103"), ("Huron", "59,590"), ("Michigan", "57,757"), ("Erie", "25,667"),
        ("Ontario", "19,011"))),
    Item("tiny/diagram", BENCHMARK, "image", "Water cycle", caption="A diagram of evaporation and rain",
         words="evaporation condensation rain"),
    Item("tiny/launch", BENCHMARK, "video", "Rocket launch", duration=150.0, caption="A rocket is launched", cues=(
        Cue(2, 8, "The crew walks to the launch pad."), Cue(35, 40, "The engines are checked one last time."),
        Cue(62, 70, "Ignition: the rocket leaves the pad."), Cue(95, 99, "The boosters separate."),
        Cue(121, 128, "The capsule reaches orbit."))),
    Item("tiny/haiku", BENCHMARK, "text", "", text="An old silent pond."),
]


def make_adapter(folder: Path, seed: int = 1, strength: float = 0.02) -> None:
    """A LoRA adapter with small random weights: not trained, but not f0 either."""
    import torch

    from canopy.encoder.minilm import model_folder
    from canopy.encoder.vision_imports import prepare_torchvision

    prepare_torchvision()
    from transformers import BertModel

    torch.manual_seed(seed)
    model = add_adapter(BertModel.from_pretrained(model_folder(), add_pooling_layer=False, local_files_only=True),
                        rank=2, alpha=4, dropout=0.0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=strength)
    folder.mkdir(parents=True, exist_ok=True)
    save_adapter(model, folder)


def write_model(root: Path, seed: int = 1) -> None:
    """What node_encoder, node_embeddings, corpus and item_index write."""
    config = load_config(root / "params.yaml")
    data = root / "data"
    (data / "corpus").mkdir(parents=True, exist_ok=True)
    write_items(data / "corpus" / "items.parquet", ITEMS)
    adapter = data / "node_encoder" / "adapter"
    make_adapter(adapter, seed)
    write_json(data / "node_encoder" / "training.json",
               {"base": "all-MiniLM-L6-v2", "mode": config.encoder.mode, "steps": 0, "seed": seed})
    f0 = load_encoder(config.encoder)
    for name, encoder in (("f0", f0), ("f_theta", load_encoder(config.encoder, adapter=adapter))):
        build_store(data / "node_embeddings" / name, root / ".canopy" / "work" / name, ITEMS, encoder,
                    shards=config.store.shards,
                    branching=config.hierarchy.branching, segment_seconds=config.hierarchy.segment_seconds)
    store = NodeStore.open(data / "node_embeddings" / "f0")
    ItemIndex.build(store.item_ids, store.roots(), digest=f0.digest).save(data / "item_index")


def write_evaluation(root: Path, accuracy: float, baseline: float = 0.4, questions: int = 120, seed: int = 3,
                     benchmark: str = BENCHMARK) -> None:
    """Made-up values per question: f_theta decides right at the rate ``accuracy``, f0 at ``baseline``."""
    data, random = root / "data", np.random.default_rng(seed)
    ids = [f"{benchmark}/q{n}" for n in range(questions)]
    source, gold = data / "benchmark" / benchmark, data / "gold_spans" / benchmark
    write_items(source / "items.parquet", ITEMS)
    write_questions(source / "questions.parquet",
                    [Question(q, benchmark, f"What is meant by number {n}?", ("it",)) for n, q in enumerate(ids)])
    write_annotations(source / "annotations.parquet",
                      [Annotation(q, ITEMS[n % 4].id, "chars", ((0, 5),)) for n, q in enumerate(ids)])
    gold.mkdir(parents=True, exist_ok=True)
    counts = [cut_item(ITEMS[n % 4]).count for n in range(questions)]
    common = {"question_id": ids, "item_id": [ITEMS[n % 4].id for n in range(questions)],
              "group": pa.array([0] * questions, pa.int32()),
              "count": pa.array(counts, pa.int32()), "modality": ["text"] * questions}
    pq.write_table(pa.table({**common, "fragments": pa.array([[0]] * questions, pa.list_(pa.int32())),
                             "coverage": ["located"] * questions}),
                   gold / "gold.parquet")
    trees = [build_tree(n, 2) for n in counts]
    instances = data / "training_instances" / benchmark
    instances.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({
        **common, "split": ["test"] * questions, "node": pa.array([0] * questions, pa.int32()),
        "lo": pa.array([0] * questions, pa.int32()),
        "hi": pa.array(counts, pa.int32()), "depth": pa.array([0] * questions, pa.int32()),
        "fully_gold": [False] * questions,
        "child_nodes": pa.array([t.children(0).tolist() for t in trees], pa.list_(pa.int32())),
        "child_gold": [[bool(t.lo[c] == 0) for c in t.children(0)] for t in trees]}), instances / "instances.parquet")
    write_table(data / "split" / benchmark / "splits.parquet", [{"question_id": q, "split": "test"} for q in ids],
                SPLIT_SCHEMA)
    rows = []
    for system, rate in (("f0-one-pass", baseline), ("f0-separate", baseline - 0.05), ("f_theta", accuracy)):
        for q in ids:
            held = int(random.binomial(4, rate))
            rows.append({"question_id": q, "system": system, "decision_accuracy": held / 4, "gold_recall": rate,
                         "kept_tokens": 40,
                         "whole_tokens": 100, "pruned": 1.0, "answer_in_evidence": float("nan"), "decisions": 4,
                         "decisions_held": held,
                         "refinable": 1, "pruned_items": 1})
    write_table(data / "evaluation" / benchmark / "systems.parquet", rows, SCHEMAS["systems"])
    for stage in STAGES:
        out = Paths(root).output(stage, benchmark if stage in PER_BENCHMARK else None)
        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.json").write_text(json.dumps({"metrics": {}, "checks": []}))


def make_workspace(root: Path, accuracy: float = 0.6) -> Path:
    """A workspace with everything that registration, promotion and serving read."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(PARAMS)
    shutil.copy(Path(__file__).resolve().parents[1] / "dvc.yaml", root)
    write_model(root)
    write_evaluation(root, accuracy)
    return root


def copy_workspace(made: Path, target: Path) -> Path:
    """A fresh copy, with a copy of an empty MLflow database, which takes seconds to make."""
    from orchestration.models.tracking import artifact_root, open_client

    open_client(made)
    shutil.copytree(made, target)
    with sqlite3.connect(target / ".canopy" / "mlflow.db") as database:
        database.execute("update experiments set artifact_location = ? where name = 'canopy'",
                         (artifact_root(target).as_uri(),))
    database.close()
    return target
