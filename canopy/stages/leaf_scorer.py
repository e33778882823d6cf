"""Stage `leaf_scorer`: the probability that a leaf of a retrieved item is gold, fitted on the training questions."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.forests import ForestReader, GoldForest
from canopy.answers.sides import read_side
from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.corpus.reader import Corpus
from canopy.embeddings.store import NodeStore
from canopy.encoder.loading import load_encoder
from canopy.index.item_index import ItemIndex
from canopy.items import write_table
from canopy.leaf_scorer.features import NAMES, leaf_features
from canopy.leaf_scorer.fitting import calibration, cross_fit, fit_trees
from canopy.leaf_scorer.scorer import LeafScorer
from canopy.leaf_scorer.stems import Rarity
from canopy.paths import Paths
from canopy.progress import counted, progress
from canopy.selection.forest import choose_at_prices, price_for_recall
from canopy.selection.layout import fragments_kept
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.outcomes import CheckOutcome
from canopy.validation.protocol import Validator

STAGE = Stage("leaf_scorer", per_benchmark=False, group="model", kinds=("scikitlearn",), reads={
    "benchmark": ("items", "questions"),
    "gold_spans": ("gold",),
    "split": ("splits",),
})
FOLDS = 4
SHARES = (0.8, 0.9, 0.95, 0.98)  # of the whole items' gold recall, each with its price
PRICES = np.exp(np.linspace(np.log(2e-5), np.log(0.06), 40))


@dataclass(frozen=True, slots=True)
class _Row:
    forest: GoldForest
    benchmark: str
    fold: int


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Fit the leaf scorer into ``data/leaf_scorer``: trees, rarity of words, prices, training table, calibration.

    Trained on the training questions over what they retrieve, so that leaves of items without gold are negatives. The
    prices come from probabilities of scorers that did not see the question. Without enough questions no scorer is
    written.
    """
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    rows = _read(config, paths)
    gold = [r.forest.gold for r in rows]
    if len({r.fold for r, g in zip(rows, gold, strict=True) if g.any()}) < 2:
        return _write_none(paths, checks)
    rarity = Rarity.of(Corpus.open(paths.output("corpus")).encoded_items())
    features = [leaf_features(r.forest.forest, rarity)
                for r in counted(rows, "features of retrieved leaves", len(rows), "questions")]
    x, y = np.concatenate(features), np.concatenate(gold)
    folds = np.repeat([r.fold for r in rows], [len(f) for f in features])
    with progress("fitting the leaf scorer"):
        probabilities = cross_fit(x, y, folds, NAMES, config.training.seed)
        trees = fit_trees(x, y, NAMES, config.training.seed)
    recalls, costs = _measure(rows, np.split(probabilities, np.cumsum([len(f) for f in features])[:-1]))
    whole = float(np.mean([r.forest.recall(np.ones((len(g), 1), dtype=bool))[0] for r, g in zip(rows, gold,
                                                                                              strict=True)]))
    scorer = LeafScorer(trees, rarity, {s: price_for_recall(recalls, PRICES, s * whole) for s in SHARES})
    curve = [{"price": float(p), "kept_tokens": float(c), "gold_recall": float(r)}
             for p, c, r in zip(PRICES, costs.mean(axis=0), recalls.mean(axis=0), strict=True)]
    bins = calibration(probabilities, y)
    result = StageResult(
        metrics={"questions": float(len(rows)), "leaves": float(len(y)), "gold_leaves": float(y.sum()),
                 "whole_recall": whole, "calibration_error": sum(b["share"] * abs(b["gold"] - b["probability"])
                                                                 for b in bins)},
        tables={"price curve, held-out folds": curve[::4], "calibration, held-out folds": bins,
                "importances": [{"feature": n, "share of splits": s} for n, s in trees.importances().items()][:15]},
        notes=["fitted on training questions alone; gold items' leaves count under every alternative"], checks=checks)
    tracker.log_params({"folds": FOLDS, "features": len(NAMES), "seed": config.training.seed})
    for step, point in enumerate(curve):
        tracker.log_metrics({"kept_tokens": point["kept_tokens"], "gold_recall": point["gold_recall"]}, step=step)
    with replace_directory(paths.output("leaf_scorer")) as out:
        scorer.save(out)
        table = pa.table({"question_id": np.repeat([r.forest.question_id for r in rows], [len(f) for f in features]),
                          "fold": folds.astype(np.int32), "gold": y, "probability": probabilities,
                          **{n: x[:, i] for i, n in enumerate(NAMES)}})
        pq.write_table(table, out / "training.parquet")
        for name, points in (("curve", curve), ("calibration", bins)):
            write_table(out / f"{name}.parquet", points, pa.schema([(c, pa.float64()) for c in points[0]]))
        result.files = ["trees.json", "prices.json", "curve.parquet", "calibration.parquet"]
        write_summary(out, result)
    return result


def _write_none(paths: Paths, checks: list[CheckOutcome]) -> StageResult:
    """An output without a scorer: what needs one says so, and the rest of the graph goes on."""
    result = StageResult(metrics={"questions": 0.0}, checks=checks, notes=[
        "no leaf scorer: too few training questions retrieve their gold; a few dozen are needed"])
    with replace_directory(paths.output("leaf_scorer")) as out:
        write_summary(out, result)
    return result


def _read(config: Config, paths: Paths) -> list[_Row]:
    """The training questions of all benchmarks with what they retrieve from the whole corpus."""
    f0 = load_encoder(config.encoder)
    index = ItemIndex.open(paths.output("item_index"), dimension=f0.dimension, digest=f0.digest,
                           device=config.index.device)
    store = NodeStore.open(paths.output("node_embeddings") / "f0", digest=f0.digest)
    rows: list[_Row] = []
    for b in config.benchmarks:
        side = read_side(config, paths, b, "train")
        questions = [q for q in side.questions if q.id in side.gold.fragments]
        if not questions:
            continue
        parts = pq.read_table(paths.output("split", b) / "components.parquet", columns=["question_id", "component"])
        component = {r["question_id"]: r["component"] for r in parts.to_pylist()}
        queries = f0.encode_queries([q.question for q in questions])
        scores, ids = index.search(queries, config.answers.k)
        reader = ForestReader(side.library, store, f0)
        for n, q in enumerate(counted(questions, f"what {b}'s questions retrieve", len(questions), "questions")):
            forest = reader.read(q.question, queries[n], ids[n], scores[n][:len(ids[n])])
            fold = zlib.crc32(f"{b} {component[q.id]}".encode()) % FOLDS
            rows.append(_Row(reader.mark(q.id, ids[n], forest, side.gold), b, fold))
    return rows


def _measure(rows: list[_Row], probabilities: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Gold recall and kept tokens of each question at each of `PRICES`, shape (questions, prices) each."""
    recalls, costs = [], []
    for row, values in zip(rows, probabilities, strict=True):
        forest = row.forest.forest
        priced = forest.price(values)
        kept = choose_at_prices(priced, PRICES)
        leaves = np.stack([fragments_kept(forest.layout, kept[:, n]) for n in range(len(PRICES))], axis=1)
        recalls.append(row.forest.recall(leaves))
        costs.append(priced.cost @ kept)
    return np.array(recalls), np.array(costs)
