"""The pipeline with a tiny Qwen3-VL: every stage over texts, tables, images and videos, and the service."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from canopy.config import load_config
from canopy.embeddings.store import NodeStore
from canopy.errors import DataError
from canopy.paths import Paths
from canopy.stages.base import NullTracker
from canopy.stages.registry import PER_BENCHMARK, load_stage
from canopy.validation.checker import RuleValidator
from orchestration.pipeline.params_file import read_overlay, set_params
from tests.encoder.conftest import write_media
from tests.stage_order import stages_in_order
from tests.tiny_qwen3_vl import tiny_config

ROOT = Path(__file__).resolve().parents[2]
CITIES = ("Lyon", "Linz", "Turin", "Rouen", "Porto", "Ghent", "Bergen", "Malmo")


def write_documents(folder: Path) -> Path:
    """Eight texts, eight tables, an image and a video in the native format, with a question each for what has parts."""
    write_media(folder / "media")
    items, questions = [], []
    for n, city in enumerate(CITIES):
        sentences = [f"{city} lies on a river.", f"Its mayor of {1900 + n} collected stamps.",
                     "Visitors come in spring.", f"It makes steel number {n}."]
        text = " ".join(sentences)
        items += [{"id": f"t{n}", "modality": "text", "title": city, "text": text},
                  {"id": f"b{n}", "modality": "table", "title": f"Ships of {city}", "header": ["Ship", "Tons"],
                   "rows": [["Ada", f"{n}"], ["Bee", f"1{n}"], ["Cat", f"2{n}"]]}]
        start = text.index(sentences[1])
        questions += [{"id": f"qt{n}", "question": f"What did the mayor of {city} collect?", "answers": ["stamps"],
                       "gold": [{"item": f"t{n}", "chars": [[start, start + len(sentences[1])]]}]},
                      {"id": f"qb{n}", "question": f"How heavy is the ship Bee of {city}?", "answers": [f"1{n}"],
                       "gold": [{"item": f"b{n}", "rows": [1]}]}]
    items += [{"id": "i", "modality": "image", "title": "Noise", "media": "media/noise.png", "caption": "Many colours"},
              {"id": "v", "modality": "video", "media": "media/film.mp4", "duration": 95.0, "caption": "Three colours",
               "cues": [[2, 5, "It is red."]]}]
    questions += [{"id": "qv", "question": "When is it green?", "answers": ["later"],
                   "gold": [{"item": "v", "seconds": [[31, 59]]}]},
                  {"id": "qi", "question": "What has many colours?", "answers": ["noise"], "gold": [{"item": "i"}]}]
    for name, rows in (("items", items), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def run_all(root: Path) -> dict[str, list[str]]:
    """Run every stage; the notes of each."""
    config, notes = load_config(root / "params.yaml"), {}
    for stage in stages_in_order():
        for benchmark in config.benchmarks if stage in PER_BENCHMARK else (None,):
            notes[stage] = load_stage(stage)(config, Paths(root), NullTracker(), RuleValidator(),
                                             benchmark=benchmark).notes
    return notes


@pytest.mark.slow
def test_every_stage_runs_with_qwen3_vl_and_serves_what_it_made(tiny_vl, tmp_path):
    write_documents(tmp_path / "raw")
    encoder = {k: v for k, v in tiny_config(tiny_vl).model_dump(mode="json").items() if k != "window"}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({
        "benchmarks": {"small": {"adapter": "native", "path": "raw"}}, "encoder": encoder, "ingest": {"ocr": False},
        "store": {"shards": 2},
        "training": {"epochs": 1, "batch": 8, "learning_rate": 1e-3}, "evaluation": {"resamples": 100},
        "answers": {"systems": ["canopy", "vanilla", "gold-item"], "k": 3}}))
    notes = run_all(tmp_path)
    data = tmp_path / "data"
    # One mode: no second f0.
    assert sorted(p.name for p in (data / "node_embeddings").iterdir()) == ["f0", "f_theta", "summary.json"]
    assert not any("by its words alone" in n for own in notes.values() for n in own)
    f0, tuned = (NodeStore.open(data / "node_embeddings" / name) for name in ("f0", "f_theta"))
    assert len(f0) == 2 * len(CITIES) + 2 and f0.mode == "separate" and f0.digest != tuned.digest
    assert not np.allclose(f0.vectors("small/v"), tuned.vectors("small/v"), atol=1e-3)
    systems = set(pq.read_table(data / "evaluation" / "small" / "systems.parquet")["system"].to_pylist())
    assert {"f0-separate", "f_theta", "whole-item"} <= systems and "f0-one-pass" not in systems
    training = json.loads((data / "node_encoder" / "training.json").read_text())
    assert (training["base"], training["pooling"],
            training["dtype"]) == (tiny_vl.name, "last token", "fp32") and "window" not in training
    told = (data / "report" / "report.md").read_text()
    assert tiny_vl.name in told and "MiniLM" not in told and str(tiny_vl.parent) not in told

    manifests = {p: p.read_bytes() for p in data.rglob("manifest.json")}
    again = run_all(tmp_path)
    assert any("f_theta: 0 of" in n for n in again["node_embeddings"])
    assert {p: p.read_bytes() for p in manifests} == manifests

    from canopy.bundle.parts import read_parts
    from serving.bundle import export_bundle
    from serving.compressor import ServedCompressor
    from serving.jobs import CompressJob
    from serving.raw_items import parse_raw_items

    bundle = export_bundle(tmp_path, load_config(tmp_path / "params.yaml"), tmp_path / "bundles", name="m", version="1",
                           pinned=read_parts(tmp_path))
    served = ServedCompressor.open(bundle)
    sent, errors = parse_raw_items([{"id": "own", "modality": "text",
                                     "text": "Steel is made here. Nobody came. It rains."}])
    assert not errors
    for job in (CompressJob(question="When is it green?", item_ids=["small/v", "small/t1"]),
                CompressJob(question="Who came?", items=sent)):
        outcome, = served.run([job])
        assert outcome.error is None or outcome.error == ""
        assert all(i.regions for i in outcome.items) and len(outcome.items) == len(job.item_ids) + len(job.items)


def test_the_overlays_give_valid_parameters_and_lead_there_and_back(tmp_path):
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    before = load_config(tmp_path / "params.yaml")
    set_params(tmp_path, read_overlay(ROOT / "params" / "qwen3_vl.yaml"))
    paper = load_config(tmp_path / "params.yaml")
    assert (paper.encoder.kind, paper.encoder.modes) == ("qwen3_vl", ("separate",))
    assert paper.benchmarks == before.benchmarks
    assert (paper.training.rank, paper.training.alpha, paper.training.dropout, paper.training.learning_rate,
            paper.training.epochs) == (8, 16, 0.05, 5e-5, 2)
    (tmp_path / "models" / "Mine").mkdir(parents=True)
    set_params(tmp_path, ["encoder.model=models/Mine"])
    assert load_config(tmp_path / "params.yaml").encoder.model == str((tmp_path / "models" / "Mine").resolve())
    set_params(tmp_path, read_overlay(ROOT / "params" / "minilm.yaml"))
    after = load_config(tmp_path / "params.yaml")
    assert after.training == before.training and after.store == before.store
    assert {k: v for k, v in after.encoder.model_dump().items()
            if k in ("kind", "mode", "window", "overlap", "batch_tokens", "device")} == {
        k: v for k, v in before.encoder.model_dump().items()
        if k in ("kind", "mode", "window", "overlap", "batch_tokens", "device")}
    for bad, match in ((["encoder.kind=qwen3_vl"], "encoder.mode=separate"),
                       (["encoder.kind=qwen3_vl", "encoder.mode=separate", "encoder.model=''"], "needs model"),
                       (["encoder.device=cuda"], "minilm runs on the CPU"), (["encoder.kind=bert"], "encoder.kind")):
        with pytest.raises(DataError, match=match):
            set_params(tmp_path, bad)
    for text in ("- a\n", "a: [", None):
        if text is not None:
            (tmp_path / "bad.yaml").write_text(text)
        with pytest.raises(DataError, match=r"\.yaml: "):
            read_overlay(tmp_path / ("bad.yaml" if text is not None else "absent.yaml"))
