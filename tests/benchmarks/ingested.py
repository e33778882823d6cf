"""Shared by the adapters' tests: run an adapter, and say in words where the gold lies."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink

FIXTURES = Path(__file__).resolve().parents[1] / "data"
FATES = ("mapped", "fallback", "waiting", "quarantined")


def ingest(adapter: str, raw: Path) -> Sink:
    """What an adapter makes of a folder; every record read must have one fate."""
    sink = Sink(adapter, raw)
    importlib.import_module(f"canopy.benchmarks.{adapter}").read(raw, sink)
    assert sink.counts["read"] == sum(sink.counts[f] for f in FATES) == sum(sink.read_from.values())
    return sink


def copy_of(tmp_path: Path, name: str) -> Path:
    """A hand-made release folder under tests/data, copied so that a test may change it."""
    return Path(shutil.copytree(FIXTURES / name, tmp_path / name))


def write(path: Path, records: list[Any], *, lines: bool = False) -> None:
    """Records as a JSON list or as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records) if lines else json.dumps(records), encoding="utf-8")


def read_lines(path: Path) -> list[Any]:
    """A JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def gold_of(sink: Sink, question: str) -> list[tuple[int, str, list[Any]]]:
    """A question's gold as (group, item title, what the spans hold: characters, row numbers, or the word "whole")."""
    out = []
    for a in sink.annotations:
        if a.question_id == f"{sink.benchmark}/{question}":
            item = sink.items[a.item_id]
            held = [item.text[int(s):int(e)] if a.unit == "chars" else int(s) for s, e in a.spans]
            out.append((a.group, item.title, ["whole"] if a.unit == "item" else held))
    return out


def coverage(sink: Sink) -> dict[str, int]:
    """Questions by how their gold was found: located, whole item, none."""
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated
    whole = {r["question_id"] for r in rows if r["coverage"] != "located"}
    held = {r["question_id"] for r in rows}
    return {"located": len(held - whole), "whole": len(whole), "none": len(sink.questions) - len(held)}
