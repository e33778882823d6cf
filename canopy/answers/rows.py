"""Rows of answers: their types, and the schemas of answers.parquet and rounds.parquet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import pyarrow as pa


class CellColumns(TypedDict):
    """Which run a row belongs to."""

    reader: str
    system: str
    corpus_scope: str
    variant: str


class CellSizes(TypedDict):
    """k and R as the system has them."""

    k: int
    rounds_limit: int


class RegionRow(TypedDict):
    """A kept region: fragments ``[lo, hi)`` of an item."""

    item_id: str
    lo: int
    hi: int
    score: float
    depth: int


class EvidenceRow(RegionRow):
    """A region that the reader saw. ``text`` is what a compressor wrote in its place, else None."""

    tokens: int
    text: str | None


class CallRow(TypedDict):
    """Calls of one role; ``fallbacks`` are replies that could not be used."""

    role: str
    count: int
    prompt_tokens: int
    completion_tokens: int
    fallbacks: int


class OutcomeRow(TypedDict):
    """Items of one modality that were newly retrieved, by what became of them."""

    modality: str
    refinable: int
    kept: int
    split: int
    pruned: int


class NoteRow(TypedDict):
    """How often something departed from the protocol."""

    note: str
    count: int


class StepRow(TypedDict):
    """One round of retrieval."""

    round: int
    query: str
    retrieved: list[str]
    new: list[str]
    kept: list[RegionRow]


class OfficialScores(TypedDict):
    """Every measure that an official metric may give; None if the benchmark has none of that name."""

    em: float | None
    f1: float | None
    accuracy: float | None
    sp_em: float | None
    sp_f1: float | None
    sp_precision: float | None
    sp_recall: float | None
    joint_em: float | None
    joint_f1: float | None
    parse_failed: float | None
    table_em: float | None
    table_f1: float | None
    passage_em: float | None
    passage_f1: float | None
    scale_right: float | None


class Measures(OfficialScores):
    """One answer without the columns of its run; ``steps`` are its rows of rounds.parquet."""

    prediction: str
    tokens: int
    whole_tokens: int
    calls: list[CallRow]
    rounds: int
    retrieved: int
    follow_up_retrieved: int
    duplicates: int
    cap_cut: bool
    gold_items_found: int
    gold_items: int
    gold_recall: float | None
    answer_in_evidence: float | None
    items_refinable: int
    items_kept: int
    items_split: int
    items_pruned: int
    outcomes: list[OutcomeRow]
    notes: list[NoteRow]
    evidence: list[EvidenceRow]
    steps: list[StepRow]


class Seconds(TypedDict):
    """Seconds of one answer by activity and by role. ``cached_calls``: calls that the reply cache answered."""

    total: float
    activities: dict[str, float]
    roles: dict[str, float]
    cached_calls: int


class AnswerRecord(TypedDict):
    """One answer as the journal keeps it."""

    row: Measures
    seconds: Seconds


METRICS = tuple(OfficialScores.__annotations__)
_OUTCOMES = ("refinable", "kept", "split", "pruned")
_REGION = [("item_id", pa.string()), ("lo", pa.int32()), ("hi", pa.int32()), ("score", pa.float64()),
           ("depth", pa.int32())]
_CALL = [("role", pa.string()), ("count", pa.int32()), ("prompt_tokens", pa.int64()), ("completion_tokens", pa.int64()),
         ("fallbacks", pa.int32())]
_CELL = [("reader", pa.string()), ("system", pa.string()), ("corpus_scope", pa.string()), ("variant", pa.string())]
ANSWER_SCHEMA = pa.schema([
    ("question_id", pa.string()), *_CELL, ("seed", pa.int32()), ("k", pa.int32()), ("rounds_limit", pa.int32()),
    ("prediction", pa.string()), *((m, pa.float64()) for m in METRICS), ("tokens", pa.int64()),
    ("whole_tokens", pa.int64()), ("calls", pa.list_(pa.struct(_CALL))), ("rounds", pa.int32()),
    ("retrieved", pa.int32()), ("follow_up_retrieved", pa.int32()), ("duplicates", pa.int32()), ("cap_cut", pa.bool_()),
    ("gold_items_found", pa.int32()), ("gold_items", pa.int32()), ("gold_recall", pa.float64()),
    ("answer_in_evidence", pa.float64()), *((f"items_{o}", pa.int32()) for o in _OUTCOMES),
    ("outcomes", pa.list_(pa.struct([("modality", pa.string()), *((o, pa.int32()) for o in _OUTCOMES)]))),
    ("notes", pa.list_(pa.struct([("note", pa.string()), ("count", pa.int32())]))),
    ("evidence", pa.list_(pa.struct([*_REGION, ("tokens", pa.int32()), ("text", pa.string())]))),
])
ROUND_SCHEMA = pa.schema([
    ("question_id", pa.string()), *_CELL, ("round", pa.int32()), ("query", pa.string()),
    ("retrieved", pa.list_(pa.string())), ("new", pa.list_(pa.string())), ("kept", pa.list_(pa.struct(_REGION))),
])


def official_scores(scores: Mapping[str, float | None]) -> OfficialScores:
    """The scores of one answer under all names, None under those that the metric does not give."""
    def value(name: str) -> float | None:
        score = scores.get(name)
        return None if score is None else float(score)

    return {
        "em": value("em"), "f1": value("f1"), "accuracy": value("accuracy"),
        "sp_em": value("sp_em"), "sp_f1": value("sp_f1"), "sp_precision": value("sp_precision"),
        "sp_recall": value("sp_recall"), "joint_em": value("joint_em"), "joint_f1": value("joint_f1"),
        "parse_failed": value("parse_failed"), "table_em": value("table_em"), "table_f1": value("table_f1"),
        "passage_em": value("passage_em"), "passage_f1": value("passage_f1"), "scale_right": value("scale_right"),
    }
