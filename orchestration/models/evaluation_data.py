"""What a model is measured on: which benchmarks have something to measure, and the digest of their test data."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from canopy.config import Config
from canopy.digests import text_sha256
from canopy.errors import DataError
from canopy.items import read_items, read_questions

_GOLD_COLUMNS = ["question_id", "item_id", "group", "fragments", "count", "coverage"]


def evaluation_data_digest(workspace: Path, config: Config, benchmark: str) -> str:
    """SHA-256 of a benchmark's test questions, their gold, the gold items' content and the hierarchy's shape.

    Two models' per-question values may be compared only if this is equal. Other items of the corpus are left out: they
    do not enter decisions or recall of given gold items.

    Raises
    ------
    DataError
        If a stage's output is missing.
    """
    splits, gold_file = _split_and_gold(workspace, benchmark)
    folder = workspace / "data" / "benchmark" / benchmark
    questions, items = folder / "questions.parquet", folder / "items.parquet"
    _require(splits, gold_file, questions, items)
    test = _test_questions(splits)
    gold = [r for r in pq.read_table(gold_file, columns=_GOLD_COLUMNS).to_pylist() if r["question_id"] in test]
    gold.sort(key=lambda r: (r["question_id"], r["group"], r["item_id"]))
    gold_items = read_items(items, sorted({r["item_id"] for r in gold}))
    content = {
        "questions": sorted((q.id, q.question, list(q.answers), [list(d) for d in q.details])
                            for q in read_questions(questions) if q.id in test),
        "gold": gold,
        "items": sorted((i.id, i.content_digest()) for i in gold_items),
        "hierarchy": config.hierarchy.model_dump(mode="json"),
    }
    return text_sha256(json.dumps(content, sort_keys=True, ensure_ascii=False))


def measurable_benchmarks(workspace: Path, config: Config) -> list[str]:
    """The benchmarks that have a test question with gold.

    A benchmark whose records all wait for their documents has none.

    Raises
    ------
    DataError
        If a stage's output is missing.
    """
    names = []
    for benchmark in sorted(config.benchmarks):
        splits, gold = _split_and_gold(workspace, benchmark)
        _require(splits, gold)
        test = pq.read_table(splits, columns=["question_id"], filters=[("split", "=", "test")])["question_id"]
        questions = pq.read_table(gold, columns=["question_id"])["question_id"]
        if pc.any(pc.is_in(questions, value_set=test)).as_py():
            names.append(benchmark)
    return names


def _split_and_gold(workspace: Path, benchmark: str) -> tuple[Path, Path]:
    """The files with the sides of a benchmark's questions and with their gold."""
    data = workspace / "data"
    return data / "split" / benchmark / "splits.parquet", data / "gold_spans" / benchmark / "gold.parquet"


def _require(*paths: Path) -> None:
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path}: no such file; run `canopy run` first")


def _test_questions(splits: Path) -> set[str]:
    rows = pq.read_table(splits, columns=["question_id", "split"]).to_pylist()
    return {r["question_id"] for r in rows if r["split"] == "test"}
