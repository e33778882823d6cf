"""What Dagster shows of an output: numbers in four significant digits, and curves as pictures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from assets.metadata import describe_outcome
from canopy.stages.base import StageResult
from orchestration.pipeline.stage import Outcome, describe
from tests.digits import long_numbers, visible

THIRD = 1 / 3


def outcome(result: StageResult) -> Outcome:
    return Outcome("ran", result, {"data/x": "abc123"}, 12.3456789, ("raw files changed",))


def texts_of(values: dict[str, Any]) -> str:
    """Everything that the metadata shows, but pictures and paths."""
    parts = []
    for name, value in values.items():
        shown = value.value if isinstance(value, dg.MetadataValue) else value
        if isinstance(value, dg.TableMetadataValue):
            parts += [str(cell) for r in value.records for cell in r.data.values()]
        elif name not in ("folder", "dvc") and "data:image" not in str(shown):
            parts.append(str(shown))
    return "\n".join(parts)


def test_numbers_have_four_digits(tmp_path: Path) -> None:
    metrics = {f"m{n}": THIRD * n for n in range(40)} | {"items": 123456.0}
    result = StageResult(metrics=metrics, tables={"systems": [{"system": "a", "value": THIRD, "n": 123456}]},
                         notes=[f"the share is {THIRD}"])
    values = describe_outcome(outcome(result), tmp_path)
    assert long_numbers(texts_of(values)) == []
    assert values["m1"] == 0.3333 and values["seconds"] == 12.35 and "0.3333" in values["notes"].value
    assert values["table: systems"].records[0].data == {"system": "a", "value": 0.3333, "n": 123456}
    assert long_numbers(describe("x", StageResult(metrics=metrics), 12.3)) == [], "the stage's line in a shell"


def test_curves_are_pictures(tmp_path: Path) -> None:
    pq.write_table(pa.table({"step": [1, 2, 3], "loss": [1.0, 0.5, 0.25], "learning_rate": [0.1] * 3}),
                   tmp_path / "curve.parquet")
    pq.write_table(pa.table({"question_id": ["a", "a"], "k": [1, 5], "recall": [0.0, 1.0], "rank": [2, 2]}),
                   tmp_path / "retrieval.parquet")
    point = {f"{m}{e}": v for m, v in (("tokens", 100.0), ("gold_recall", 0.5), ("answer_in_evidence", 0.4))
             for e in ("", "_low", "_high")}
    curves = [{"corpus_scope": "unified", "compressor": "canopy", "scorer": "f_theta", "size": None, "questions": 2,
               **point}]
    (tmp_path / "compression.json").write_text(json.dumps({"curves": curves, "equal_tokens": []}))
    values = describe_outcome(outcome(StageResult()), tmp_path)
    for name in ("loss", "recall at k", "gold recall against tokens, unified corpus"):
        content = values[name].value.split("base64,")[1].removesuffix(")")
        assert "<svg" in base64.b64decode(content).decode()


def test_a_file_that_cannot_be_drawn_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "compression.json").write_text("{}")
    assert "gold recall against tokens, unified corpus" not in describe_outcome(outcome(StageResult()), tmp_path)


def test_a_page_is_read_without_its_markup() -> None:
    assert "0.12345" not in visible('<i style="left:0.12345%">x</i>')
