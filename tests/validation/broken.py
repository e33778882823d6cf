"""A small sound set of every table, and for each rule a change that breaks it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.benchmarks.declaration import Benchmark, write_declaration
from canopy.config import Config
from canopy.corpus.folds import FOLDED_SCHEMA
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.instances import INSTANCE_SCHEMA, build_instances
from canopy.gold.sharing import GROUP_SCHEMA
from canopy.gold.split import SPLIT_SCHEMA
from canopy.gold.texts import TEXT_SCHEMA, gold_texts
from canopy.items import (
    ANNOTATION_SCHEMA,
    ITEM_SCHEMA,
    QUESTION_SCHEMA,
    Annotation,
    Item,
    Question,
    item_from_row,
    write_table,
)
from canopy.paths import Paths
from canopy.validation.inputs import FILES

Rows = dict[str, list[dict[str, Any]]]
SCHEMAS = {"items": ITEM_SCHEMA, "questions": QUESTION_SCHEMA, "annotations": ANNOTATION_SCHEMA, "gold": GOLD_SCHEMA,
           "splits": SPLIT_SCHEMA,
           "groups": GROUP_SCHEMA, "instances": INSTANCE_SCHEMA, "corpus": ITEM_SCHEMA, "folded": FOLDED_SCHEMA}
CONFIG = Config.model_validate({"benchmarks": {"made": {"adapter": "native", "path": "raw"}}})
QUESTIONS = 8


def sound() -> Rows:
    """Eight texts with a question each, a table, an image and a video with two each; q0 to q5 are train."""
    texts = [f"The {w} tower is old. It was built by {w} masons. Many people like it."
             for w in ("red", "blue", "green", "white", "black", "tall", "low", "new")]
    items = [Item(f"made/t{n}", "made", "text", text=t) for n, t in enumerate(texts)]
    items += [Item("made/table", "made", "table", header=("year", "floors"),
                   rows=(("1900", "3"), ("1910", "4"), ("1920", "5"))),
              Item("made/image", "made", "image", media="a.png", media_sha256="0" * 64),
              Item("made/video", "made", "video", duration=95.0, media="a.mp4"),
              Item("made/copy", "made", "text", text=texts[0])]
    questions = [Question(f"q{n}", "made", f"Who built tower number {n}?", ("masons",), split="train" if n < 6
                          else "test") for n in range(QUESTIONS)]
    said = [Annotation(q.id, f"made/t{n}", "chars", ((22, 40),)) for n, q in enumerate(questions)]
    said += [Annotation(q, "made/table", "rows", ((0, 1), (2, 3))) for q in ("q0", "q1")]
    said += [Annotation("q6", "made/video", "seconds", ((31.0, 40.0),)), Annotation("q7", "made/image", "item")]
    gold, _ = map_annotations(said, {i.id: i for i in items}, 30.0)
    side = {q.id: q.split for q in questions}
    plain = dataclasses.asdict
    return {"items": [plain(i) for i in items], "questions": [plain(q) for q in questions],
            "annotations": [plain(a) for a in said], "gold": gold,
            "splits": [{"question_id": q, "split": s} for q, s in side.items()],
            "groups": [dict(zip(GROUP_SCHEMA.names, row, strict=True)) for row in (
                           ("question", 0, "made", "q0", None), ("question", 0, "made", "q1", None),
                           ("item", 1, "made", "made/t2", None), ("item", 1, "other", "other/t3", ["train"]))],
            "instances": build_instances(gold, side, 2), "corpus": [plain(i) for i in items[:-1]],
            "folded": [{"item_id": "made/copy", "into": "made/t0", "kind": "exact", "similarity": 1.0}]}


def tables(rows: Rows) -> dict[str, pa.Table]:
    """The rows as Arrow tables of the schemas that stages write."""
    return {name: pa.Table.from_pylist(r, schema=SCHEMAS[name]) for name, r in rows.items()}


def _set(table: str, row: int, **values: Any) -> Callable[[Rows], None]:
    return lambda rows: rows[table][row].update(values)


def _again(table: str, row: int = 0) -> Callable[[Rows], None]:
    return lambda rows: rows[table].append(copy.deepcopy(rows[table][row]))


def _answers_differ(rows: Rows) -> None:
    for n, q in enumerate(rows["questions"]):
        q["answers"] = ("yes",) if n >= 6 else ("masons",)
    for n in range(40):  # so many that chance cannot explain it
        rows["questions"].append({**rows["questions"][n % 8], "id": f"more{n}"})
        rows["splits"].append({"question_id": f"more{n}", "split": rows["splits"][n % 8]["split"]})


def _modalities_differ(rows: Rows) -> None:
    rows["gold"] += [{**g, "group": n} for n in range(1, 30) for g in rows["gold"]
                     if g["modality"] in ("video", "image")]


# For each rule (suite, name): what to do to the sound rows, and how many rows of what it judges then fail.
BREAKS: dict[tuple[str, str], tuple[Callable[[Rows], None], int]] = {
    ("benchmark", "item ids are unique"): (_again("items"), 2),
    ("benchmark", "modalities are known"): (_set("items", 1, modality="sound"), 1),
    ("benchmark", "items have content"): (_set("items", 1, text=" \n"), 1),
    ("benchmark", "question ids are unique"): (_again("questions"), 2),
    ("benchmark", "questions have words"): (_set("questions", 1, question="\u00a0 "), 1),
    ("benchmark", "questions have answers"): (_set("questions", 1, answers=()), 1),
    ("benchmark", "answers have words"): (_set("questions", 2, answers=("mason", " ")), 1),
    ("benchmark", "gold items are in the data"): (_set("annotations", 1, item_id="made/gone", unit="item", spans=()),
                                                  1),
    ("benchmark", "gold questions are in the data"): (_set("annotations", 1, question_id="gone"), 1),
    ("benchmark", "gold units fit"): (_set("annotations", 1, unit="rows"), 1),
    ("benchmark",
     "gold spans lie inside their items"): (_set("annotations", 1, spans=((0, 5), (3, 1), (-1, 4), (10, 500))), 3),
    ("benchmark", "modality mix has gold"): (lambda rows: rows["annotations"].pop(), 1),
    ("gold_spans", "fragments lie inside their items"): (_set("gold", 1, fragments=[0, 3]), 1),
    ("split", "gold questions have a split"): (_set("gold", 1, question_id="gone"), 1),
    ("split", "one split a question"): (_again("splits"), 2),
    ("split", "splits are train and test"): (_set("splits", 1, split="dev"), 1),
    ("split", "no gold item on both sides"): (_set("gold", 7, item_id="made/t0"), 1),
    ("split", "no gold text of a test question trains"): (_set("groups", 3, sides=["test"]), 1),
    ("split", "no near-duplicate questions on both sides"): (_set("groups", 1, id="q6"), 1),
    ("split", "modality mix is alike"): (_modalities_differ, 2),
    ("split", "answer types are alike"): (_answers_differ, 2),
    ("training_instances", "instances are preferences"): (_set("instances", 0, child_gold=[False, False]), 1),
    ("training_instances", "instances lie inside their items"): (_set("instances", 0, hi=99), 1),
    ("training_instances", "instances are unique"): (_again("instances"), 2),
    ("training_instances", "instances have a side"): (_set("instances", 0, split=None), 1),
    ("corpus", "item ids are unique"): (_again("items"), 2),
    ("corpus", "modalities are known"): (_set("items", 0, modality=None), 1),
    ("corpus", "items have content"): (_set("items", 10, duration=0.0), 1),
    ("node_encoder", "instances' items are in the data"): (_set("instances", 0, item_id="made/gone"), 1),
    ("node_encoder", "instances' questions are in the data"): (_set("instances", 0, question_id="gone"), 1),
    ("node_embeddings", "gold items are in the corpus"): (lambda rows: rows["corpus"].pop(1), 1),
    ("node_embeddings", "folded items are found"): (_set("folded", 0, into="made/gone"), 1),
}


def write(rows: Rows, root: Path) -> Paths:
    """The tables where stages write them, in a workspace of one benchmark ``made``."""
    paths, made = Paths(root), tables(rows)
    own = paths.output("gold_spans", "made")
    write_table(own / "questions.parquet", rows["questions"], QUESTION_SCHEMA)
    unbroken = sound()
    items = {i.id: i for i in map(item_from_row, tables(unbroken)["items"].to_pylist())}
    write_table(own / "texts.parquet", (t._asdict() for t in gold_texts(unbroken["gold"], items, 30.0)), TEXT_SCHEMA)
    for name, (stage, files, _) in FILES.items():
        folder = paths.output(stage, None if stage == "corpus" else "made")
        folder.mkdir(parents=True, exist_ok=True)
        if name in made:
            pq.write_table(made[name], folder / files[0])
    pq.write_table(ITEM_SCHEMA.empty_table(), paths.output("corpus") / "near.parquet")
    write_declaration(paths.output("benchmark", "made"), Benchmark("made"))
    return paths
