"""The native format's records as types: the JSON objects of ``items.jsonl`` and ``questions.jsonl``."""

from __future__ import annotations

from typing import TypedDict


class ItemRecord(TypedDict, total=False):
    """An item: ``id``, ``modality``, and the fields of that modality (see `canopy.ingest.native`)."""

    id: str
    modality: str
    title: str
    section: str
    caption: str
    text: str
    header: list[str]
    rows: list[list[str]]
    media: str
    words: str
    duration: float
    subtitles: str
    cues: list[tuple[float, float, str]]


class GoldRecord(TypedDict, total=False):
    """Where a question's evidence lies in one item, in the unit of the item's modality; no span.

    The item as a whole.
    """

    item: str
    chars: list[list[int]]
    rows: list[int]
    seconds: list[list[float]]
    group: int


class QuestionRecord(TypedDict, total=False):
    """A question, its accepted answers and its gold."""

    id: str
    question: str
    answers: list[str]
    type: str
    split: str
    gold: list[GoldRecord]
