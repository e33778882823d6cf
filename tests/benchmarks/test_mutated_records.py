"""Text benchmarks' records with values of the wrong kind anywhere in them.

One fate each, sound output, and no error but DataError.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from tests.benchmarks.ingested import copy_of, ingest

ODD = [None, "", "x", -1, 0, 10**12, 1.5, True, False, [], {}, [[]], {"a": 1}, "\x00", "\ud800", float("nan"), " ",
       [None], "yes", [1, 2]]
ADAPTERS = {"hotpotqa": "hotpotqa_fullwiki", "two_wiki": "two_wiki", "musique": "musique",
            "natural_questions": "natural_questions"}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in a JSON value (of a long list to its first forty)."""
    yield path
    for key in value if isinstance(value, dict) else range(min(len(value), 40)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def mutated(record: Any, rng: random.Random) -> Any:
    """A record with one or two things in it replaced, dropped or repeated."""
    record = copy.deepcopy(record)
    for _ in range(rng.choice((1, 1, 2))):
        depth = rng.randint(1, 6)
        path = rng.choice([p for p in places(record) if 0 < len(p) <= depth] or [()])
        if not path:
            return rng.choice(ODD)
        holder = record
        for key in path[:-1]:
            holder = holder[key]
        how = rng.random()
        if how < 0.7:
            holder[path[-1]] = copy.deepcopy(rng.choice(ODD))
        elif how < 0.9 or isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder.append(copy.deepcopy(holder[path[-1]]))
    return record


def mutate_file(path: Path, rng: random.Random) -> None:
    """Rewrite a release file with most of its records mutated, and now and then cut short."""
    text = path.read_text("utf-8")
    lines = not text.startswith("[")
    records = [json.loads(x) for x in text.splitlines()] if lines else json.loads(text)
    changed = [mutated(r, rng) if rng.random() < 0.7 else r for r in records]
    out = "".join(json.dumps(r) + "\n" for r in changed) if lines else json.dumps(changed)
    path.write_text(out[:rng.randrange(len(out))] if rng.random() < 0.03 else out, "utf-8")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_record_has_one_fate_and_what_is_kept_is_sound(tmp_path, adapter):
    rng, kept = random.Random(7), 0
    for round_ in range(40):
        raw = copy_of(tmp_path / str(round_), ADAPTERS[adapter])
        for path in sorted(raw.rglob("*.json*")):
            mutate_file(path, rng)
        try:
            sink = ingest(adapter, raw)
        except DataError as e:
            assert str(raw) in str(e)
            continue
        kept += sink.counts["mapped"] + sink.counts["fallback"]
        for item in sink.items.values():
            assert item.text.strip() or any(c.strip() for r in item.rows for c in r)
        for a in sink.annotations:
            item = sink.items[a.item_id]
            end = len(item.text) if item.modality == "text" else len(item.rows)
            assert a.question_id in sink.questions and all(0 <= s < e <= end for s, e in a.spans)
            assert a.unit == ("item" if not a.spans else {"text": "chars", "table": "rows"}[item.modality])
        assert not map_annotations(sink.annotations, sink.items, 30.0)[1]
    assert kept > 40
