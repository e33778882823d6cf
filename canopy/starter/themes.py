"""Reads the starter benchmark's YAML sources and refuses what does not keep FORMAT.md, naming file, record and
reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from canopy.errors import DataError

SOURCE = Path(__file__).parent / "source"
WORDS_A_SECOND = 3.2  # faster narration than this cannot be spoken, nor its subtitles read
_SENTENCE_END = re.compile(r"[.!?][\"')]?(?=\s+[A-Z0-9\"'(]|$)")

_PAIR = Field(strict=False)  # YAML gives lists where these are tuples
Words = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Bars(_Record):
    """A bar chart of named values in one unit."""

    kind: Literal["bars"]
    unit: str
    values: Annotated[dict[Words, float], Field(min_length=2)]


class Line(_Record):
    """A line chart of one or more named series of (x, y) points."""

    kind: Literal["line"]
    x: Words
    y: Words
    series: Annotated[dict[Words, list[Annotated[tuple[float, float], _PAIR]]], Field(min_length=1)]


class Timeline(_Record):
    """Events in years, from the earliest down."""

    kind: Literal["timeline"]
    events: Annotated[list[Annotated[tuple[int, Words], _PAIR]], Field(min_length=2)]


class Map(_Record):
    """Places by label, latitude and longitude."""

    kind: Literal["map"]
    points: Annotated[list[Annotated[tuple[Words, float, float], _PAIR]], Field(min_length=2)]


class Layers(_Record):
    """Layers from the top down, each a name and an extent."""

    kind: Literal["layers"]
    layers: Annotated[list[Annotated[tuple[Words, Words], _PAIR]], Field(min_length=2)]


class Flow(_Record):
    """Steps in order, each a box and the label of the arrow that leaves it."""

    kind: Literal["flow"]
    steps: Annotated[list[Annotated[tuple[Words, Words], _PAIR]], Field(min_length=2)]


Drawing = Annotated[Bars | Line | Timeline | Map | Layers | Flow, Field(discriminator="kind")]


class _SourceItem(_Record):
    id: Annotated[str, Field(pattern=r"^[a-z]+(-[a-z0-9]+)+$")]
    title: Words


class TextItem(_SourceItem):
    """A text of 5 to 12 sentences in one paragraph."""

    modality: Literal["text"]
    text: Words

    @model_validator(mode="after")
    def _length(self) -> TextItem:
        if not 5 <= (n := len(_SENTENCE_END.findall(self.text.strip()))) <= 13:
            raise ValueError(f"a text has 5 to 12 sentences, this one about {n}")
        return self


class TableItem(_SourceItem):
    """A table of 6 to 25 rows, each as wide as its header."""

    modality: Literal["table"]
    section: str = ""
    header: Annotated[list[Words], Field(min_length=2)]
    rows: Annotated[list[list[str]], Field(min_length=6, max_length=25)]

    @model_validator(mode="after")
    def _width(self) -> TableItem:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise ValueError(f"row {number} has {len(row)} cells, the header {len(self.header)}")
        return self


class ImageItem(_SourceItem):
    """A picture given as data, with a caption that says in words what it shows."""

    modality: Literal["image"]
    caption: Words
    drawing: Drawing


class Scene(_Record):
    """A slide of a video, how long it stands, and what is said meanwhile."""

    seconds: Annotated[int, Field(ge=5, le=60)]
    heading: Words
    bullets: Annotated[list[Words], Field(min_length=1, max_length=5)]
    narration: Words

    @model_validator(mode="after")
    def _pace(self) -> Scene:
        if (n := len(self.narration.split())) > WORDS_A_SECOND * self.seconds:
            raise ValueError(f"scene {self.heading!r}: {n} words cannot be spoken in {self.seconds} s")
        return self


class VideoItem(_SourceItem):
    """A narrated slide lesson of 60 to 190 seconds."""

    modality: Literal["video"]
    caption: Words
    scenes: Annotated[list[Scene], Field(min_length=2, max_length=7)]

    @property
    def seconds(self) -> int:
        """The lesson's length."""
        return sum(s.seconds for s in self.scenes)

    @model_validator(mode="after")
    def _length(self) -> VideoItem:
        if not 60 <= self.seconds <= 190:
            raise ValueError(f"the scenes last {self.seconds} s together; 60 to 190 are allowed")
        return self


SourceItem = Annotated[TextItem | TableItem | ImageItem | VideoItem, Field(discriminator="modality")]


class SourceGold(_Record):
    """Where a question's evidence lies in one item."""

    item: Words
    quote: str | None = None
    quotes: Annotated[list[str], Field(min_length=1)] | None = None
    rows: Annotated[list[int], Field(min_length=1)] | None = None
    seconds: Annotated[list[Annotated[tuple[float, float], _PAIR]], Field(min_length=1)] | None = None

    @property
    def passages(self) -> list[str]:
        """The quoted sentences, however many were given."""
        return [self.quote] if self.quote is not None else self.quotes or []


class SourceQuestion(_Record):
    """A question with its accepted answers and its evidence."""

    id: Annotated[str, Field(pattern=r"^[a-z]+-q-\d+$")]
    question: Words
    answers: Annotated[list[Words], Field(min_length=1)]
    type: Literal["single", "multi_hop", "table_text", "comparison", "yes_no"]
    gold: Annotated[list[SourceGold], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Theme:
    """One source file: items and the questions on them."""

    name: str
    items: tuple[TextItem | TableItem | ImageItem | VideoItem, ...]
    questions: tuple[SourceQuestion, ...]


_ITEM: TypeAdapter[Any] = TypeAdapter(SourceItem)
_QUESTION: TypeAdapter[SourceQuestion] = TypeAdapter(SourceQuestion)


def load_themes(source: Path = SOURCE) -> list[Theme]:
    """Every theme under ``source``, in order of file name.

    Raises
    ------
    DataError
        If a file or record does not keep ``FORMAT.md``: names the file, the record's id and the reason.
    """
    files = sorted(source.glob("*.yaml"))
    if not files:
        raise DataError(f"{source}: no .yaml file there; the starter benchmark's sources are missing")
    themes, seen = [], set()
    for path in files:
        theme = load_theme(path)
        for record in (*theme.items, *theme.questions):
            if record.id in seen:
                raise DataError(f"{path}: {record.id}: this id is used twice; ids are unique over all files")
            seen.add(record.id)
        themes.append(theme)
    return themes


def load_theme(path: Path) -> Theme:
    """One theme, checked in itself. Raises DataError naming the file, the record's id and the reason."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise DataError(f"{path}: not readable as YAML: {' '.join(str(e).split())}") from None
    if not isinstance(raw, dict) or not all(isinstance(raw.get(k), list) for k in ("items", "questions")):
        raise DataError(f"{path}: theme, a list of items and a list of questions are expected")
    if raw.get("theme") != path.stem:
        raise DataError(f"{path}: theme is {raw.get('theme')!r}; it must be the file's name, {path.stem!r}")
    items = tuple(_validate(_ITEM, r, path, f"item {n}") for n, r in enumerate(raw["items"]))
    questions = tuple(_validate(_QUESTION, r, path, f"question {n}") for n, r in enumerate(raw["questions"]))
    known = {i.id: i for i in items}
    for q in questions:
        for g in q.gold:
            if reason := gold_fault(g, known.get(g.item)):
                raise DataError(f"{path}: {q.id}: gold on {g.item}: {reason}")
    if unused := known.keys() - {g.item for q in questions for g in q.gold}:
        raise DataError(f"{path}: {min(unused)}: no question has this item as gold")
    return Theme(path.stem, items, questions)


def gold_fault(gold: SourceGold, item: TextItem | TableItem | ImageItem | VideoItem | None) -> str:
    """What is wrong with a gold entry; "" if nothing is."""
    if item is None:
        return "no such item in this file"
    kinds = [k for k in ("quote", "quotes", "rows", "seconds") if getattr(gold, k) is not None]
    allowed = {"text": ["quote", "quotes"], "table": ["rows"], "video": ["seconds"], "image": []}[item.modality]
    if len(kinds) > 1 or (bool(allowed) != bool(kinds)) or not set(kinds) <= set(allowed):
        expected = " or ".join(allowed) or "no span"
        return f"{expected} is expected for a {item.modality}, not {', '.join(kinds) or 'nothing'}"
    if isinstance(item, TextItem):
        for quote in gold.passages:
            if not quote.strip() or item.text.count(quote) != 1:
                return f"the quote must stand in the text exactly once: {quote!r}"
    if isinstance(item, TableItem):
        for row in gold.rows or []:
            if not 0 <= row < len(item.rows):
                return f"row {row} is not among the {len(item.rows)} rows"
    if isinstance(item, VideoItem):
        for a, b in gold.seconds or []:
            if not 0 <= a < b <= item.seconds:
                return f"seconds [{a:g}, {b:g}] lie outside the video's {item.seconds} s"
    return ""


def _validate(adapter: TypeAdapter[Any], record: Any, path: Path, place: str) -> Any:
    """One record through its model; the first fault becomes the DataError."""
    try:
        return adapter.validate_python(record)
    except ValidationError as e:
        first = e.errors()[0]
        place_in = ".".join(
            str(x) for x in first["loc"] if x not in ("text", "table", "image", "video") or len(first["loc"]) == 1
        )
        name = record.get("id", place) if isinstance(record, dict) else place
        raise DataError(f"{path}: {name}: {place_in + ': ' if place_in else ''}{first['msg']}") from None
