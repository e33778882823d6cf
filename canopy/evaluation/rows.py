"""The evaluation's tables: the rows of each, and their schemas as Parquet files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

import pyarrow as pa

SCHEMAS: dict[str, pa.Schema] = {
    "decisions": pa.schema([
        ("question_id", pa.string()), ("item_id", pa.string()), ("group", pa.int32()), ("alternatives", pa.int32()),
        ("modality", pa.string()), ("node", pa.int32()), ("depth", pa.int32()), ("kind", pa.string()),
        ("system", pa.string()), ("held", pa.bool_()),
    ]),
    "regions": pa.schema([
        ("question_id", pa.string()), ("item_id", pa.string()), ("system", pa.string()), ("modality", pa.string()),
        ("fragments", pa.int32()), ("kept", pa.list_(pa.int32())), ("kept_tokens", pa.int64()),
        ("whole_tokens", pa.int64()), ("gold_fragments", pa.int32()), ("recall", pa.float64()), ("pruned", pa.bool_()),
        ("state", pa.string()), ("nodes_kept", pa.int32()), ("nodes_split", pa.int32()), ("nodes_dropped", pa.int32()),
    ]),
    "systems": pa.schema([
        ("question_id", pa.string()), ("system", pa.string()), ("decision_accuracy", pa.float64()),
        ("gold_recall", pa.float64()), ("kept_tokens", pa.int64()), ("whole_tokens", pa.int64()),
        ("pruned", pa.float64()), ("answer_in_evidence", pa.float64()), ("decisions", pa.int32()),
        ("decisions_held", pa.int32()), ("refinable", pa.int32()), ("pruned_items", pa.int32()),
    ]),
    "retrieval": pa.schema([
        ("question_id", pa.string()), ("k", pa.int32()), ("recall", pa.float64()), ("rank", pa.int32()),
    ]),
    "levels": pa.schema([
        ("system", pa.string()), ("modality", pa.string()), ("depth", pa.int32()), ("gold", pa.bool_()),
        ("n", pa.int64()), ("mean", pa.float64()), ("quantiles", pa.list_(pa.float64())),
        ("sample", pa.list_(pa.float64())),
    ]),
}


class DecisionRow(TypedDict):
    """A decision of a system: whether it held, at a node of a gold item; ``kind`` is stop, descend or either."""

    question_id: str
    item_id: str
    group: int
    alternatives: int
    modality: str
    node: int
    depth: int
    kind: str
    system: str
    held: bool


class RegionRow(TypedDict):
    """What a system kept of one gold item; the counts of nodes are None for systems without the rule."""

    question_id: str
    item_id: str
    system: str
    modality: str
    fragments: int
    kept: list[int]
    kept_tokens: int
    whole_tokens: int
    gold_fragments: int
    recall: float
    pruned: bool | None
    state: str
    nodes_kept: int | None
    nodes_split: int | None
    nodes_dropped: int | None


class SystemRow(TypedDict):
    """A system on one question: the columns that measures are computed from. Decisions are None without the rule."""

    question_id: str
    system: str
    decision_accuracy: float
    gold_recall: float
    kept_tokens: int
    whole_tokens: int
    pruned: float
    answer_in_evidence: float
    decisions: int | None
    decisions_held: int | None
    refinable: int
    pruned_items: int


class Recall(TypedDict):
    """Recall of a question's gold items at k, and the rank of the first one; None if none was retrieved."""

    k: int
    recall: float
    rank: int | None


class QuestionRecall(Recall):
    """Recall at k of a question by its position."""

    question: int


class RetrievalRow(Recall):
    """Recall at k of a question by its id."""

    question_id: str


class Level(TypedDict):
    """Root-relative scores of the nodes of one depth, gold or not: their number, mean, quantiles and a sample."""

    modality: str
    depth: int
    gold: bool
    n: int
    mean: float
    quantiles: list[float]
    sample: list[float]


class LevelRow(Level):
    """A level's scores under one system."""

    system: str


@dataclass(slots=True)
class Tables:
    """Rows of the evaluation's tables, in the schemas above."""

    decisions: list[DecisionRow]
    regions: list[RegionRow]
    systems: list[SystemRow]
    levels: list[LevelRow]
    retrieval: list[RetrievalRow] = field(default_factory=list)
