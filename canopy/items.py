"""The native data model (items, questions, gold annotations) and its Parquet schema.

Every benchmark adapter writes these three tables and every later stage reads nothing else.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.digests import text_sha256

Modality = Literal["text", "table", "image", "video"]
MODALITIES: tuple[Modality, ...] = ("text", "table", "image", "video")
Unit = Literal["chars", "rows", "seconds", "item"]
UNITS: tuple[Unit, ...] = ("chars", "rows", "seconds", "item")


@dataclass(frozen=True, slots=True)
class Cue:
    """A subtitle: seconds from the start of the video, and its words."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    """A retrievable item of one modality; the root of a hierarchy.

    Parameters
    ----------
    id : str
        Stable and unique within the corpus; starts with the benchmark's name.
    text : str
        Text items only; never rewritten, so that character spans stay valid.
    header, rows : tuple
        Table items only: column names, and one tuple of cells a row, each as wide as the header.
    media : str
        Image and video items: path of the file, relative to the benchmark's output or raw folder.
    duration : float
        Video items: length in seconds.
    cues : tuple of Cue
        Video items: subtitles, sorted by start.
    words : str
        Text read off an image (OCR), empty if none was read.
    screen : tuple of Cue
        Video items: text read off the frames, with the times it was seen at, sorted by start.
    cuts : tuple of float
        Video items: seconds at which segments should rather end (shot changes or subtitle gaps), sorted; empty for
        fixed segments.
    """

    id: str
    benchmark: str
    modality: Modality
    title: str = ""
    section: str = ""
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    media: str = ""
    media_sha256: str = ""
    duration: float = 0.0
    caption: str = ""
    cues: tuple[Cue, ...] = ()
    words: str = ""
    screen: tuple[Cue, ...] = ()
    cuts: tuple[float, ...] = ()
    source: str = ""

    def content_digest(self) -> str:
        """SHA-256 over everything an encoder can see; ids and provenance are left out, so equal content is equal."""
        seen = [self.modality, self.title, self.section, self.text, self.header, self.rows, self.media_sha256,
                self.duration, self.caption, [dataclasses.astuple(c) for c in self.cues], self.words,
                [dataclasses.astuple(c) for c in self.screen], self.cuts]
        return text_sha256(json.dumps(seen, ensure_ascii=False))

    def texts(self) -> Iterator[str]:
        """Everything that can be read in it, wherever it stands: titles, text, names of columns, cells, cues, words."""
        yield from (self.title, self.section, self.caption, self.text, self.words, *self.header)
        for row in self.rows:
            yield from row
        for cue in (*self.cues, *self.screen):
            yield cue.text


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its accepted answers (aliases of one answer), and the split its benchmark gives it ("" if none).

    ``details``: pairs of a name and a value that the benchmark's own rules need and no other field holds (TAT-QA's
    ``answer_type``, ``scale``, ``derivation``), in the adapter's order; names are unique. Where ``answer_type`` is
    ``multi-span``, or ``list`` is ``true`` (MultiModalQA), the answers are one answer together. Options of a
    multiple-choice question stand under their letters (``A``, ``B``).
    """

    id: str
    benchmark: str
    question: str
    answers: tuple[str, ...] = ()
    type: str = ""
    split: str = ""
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """Where the gold evidence of a question lies in one item, in the item's own unit.

    ``pseudo``: found by locating the answer, not annotated by anyone. ``spans`` are half-open: characters of the
    text, row numbers of a table, seconds of a video; none for ``item``. Annotations of one question that share a
    ``group`` are joint evidence; different groups are alternatives (OTT-QA's weak labels), any one of which suffices.
    """

    question_id: str
    item_id: str
    unit: Unit
    spans: tuple[tuple[float, float], ...] = ()
    group: int = 0
    pseudo: bool = False


@dataclass(slots=True)
class Evidence:
    """One kept region of one item: fragments ``[lo, hi)``, its score and depth in the item's hierarchy.

    ``text``: what a compressor wrote in place of the region's words, empty if they stand as they are. ``times``:
    seconds of the frames to show of a video region, if a system chose them; empty: evenly spaced.
    """

    item_id: str
    lo: int
    hi: int
    score: float
    depth: int
    text: str = ""
    tokens: int = 0
    span: tuple[float, float] = field(default=(0.0, 0.0))
    times: tuple[float, ...] = ()


_CUES = pa.list_(pa.struct([("start", pa.float64()), ("end", pa.float64()), ("text", pa.string())]))
ITEM_SCHEMA = pa.schema([
    ("id", pa.string()), ("benchmark", pa.string()), ("modality", pa.string()), ("title", pa.string()),
    ("section", pa.string()), ("text", pa.string()), ("header", pa.list_(pa.string())),
    ("rows", pa.list_(pa.list_(pa.string()))), ("media", pa.string()), ("media_sha256", pa.string()),
    ("duration", pa.float64()), ("caption", pa.string()),
    ("cues", _CUES), ("words", pa.string()), ("screen", _CUES), ("cuts", pa.list_(pa.float64())),
    ("source", pa.string()),
])
QUESTION_SCHEMA = pa.schema([
    ("id", pa.string()), ("benchmark", pa.string()), ("question", pa.string()), ("answers", pa.list_(pa.string())),
    ("type", pa.string()), ("split", pa.string()), ("details", pa.map_(pa.string(), pa.string())),
])
ANNOTATION_SCHEMA = pa.schema([
    ("question_id", pa.string()), ("item_id", pa.string()), ("unit", pa.string()),
    ("spans", pa.list_(pa.list_(pa.float64(), 2))), ("group", pa.int32()), ("pseudo", pa.bool_()),
])


def write_table(path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Write rows as Parquet with an explicit schema; equal rows give equal bytes."""
    table = pa.Table.from_pylist(list(rows), schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", row_group_size=20_000)
    return table


def write_items(path: Path, items: Iterable[Item]) -> pa.Table:
    """Write items in the native Parquet schema."""
    return write_table(path, (dataclasses.asdict(i) for i in items), ITEM_SCHEMA)


def write_questions(path: Path, questions: Iterable[Question]) -> pa.Table:
    """Write questions in the native Parquet schema."""
    return write_table(path, (dataclasses.asdict(q) for q in questions), QUESTION_SCHEMA)


def write_annotations(path: Path, annotations: Iterable[Annotation]) -> pa.Table:
    """Write gold annotations in the native Parquet schema."""
    return write_table(path, (dataclasses.asdict(a) for a in annotations), ANNOTATION_SCHEMA)


def item_from_row(row: Mapping[str, Any]) -> Item:
    """One Parquet row back into an Item."""
    cues = {k: tuple(Cue(c["start"], c["end"], c["text"]) for c in row[k] or ()) for k in ("cues", "screen")}
    return Item(**{**row, **cues, "header": tuple(row["header"] or ()),
                   "rows": tuple(tuple(r) for r in row["rows"] or ()),
                   "cuts": tuple(row["cuts"] or ())})


def read_items(path: Path, ids: Sequence[str] | None = None) -> list[Item]:
    """Read items, all or those with the given ids, in file order."""
    filters = None if ids is None else [("id", "in", list(ids))]
    if filters is not None and not ids:
        return []
    return [item_from_row(r) for r in pq.read_table(path, schema=ITEM_SCHEMA, filters=filters).to_pylist()]


def read_questions(path: Path) -> list[Question]:
    """Read questions in file order."""
    return [Question(**{**r, "answers": tuple(r["answers"]), "details": tuple((k, v) for k, v in r["details"] or ())})
            for r in pq.read_table(path, schema=QUESTION_SCHEMA).to_pylist()]


def read_annotations(path: Path) -> list[Annotation]:
    """Read gold annotations in file order."""
    return [Annotation(r["question_id"], r["item_id"], r["unit"], tuple((a, b) for a, b in r["spans"]), r["group"],
                       r["pseudo"])
            for r in pq.read_table(path, schema=ANNOTATION_SCHEMA).to_pylist()]
