"""What a caller hands over as items: strings, records in the native format, or items as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from canopy.errors import DataError
from canopy.ingest.fields import seconds_of, text_of, video_seconds_of
from canopy.ingest.native import parse_item
from canopy.ingest.sink import Unusable, Waiting
from canopy.ingest.tables import fill_rows
from canopy.items import MODALITIES, Cue, Item

Source: TypeAlias = str | Mapping[str, object] | Item


def read_question(question: object) -> str:
    """A question, checked.

    Raises
    ------
    DataError
        If it is no string, or blank.
    """
    try:
        return text_of(question, "question")
    except Unusable as e:
        raise DataError(str(e)) from None


def read_sources(sources: Iterable[Source], media: Path | None = None, notes: list[str] | None = None) -> list[Item]:
    """Items in the order given; one without an id is called by its place, ``items[0]``.

    Parameters
    ----------
    media : Path, optional
        Folder that records' ``media`` and ``subtitles`` count from. Without it no file is read: an image is its title,
        caption and ``words``, a video its title, caption and ``cues``.
    notes : list of str, optional
        What of an item is filled or left aside is added to it.

    Raises
    ------
    DataError
        If an item cannot be used; the message names the item and the field.
    """
    if isinstance(sources, (str, bytes, Mapping, Item)) or not isinstance(sources, Iterable):
        raise DataError(f"items: a list of items is expected, not one {type(sources).__name__}")
    items = []
    for number, source in enumerate(sources):
        remarks: list[str] = []
        items.append(_read_source(source, f"items[{number}]", media, remarks))
        if notes is not None:
            notes += [f"items[{number}] ({items[-1].id}): {remark}" for remark in remarks]
    return items


def _read_source(source: object, place: str, media: Path | None, notes: list[str]) -> Item:
    name = place
    try:
        if isinstance(source, Item):
            name = f"{place} ({source.id})"
            check_item(source)
            if source.modality == "table" and len({len(source.header), *map(len, source.rows)}) > 1:
                header, rows = fill_rows(source.header, source.rows, notes)
                return dataclasses.replace(source, header=header, rows=rows)
            return source
        if isinstance(source, str):
            return parse_item({"id": place, "modality": "text", "text": source}, None, "")
        if not isinstance(source, Mapping):
            raise Unusable(f"a string, a record or an Item is expected, not {type(source).__name__}")
        record = {**source, "id": source["id"] if source.get("id") is not None else place}
        if source.get("id") is not None:
            name = f"{place} ({str(source['id'])[:100]})"
        if media is None and record.get("subtitles"):
            raise Unusable("subtitles: no folder of media is given; use Compressor.load(media=FOLDER), or "
                           "send `cues`, a list of [start, end, text]")
        if media is None and record.get("media"):
            if not any(record.get(k) for k in ("title", "caption", "words", "cues")):
                raise Unusable("media: no folder of media is given; use Compressor.load(media=FOLDER), or send what "
                               "the file shows or says as title, caption, `words` or `cues`")
            notes.append("media: no folder of media is given, so that the file is not read")
        return parse_item(record, media, "", notes)
    except (Unusable, Waiting) as e:
        # A lone surrogate in an id could not be printed.
        raise DataError(f"{name}: {e}".encode("utf-8", "backslashreplace").decode()) from None


def check_item(item: Item) -> None:
    """Check that an item that was made by hand can be cut and encoded.

    Raises
    ------
    Unusable
        If a field that its modality needs is missing or wrong.
    """
    text_of(item.id, "id")
    if item.modality not in MODALITIES:
        raise Unusable(f"modality must be one of {', '.join(MODALITIES)}, not {item.modality!r}")
    for field in ("title", "section", "caption", "words"):
        text_of(getattr(item, field), field, empty=True)
    if item.modality == "text":
        text_of(item.text, "text")
    if item.modality == "table":
        if not item.rows:
            raise Unusable("rows: a table needs at least one row")
        lines = (item.header, *item.rows)
        if [line for line in lines if not isinstance(line, (tuple, list))]:
            raise Unusable("header and each of rows must be a tuple of cells")
        for cell in (cell for line in lines for cell in line):
            text_of(cell, "a cell of header or rows", empty=True)
    if item.modality == "video":
        duration = video_seconds_of(item.duration, "duration")
        for field in ("cues", "screen"):
            _check_cues(getattr(item, field), field, duration)
        if not isinstance(item.cuts, tuple) or [c for c in item.cuts if not isinstance(c, (int, float))]:
            raise Unusable("cuts must be a tuple of seconds")


def _check_cues(cues: object, field: str, duration: float) -> None:
    if not isinstance(cues, tuple):
        raise Unusable(f"{field} must be a tuple of Cue, not {type(cues).__name__}")
    for number, cue in enumerate(cues):
        place = f"{field}[{number}]"
        if not isinstance(cue, Cue):
            raise Unusable(f"{place} must be a Cue, not {type(cue).__name__}")
        start, end = seconds_of(cue.start, f"{place}.start"), seconds_of(cue.end, f"{place}.end")
        text_of(cue.text, f"{place}.text", empty=True)
        if not 0 <= start <= end:
            raise Unusable(f"{place} must start at 0 or later and end no earlier, not {start:g} to {end:g}")
        if start >= duration:
            raise Unusable(f"{place} starts at {start:g} s, after the video's {duration:g} s")
