"""Stage ``evaluation``: f0, f_theta and the selectors on a benchmark's test questions, and retrieval over the whole
corpus."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.config import Evaluation as Settings
from canopy.corpus.folds import Folds, read_folds
from canopy.embeddings.store import NodeStore
from canopy.encoder.base import NodeEncoder
from canopy.encoder.loading import load_encoder
from canopy.errors import DataError
from canopy.evaluation.cases import Cases, build_cases, read_words
from canopy.evaluation.comparison import compare
from canopy.evaluation.measurement import measure
from canopy.evaluation.metrics import retrieval_ranks
from canopy.evaluation.rows import SCHEMAS, Tables
from canopy.evaluation.systems import FROZEN, TUNED, frozen
from canopy.gold.kinds import GoldKinds, read_kinds
from canopy.index.item_index import ItemIndex
from canopy.items import read_items, read_questions, write_table
from canopy.paths import Paths
from canopy.progress import counted, progress
from canopy.scoring.measure import EVALUATION, measures_of
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("evaluation", per_benchmark=True, group="evaluation", kinds=("parquet",), reads={
    "benchmark": ("items", "questions", "annotations"),
    "gold_spans": ("gold",),
    "split": ("splits", "gold"),
    "training_instances": ("instances",),
})


def summarize(cases: Cases, tables: Tables, settings: Settings, kinds: GoldKinds | None = None) -> StageResult:
    """Headline numbers of each system, the difference of f_theta to the better f0 mode, and retrieval recall.

    They are of questions with annotated gold alone if there are enough (`canopy.gold.kinds`).
    """
    kinds = (kinds or GoldKinds(frozenset(cases.questions))).among(cases.questions)
    result = StageResult(metrics={"questions": len(cases.questions), "items": len(set(cases.pair_item)),
                                  **kinds.counts()})
    if not cases.questions:
        result.notes.append("no test question has gold: nothing was measured")
        return result
    measures = measures_of(EVALUATION)
    names = dict.fromkeys(r["system"] for r in tables.systems)
    columns = {name: _columns(tables, name, kinds.left_out) for name in names}
    rows = []
    for name, values in columns.items():
        row: dict[str, str | float] = {"system": name}
        for key, m in measures.items():
            top, low = m.ratio(values)
            if low.sum():
                row[key] = result.metrics[f"{name}.{key}"] = float(top.sum() / low.sum())
        rows.append(row)
    baselines = {n: values for n, values in columns.items() if n.startswith(FROZEN)}
    differences = []
    for key, m in measures.items():
        pairs = {n: m.ratio(values) for n, values in baselines.items()}
        c = compare(key, m.ratio(columns[TUNED]), pairs, m.higher_is_better, settings.resamples, settings.seed,
                    settings.confidence)
        if c:
            d = c.difference
            differences.append({"measure": key, "f0": c.baseline, "before": c.before, "after": c.after.estimate,
                                "difference": d.estimate, "low": d.low, "high": d.high})
            result.metrics |= {f"difference.{key}": d.estimate, f"difference.{key}.low": d.low,
                               f"difference.{key}.high": d.high}
    for k in settings.recall_at:
        recalls = [r["recall"] for r in tables.retrieval if r["k"] == k
                   and r["question_id"] not in kinds.left_out]
        result.metrics[f"retrieval.recall_at_{k}"] = float(np.mean(recalls))
    result.metrics["decisions"] = sum(d["system"] == TUNED and d["question_id"] not in kinds.left_out
                                      for d in tables.decisions)
    result.metrics = {k: float(v) for k, v in result.metrics.items() if np.isfinite(v)}
    result.tables = {"systems": rows, "f_theta against f0": differences}
    result.notes.append("gold items given; retrieval over the corpus of all configured benchmarks; no language model "
                        "took part (LLM-free)")
    if kinds.pseudo:
        result.notes.append(f"gold: {kinds.describe()}")
    return result


def _columns(tables: Tables, system: str, left_out: frozenset[str]) -> dict[str, np.ndarray]:
    """The columns of one system, a value for each question that is not left out, float64; NaN if a value is null."""
    schema = SCHEMAS["systems"]
    table = pa.Table.from_pylist([r for r in tables.systems if r["system"] == system
                                  and r["question_id"] not in left_out], schema)
    return {c: table[c].to_numpy().astype(np.float64) for c in schema.names[2:]}


def _scores(store: NodeStore, cases: Cases, folds: Folds, queries: np.ndarray, system: str) -> np.ndarray:
    """The score of every node of the gold items, flat, as the cases lay them out."""
    bounds = np.searchsorted(cases.pair_question, np.arange(len(cases.questions) + 1))
    stored = [folds.exact_representative(i) for i in cases.pair_item]
    rows = counted(list(queries), f"scoring nodes, {system}", len(queries), "questions")
    parts = [s for q, query in enumerate(rows) for s in store.scores(stored[bounds[q]:bounds[q + 1]], query)]
    scores = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    if len(scores) != cases.layout.nodes[-1]:
        raise DataError(f"{store.path}: {len(scores)} nodes stored for the gold items, but their hierarchies have "
                        f"{cases.layout.nodes[-1]}; run `canopy run --stale`")
    return scores


def gold_searched(cases: Cases, folds: Folds) -> list[dict[int, list[str]]]:
    """For each question, alternative -> the items that retrieval must find.

    The representative of a folded gold item says the same, so that finding it counts.
    """
    targets: list[dict[int, list[str]]] = [{} for _ in cases.questions]
    for p, g in zip(cases.row_pair, cases.row_group, strict=True):
        targets[cases.pair_question[p]].setdefault(int(g), []).append(folds.representative(cases.pair_item[p]))
    return targets


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Evaluate one benchmark; see `canopy.evaluation.systems` for the systems and ``metrics`` for what is measured."""
    assert benchmark is not None
    check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    tracker.log_params({"mode": config.encoder.mode, **config.evaluation.model_dump()})
    cases = _read_cases(config, paths, benchmark)
    source = paths.output("benchmark", benchmark)
    items = {i.id: i for i in read_items(source / "items.parquet", sorted(set(cases.pair_item)))}
    questions = {q.id: q for q in read_questions(source / "questions.parquet")}

    f0 = load_encoder(config.encoder)
    texts = [questions[q].question for q in cases.questions]
    queries = f0.encode_queries(texts) if texts else np.zeros((0, f0.dimension), dtype=np.float32)
    words = read_words(cases, items, questions, config.hierarchy.segment_seconds, f0.count_tokens)
    folds = read_folds(paths.output("corpus"))
    stores = _open_stores(config, paths, f0)
    scores = {name: _scores(s, cases, folds, queries, name) for name, s in stores.items()}
    with progress("measuring"):
        tables = measure(cases, words, scores, config.evaluation)

    index = ItemIndex.open(paths.output("item_index"), dimension=f0.dimension, digest=f0.digest,
                           device=config.index.device)
    rankings = index.search(queries, max(config.evaluation.recall_at))[1] if texts else []
    recalls = retrieval_ranks(rankings, gold_searched(cases, folds), config.evaluation.recall_at)
    tables.retrieval = [{"question_id": cases.questions[r["question"]], "k": r["k"], "recall": r["recall"],
                         "rank": r["rank"]} for r in recalls]

    kinds = read_kinds(paths.output("gold_spans", benchmark) / "gold.parquet")
    result = summarize(cases, tables, config.evaluation, kinds)
    for k in config.evaluation.recall_at:  # a curve, beside the single figures
        if (recall := result.metrics.get(f"retrieval.recall_at_{k}")) is not None:
            tracker.log_metrics({"retrieval.recall": recall}, step=k)
    result.files = [f"{name}.parquet" for name in SCHEMAS]
    with replace_directory(paths.output("evaluation", benchmark)) as out:
        for name, schema in SCHEMAS.items():
            write_table(out / f"{name}.parquet", getattr(tables, name), schema)
        write_summary(out, result)
    return result


def _read_cases(config: Config, paths: Paths, benchmark: str) -> Cases:
    """The test questions with their gold and their training instances."""
    gold, split, instances = (paths.output(s, benchmark) for s in ("gold_spans", "split", "training_instances"))
    test = pq.read_table(instances / "instances.parquet", filters=[("split", "=", "test")])
    return build_cases(pq.read_table(gold / "gold.parquet").to_pylist(),
                       pq.read_table(split / "splits.parquet").to_pylist(), test.to_pylist(),
                       config.hierarchy.branching)


def _open_stores(config: Config, paths: Paths, f0: NodeEncoder) -> dict[str, NodeStore]:
    """The stores of node embeddings by the system that scores with them: f0 in each mode, then f_theta."""
    folder, adapter = paths.output("node_embeddings"), paths.output("node_encoder") / "adapter"
    stores = [NodeStore.open(folder / "f0", digest=f0.digest)]
    for mode in config.encoder.modes[1:]:
        stores.append(NodeStore.open(folder / "f0_other", digest=load_encoder(config.encoder, mode=mode).digest))
    named = {frozen(s.mode): s for s in sorted(stores, key=lambda s: s.mode)}
    tuned = NodeStore.open(folder / "f_theta", digest=load_encoder(config.encoder, adapter=adapter).digest)
    return {**named, TUNED: tuned}
