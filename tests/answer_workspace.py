"""A workspace with everything that the stage `answers` reads, in small.

The tiny model's corpus, six questions, one of them with two alternatives.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from canopy.benchmarks.declaration import Benchmark, write_declaration
from canopy.config import load_config
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.split import SPLIT_SCHEMA
from canopy.items import Annotation, Question, write_annotations, write_items, write_questions, write_table
from canopy.paths import Paths
from canopy.stages.answers import run
from canopy.stages.base import NullTracker, StageResult
from canopy.validation.checker import RuleValidator
from tests.tiny_model import BENCHMARK, ITEMS, write_model

PARAMS = """\
benchmarks:
  tiny: {adapter: native, path: raw}
store: {shards: 2}
evaluation: {resamples: 100}
answers: {k: 3, budgets: [0.3]}
"""
_TEXT = {i.id: i for i in ITEMS}


def _sentence(item: str, words: str) -> tuple[float, float]:
    start = _TEXT[item].text.index(words)
    return float(start), float(start + len(words))


QUESTIONS = [
    Question("tiny/dam", BENCHMARK, "When was the Aswan High Dam on the Nile finished?", ("1970",)),
    Question("tiny/waltz", BENCHMARK, "Who named a waltz after the Danube?", ("Johann Strauss", "Strauss")),
    Question("tiny/prizes", BENCHMARK, "In which year did Marie Curie win the Nobel Prize in Chemistry?", ("1911",)),
    Question("tiny/neon", BENCHMARK, "What is the symbol of neon, a noble gas?", ("Ne",)),
    Question("tiny/pad", BENCHMARK, "What does the crew of the rocket do before the launch?",
             ("walks to the launch pad",)),
    Question("tiny/verdict", BENCHMARK, "Is Mars red?", ("yes",)),
]
ANNOTATIONS = [
    Annotation("tiny/dam", "tiny/nile", "chars", (_sentence("tiny/nile", "The Aswan High Dam was finished in 1970."),)),
    Annotation("tiny/waltz", "tiny/danube", "chars", (_sentence("tiny/danube",
                                                                "Johann Strauss named a waltz after it."),)),
    Annotation("tiny/prizes", "tiny/curie", "chars", (_sentence("tiny/curie",
                                                                "In 1911 she won the Nobel Prize in Chemistry."),)),
    Annotation("tiny/neon", "tiny/elements", "rows", ((1.0, 2.0),), 0),
    Annotation("tiny/neon", "tiny/diagram", "item", (), 1),
    Annotation("tiny/pad", "tiny/launch", "seconds", ((2.0, 8.0),)),
    Annotation("tiny/verdict", "tiny/mars", "chars", (_sentence("tiny/mars",
                                                                "Its red colour comes from iron oxide."),)),
]


def make_answer_workspace(root: Path) -> Path:
    """Write it."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(PARAMS)
    (root / "raw").mkdir()
    write_model(root)
    source, gold, split = (root / "data" / s / BENCHMARK for s in ("benchmark", "gold_spans", "split"))
    write_declaration(source, Benchmark("tiny"))
    write_items(source / "items.parquet", ITEMS)
    write_questions(source / "questions.parquet", QUESTIONS)
    write_annotations(source / "annotations.parquet", ANNOTATIONS)
    rows, unlocated = map_annotations(ANNOTATIONS, _TEXT, 30.0)
    assert not unlocated
    write_table(gold / "gold.parquet", rows, GOLD_SCHEMA)
    write_table(split / "splits.parquet", [{"question_id": q.id, "split": "test"} for q in QUESTIONS], SPLIT_SCHEMA)
    return root


def copy_answer_workspace(base: Path, target: Path, params: Sequence[tuple[str, str]] = ()) -> Path:
    """A fresh copy, with replacements in its params.yaml."""
    shutil.copytree(base, target)
    text = (target / "params.yaml").read_text()
    for old, new in params:
        assert old in text
        text = text.replace(old, new)
    (target / "params.yaml").write_text(text)
    return target


def answer(root: Path) -> StageResult:
    """Run the stage."""
    return run(load_config(root / "params.yaml"), Paths(root), NullTracker(), RuleValidator(), benchmark=BENCHMARK)


def outputs(root: Path) -> dict[str, bytes]:
    """The bytes of every file that the stage wrote into its output."""
    folder = root / "data" / "answers" / BENCHMARK
    return {f.name: f.read_bytes() for f in sorted(folder.iterdir())}


def table(root: Path, name: str = "answers") -> pa.Table:
    """A table of the output."""
    import pyarrow.parquet as pq

    return pq.read_table(root / "data" / "answers" / BENCHMARK / f"{name}.parquet")
