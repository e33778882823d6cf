"""Whatever a record of the table benchmarks holds.

Its fate is counted, nothing but DataError comes out, and what is kept can be used.
"""

import copy
import json
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink
from canopy.items import write_annotations, write_items, write_questions

DATA = Path(__file__).parents[1] / "data"
JUNK = (None, True, 0, -1, 10**30, 1.5, float("nan"), "", " ", "x", "\x00", "\ud800", "é" * 300, [], [[]], [None], {},
        {"": None}, {"a": [1, {"b": 2}]}, [["", []]], "[1, 2]", "1,452.4")


def places(value, at=()):
    """Every place in a JSON value."""
    yield at
    for k, v in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(v, (*at, k))


def mutate(value, draw):
    """A copy with junk put in, something taken out or doubled, at one to three places."""
    value = copy.deepcopy(value)
    for _ in range(draw.randint(1, 3)):
        *way, last = draw.choice([p for p in places(value) if p] or [(0,)])
        try:
            holder = value
            for step in way:
                holder = holder[step]
            kind = draw.randrange(4)
            if kind == 0:
                del holder[last]
            elif kind == 1 and isinstance(holder, list):
                holder.insert(0, copy.deepcopy(holder[last]))
            else:
                holder[last] = copy.deepcopy(draw.choice(JUNK))
        except (KeyError, IndexError, TypeError):
            continue
    return value


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("adapter", "folder"), [("hybridqa", "hybridqa"), ("ott_qa", "ott-qa"), ("tat_qa", "tat-qa")])
def test_mutated_records(adapter, folder, seed, tmp_path):
    draw = random.Random(f"{adapter}{seed}")
    raw = tmp_path / "raw"
    shutil.copytree(DATA / folder, raw)
    for path in sorted(raw.rglob("*.json*")):
        if draw.random() < 0.7:
            lines = path.suffix == ".jsonl"
            value = [json.loads(x)
                     for x in path.read_text("utf-8").splitlines()] if lines else json.loads(path.read_text("utf-8"))
            value = mutate(value, draw)
            path.write_text("\n".join(map(json.dumps, value)) if lines and isinstance(value, list)
                            else json.dumps(value))
    sink = Sink(folder, tmp_path)
    with suppress(DataError):
        load_benchmark_adapter(adapter).read(raw, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    write_items(tmp_path / "i.parquet", sink.items.values())
    write_questions(tmp_path / "q.parquet", sink.questions.values())
    write_annotations(tmp_path / "a.parquet", sink.annotations)
    _, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated and all(a.question_id in sink.questions for a in sink.annotations)
    assert all(len(r) == len(i.header) for i in sink.items.values() for r in i.rows)
