"""Stage `node_encoder`: one LoRA adapter for all benchmarks, trained on the training split's instances."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import replace_directory, write_json
from canopy.config import Config, Training
from canopy.encoder.adapter import adapter_digest, save_adapter
from canopy.encoder.base import TrainableEncoder
from canopy.encoder.examples import Example, build_examples
from canopy.encoder.loading import load_encoder
from canopy.encoder.training import train_adapter
from canopy.errors import Shortage
from canopy.hierarchy.tree import build_tree
from canopy.items import read_items, read_questions, write_table
from canopy.paths import Paths
from canopy.progress import progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("node_encoder", per_benchmark=False, group="model", kinds=("pytorch",), reads={
    "benchmark": ("items", "questions"),
    "training_instances": ("instances",),
    "node_encoder": ("instances", "items", "questions"),
})

CURVE_SCHEMA = pa.schema([("step", pa.int32()), ("loss", pa.float64()), ("learning_rate", pa.float64())])


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Train f_theta into ``data/node_encoder``: adapter/, training.json, curve.parquet.

    With ``training.per_modality``, an adapter for each modality goes into by_modality/.
    """
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    instances = list(training_rows(config, paths))
    if not instances:
        totals = ", ".join(_count_questions(paths, b) for b in config.benchmarks)
        raise Shortage(f"no training instance in {totals}: training needs questions whose gold is part of an item (a "
                       "sentence, a row, a segment), on the train side of the split: a few dozen questions at least, "
                       "with answers that stand in the documents")
    ids = list(dict.fromkeys(x["item_id"] for x in instances))
    sources = [paths.output("benchmark", b) for b in config.benchmarks]
    items = {i.id: i for source in sources for i in read_items(source / "items.parquet", ids)}
    questions = {q.id: q.question for source in sources for q in read_questions(source / "questions.parquet")}
    with progress("building examples"):
        examples = build_examples(instances, questions, items, config.hierarchy.segment_seconds)
    encoder = load_encoder(config.encoder, media=paths.media(config))
    tracker.log_params({**config.training.model_dump(), "mode": config.encoder.mode, "examples": len(examples),
                        "instances": len(instances)})
    work, halved = paths.work("node_encoder"), list[str]()
    model, curve = _train("f_theta", encoder, examples, config.training, work, tracker, halved)
    own = {}
    for modality in sorted({e.request.item.modality for e in examples}) if config.training.per_modality else ():
        rank = config.training.modality_ranks.get(modality, config.training.rank)
        settings = config.training.model_copy(update={"rank": rank})
        part = [e for e in examples if e.request.item.modality == modality]
        own[modality] = _train(f"f_theta, {modality} alone", encoder, part, settings, work / modality, tracker, halved,
                               f"{modality}_")
    with replace_directory(paths.output("node_encoder")) as out:
        save_adapter(model, out / "adapter", encoder.name)
        write_table(out / "curve.parquet", curve, CURVE_SCHEMA)
        for modality, (adapted, steps) in own.items():
            save_adapter(adapted, out / "by_modality" / modality / "adapter", encoder.name)
            write_table(out / "by_modality" / modality / "curve.parquet", steps, CURVE_SCHEMA)
        tail = [c["loss"] for c in curve[-max(1, len(curve) // config.training.epochs):]]
        trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
        result = StageResult(metrics={"questions": float(len({x["question_id"] for x in instances})),
                                      "examples": float(len(examples)), "instances": float(len(instances)),
                                      "steps": float(len(curve)),
                                      "loss_first": curve[0]["loss"], "loss_last_epoch": sum(tail) / len(tail),
                                      "trainable_parameters": float(trainable)})
        write_json(out / "training.json", {
            "base": encoder.name, "base_digest": encoder.digest, "base_sha256": encoder.weights_sha256,
            "mode": config.encoder.mode, **encoder.settings(), "dimension": encoder.dimension,
            "adapter_digest": adapter_digest(out / "adapter"),
            "training": config.training.model_dump(mode="json"), **{k: v for k, v in result.metrics.items()}})
        result.files, result.checks = ["training.json"], checks
        result.tables["curve"] = curve[:: max(1, len(curve) // 20)]
        write_summary(out, result)
    # When memory runs out depends on the machine, so this stays out of the hashed summary.
    result.notes += [*encoder.notes, *dict.fromkeys(halved)]
    shutil.rmtree(work, ignore_errors=True)
    return result


def _train(name: str, encoder: TrainableEncoder, examples: Sequence[Example], settings: Training, work: Path,
           tracker: Tracker, halved: list[str], prefix: str = "") -> tuple[Any, list[dict[str, float]]]:
    """One adapter, with a bar on the terminal and its curve in the tracker."""
    last = 0
    with progress(f"training {name}", settings.epochs * -(-len(examples) // settings.batch), "steps") as advance:
        def report(step: int, of: int, loss: float, rate: float) -> None:
            nonlocal last
            advance.total = of
            tracker.log_metrics({f"{prefix}loss": loss, f"{prefix}learning_rate": rate}, step=step)
            advance(step - last, loss=loss)
            last = step

        return train_adapter(encoder, examples, settings, work, report, halved.append)


def training_rows(config: Config, paths: Paths) -> Iterator[dict[str, Any]]:
    """The training split's instances of all benchmarks, each with its children's spans."""
    for b in config.benchmarks:
        path = paths.output("training_instances", b) / "instances.parquet"
        table = pq.read_table(path, filters=[("split", "=", "train")])
        for x in table.to_pylist():
            tree = build_tree(x["count"], config.hierarchy.branching)
            yield {**x, "child_spans": [(int(tree.lo[c]), int(tree.hi[c])) for c in x["child_nodes"]]}


def _count_questions(paths: Paths, benchmark: str) -> str:
    """A benchmark with its questions, and those whose gold could train if it stood on the train side."""
    count = pq.read_metadata(paths.output("benchmark", benchmark) / "questions.parquet").num_rows
    instances = pq.read_table(paths.output("training_instances", benchmark) / "instances.parquet",
                              columns=["question_id"])
    measured = len(instances["question_id"].unique())
    side = f", {measured} with such gold, all on the test side" if measured else ""
    return f"{benchmark} ({count:,} question{'' if count == 1 else 's'}{side})"
