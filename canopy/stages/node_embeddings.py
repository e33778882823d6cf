"""Stage `node_embeddings`: every node of every item under f0 and f_theta; only what is not held is encoded."""

from __future__ import annotations

import shutil

import pyarrow.parquet as pq

from canopy.config import Config
from canopy.corpus.reader import Corpus
from canopy.embeddings.build import build_store, node_request
from canopy.embeddings.store import BRANCHING, PER_MODALITY
from canopy.encoder.base import NodeEncoder
from canopy.encoder.by_modality import ModalityEncoder
from canopy.encoder.loading import load_encoder
from canopy.paths import Paths
from canopy.progress import counted, progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("node_embeddings", per_benchmark=False, group="retrieval", kinds=("numpy",), reads={
    "corpus": ("corpus_items",),
    "gold_spans": ("gold",),
    "split": ("splits", "gold"),
    "node_embeddings": ("gold", "corpus", "folded"),
})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Bring the stores ``f0``, ``f_theta`` and ``f0_other`` under ``data/node_embeddings`` up to date.

    ``f0`` and ``f_theta`` hold the corpus, exact duplicates once, in the configured mode. ``f0_other`` holds f0 in the
    other mode, if the encoder has two, for the gold items of the test questions only: f_theta is compared with the
    better of the two. ``f_theta_per_modality`` exists if each modality has an adapter, ``f_theta_branching_<B>`` for
    each of ``store.branchings``; regions that two hierarchies share are encoded once.
    """
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    corpus = Corpus.open(paths.output("corpus"))
    items = list(corpus.encoded_items())
    compared = {corpus.folds.exact_representative(i) for i in _test_items(config, paths)}
    adapter = paths.output("node_encoder") / "adapter"
    plans = {"f0": (None, config.encoder.mode, items), "f_theta": (adapter, config.encoder.mode, items)}
    folders = sorted(paths.output("node_encoder").glob("by_modality/*"))
    by_modality = {p.name: p / "adapter" for p in folders if p.is_dir()}
    if by_modality:
        plans[PER_MODALITY] = (adapter, config.encoder.mode, items)
    for mode in config.encoder.modes[1:]:
        plans["f0_other"] = (None, mode, [i for i in items if i.id in compared])
    sizes = {f"{BRANCHING}{b}": b for b in config.store.branchings if b != config.hierarchy.branching}
    plans |= dict.fromkeys(sizes, plans["f_theta"])
    out = paths.output("node_embeddings")
    out.mkdir(parents=True, exist_ok=True)
    for extra in out.iterdir():
        if extra.name not in {*plans, "summary.json"} and not extra.name.startswith("."):
            shutil.rmtree(extra) if extra.is_dir() else extra.unlink()
    result = StageResult(checks=checks)
    tracker.log_params({"mode": config.encoder.mode, "shards": config.store.shards,
                        "branching": config.hierarchy.branching})
    seconds = config.hierarchy.segment_seconds
    for variant, (lora, mode, encoded) in plans.items():
        encoder: NodeEncoder = load_encoder(config.encoder, lora, mode, paths.media(config))
        if variant == PER_MODALITY:
            own = {m: load_encoder(config.encoder, p, mode, paths.media(config)) for m, p in by_modality.items()}
            encoder = ModalityEncoder(encoder, own)
        branching = sizes.get(variant, config.hierarchy.branching)
        items_cut = counted(encoded, "cutting items", len(encoded), "items")
        nodes = sum(len(node_request(i, branching, seconds).lo) for i in items_cut)
        with progress(f"encoding, {variant} ({mode})", nodes, "nodes") as advance:
            counts = build_store(out / variant, paths.work("node_embeddings") / variant, encoded, encoder,
                                 shards=config.store.shards, branching=branching, segment_seconds=seconds,
                                 advance=advance, beside=[out / "f_theta"] if variant in sizes else [])
        tracker.log_metrics({f"{variant}_encoded": float(counts.encoded),
                             f"{variant}_shards_written": float(counts.shards_written)})
        result.notes.append(f"{variant}: {counts.encoded} of {counts.nodes} nodes encoded, "
                            f"{counts.shards_written} shards written, {counts.shards_kept} kept.")
        result.notes += encoder.notes
        result.metrics |= {f"{variant}_nodes": float(counts.nodes), f"{variant}_items": float(len(encoded))}
    # What this run had to encode depends on what was held, so it stays out of the hashed summary.
    write_summary(out, StageResult(metrics=dict(result.metrics), checks=checks))
    return result


def _test_items(config: Config, paths: Paths) -> set[str]:
    """Gold items of the test questions of every benchmark."""
    ids: set[str] = set()
    for b in config.benchmarks:
        splits = pq.read_table(paths.output("split", b) / "splits.parquet", filters=[("split", "=", "test")])
        gold = pq.read_table(paths.output("gold_spans", b) / "gold.parquet", columns=["question_id", "item_id"])
        test = set(splits["question_id"].to_pylist())
        pairs = zip(gold["question_id"].to_pylist(), gold["item_id"].to_pylist(), strict=True)
        ids.update(i for q, i in pairs if q in test)
    return ids
