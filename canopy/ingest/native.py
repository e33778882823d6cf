"""The native format: your own documents as ``items.jsonl`` and ``questions.jsonl`` with media files beside them.

One JSON object a line. Items: ``id``, ``modality`` and, by modality, ``text``; ``header`` and ``rows``; ``media`` and
``words``; ``media``, ``duration`` (seconds; by default the file's own) and ``subtitles`` (a .vtt or .srt file) or
``cues`` (a list of ``[start, end, text]``; by default the container's own). ``title``, ``section``, ``caption``,
``words`` are optional. Questions: see `canopy.ingest.native_questions`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path

from canopy.digests import file_sha256
from canopy.errors import DataError, MediaError
from canopy.ingest.fields import seconds_of, shorten, text_of, video_seconds_of
from canopy.ingest.files import iterate_jsonl
from canopy.ingest.native_questions import parse_question
from canopy.ingest.record_notes import RecordNotes
from canopy.ingest.sink import Sink, Unusable, Waiting
from canopy.ingest.subtitles import parse_cues
from canopy.ingest.tables import table_cells
from canopy.items import MODALITIES, Cue, Item


def read(raw: Path, sink: Sink) -> None:
    """Read a folder in the native format; ``questions.jsonl`` may be absent (a corpus without questions)."""
    if not (raw / "items.jsonl").is_file():
        raise DataError(f"{raw}: no items.jsonl there; the native format is one JSON object a line, "
                        "see docs/own-documents.md; `canopy import` makes it of documents")
    aside = RecordNotes(raw / "items.jsonl", sink.notes)
    for place, record in iterate_jsonl(raw / "items.jsonl", sink):
        name = _record_name(record, place)
        with sink.record(raw / "items.jsonl", name, place) as draft:
            remarks: list[str] = []
            aside.add_item(record, place)
            item = parse_item(record, raw, sink.benchmark, remarks)
            if item.id in sink.items:
                remarks.append("an item of this id stands above: one of the two is kept")
            draft.items.append(item)
            aside.add_remarks(name, place, remarks)
    aside.close()
    if not (raw / "questions.jsonl").is_file():
        sink.notes.append("no questions.jsonl: a corpus without questions; nothing can be trained or evaluated on it")
        return
    aside = RecordNotes(raw / "questions.jsonl", sink.notes)
    for place, record in iterate_jsonl(raw / "questions.jsonl", sink):
        with sink.record(raw / "questions.jsonl", _record_name(record, place), place) as draft:
            aside.add_question(record, place)
            question, annotations = parse_question(record, sink)
            draft.questions.append(question)
            draft.annotations.extend(annotations)
    aside.close()


def _record_name(record: object, place: str) -> str:
    return str(record.get("id") or place) if isinstance(record, dict) else place


def parse_item(record: object, raw: Path | None, benchmark: str, notes: list[str] | None = None) -> Item:
    """One native record as an item; the only parser of such records.

    Parameters
    ----------
    record : object
        Any JSON value.
    raw : Path or None
        The folder that media paths count from. None if items arrive without files (a service's request): ``media`` and
        ``subtitles`` are then left aside.
    benchmark : str
        Stands before the id; may be empty.
    notes : list of str, optional
        What of the record is filled or left out is added to it.

    Raises
    ------
    Unusable
        If the record is no object, or a field is missing or wrong; the message names the field.
    Waiting
        If a media or subtitle file is not there.
    """
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    name = text_of(record.get("id"), "id")
    modality = record.get("modality")
    if modality not in MODALITIES:
        raise Unusable(f"modality must be one of {', '.join(MODALITIES)}, not {shorten(modality)}")
    title, section, caption = (text_of(record.get(k) or "", k, empty=True) for k in ("title", "section", "caption"))
    item = Item(
        f"{benchmark}/{name}" if benchmark else name, benchmark, modality, title, section, caption=caption, source=name
    )
    if modality == "text":
        return dataclasses.replace(item, text=text_of(record.get("text"), "text"))
    if modality == "table":
        header, rows = table_cells(record, notes)
        return dataclasses.replace(item, header=header, rows=rows)
    media, digest = _media_file(record, raw)
    item = dataclasses.replace(item, media=media, media_sha256=digest)
    if modality == "image":
        return dataclasses.replace(item, words=text_of(record.get("words") or "", "words", empty=True))
    length = record.get("duration")
    duration = _measure_video(raw / media) if raw and media and length is None else video_seconds_of(length, "duration")
    # A cue timed past the end still says something: it belongs to the last segment.
    last = math.nextafter(duration, 0)
    cues = tuple(Cue(min(c.start, last), c.end, c.text) for c in _cues(record, raw, notes))
    return dataclasses.replace(item, duration=duration, cues=cues)


def _measure_video(path: Path) -> float:
    """The length in seconds of a video file whose record gives none; Unusable if the file cannot be read."""
    from canopy.media.videos import probe_video

    try:
        duration = probe_video(path).duration
    except (MediaError, OSError) as e:
        raise Unusable(
            f"no duration is given, and the file cannot be measured: {str(e).removeprefix(f'{path}: ')}"
        ) from None
    return seconds_of(duration, "the file's duration")


def _media_file(record: Mapping[str, object], raw: Path | None) -> tuple[str, str]:
    """The media path as given, and the SHA-256 of the file; both empty if the record has none."""
    if raw is None or record.get("media") is None:
        return "", ""
    path = _data_file(record, "media", "media file", raw)
    try:
        return str(record["media"]), file_sha256(path)
    except OSError as e:
        raise Unusable(f"media {shorten(record['media'])} cannot be read: {e.strerror}") from None


def _data_file(record: Mapping[str, object], field: str, kind: str, raw: Path) -> Path:
    """The file that a field names. Unusable if it is outside the data folder, Waiting if it is not there."""
    name = text_of(record.get(field), field)
    path = raw / name
    try:
        inside, there = path.resolve().is_relative_to(raw.resolve()), path.is_file()
    except (OSError, RuntimeError) as e:
        raise Unusable(
            f"{field} {shorten(name)} cannot be looked up: {getattr(e, 'strerror', None) or 'links in a circle'}"
        ) from None
    if not inside:
        raise Unusable(f"{field} {shorten(name)} points outside the data folder")
    if not there:
        raise Waiting(f"{kind} {shorten(name)} is not there")
    return path


def _cues(record: Mapping[str, object], raw: Path | None, notes: list[str] | None) -> tuple[Cue, ...]:
    """Subtitles from the named file, or from ``cues``: a list of ``[start, end, text]``."""
    if record.get("subtitles") and raw is not None:
        return read_cues(_data_file(record, "subtitles", "subtitle file", raw), notes)
    entries = record.get("cues") or []
    if not isinstance(entries, (list, tuple)):
        raise Unusable(f"cues must be a list of [start, end, text], not {type(entries).__name__}")
    return tuple(sorted(map(_cue, entries), key=lambda c: (c.start, c.end)))


def _cue(entry: object) -> Cue:
    if not isinstance(entry, (list, tuple)) or len(entry) != 3:
        raise Unusable(f"cues: a cue is [start, end, text], not {shorten(entry)}")
    start, end = seconds_of(entry[0], "a cue's start"), seconds_of(entry[1], "a cue's end")
    if not 0 <= start <= end:
        raise Unusable(
            f"cues: a cue from {start:g} to {end:g} seconds: its start must not be negative nor after its end"
        )
    return Cue(start, end, text_of(entry[2], "a cue's text", empty=True))


def read_cues(path: Path, notes: list[str] | None = None) -> tuple[Cue, ...]:
    """A subtitle file's cues; what of it cannot be read is added to ``notes``, with file and line.

    Raises
    ------
    Unusable
        If the file cannot be read, is not UTF-8 (or UTF-16 with its mark), or holds words but no cue.
    """
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as e:
        raise Unusable(f"subtitles {path.name!r} cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise Unusable(f"subtitles {path.name!r}: byte {e.start} is not UTF-8; convert the file") from None
    remarks: list[str] = []
    cues = parse_cues(text, remarks)
    if notes is not None:
        notes += [f"subtitles {path.name!r}: {remark}" for remark in remarks]
    if not cues and "-->" in text:
        raise Unusable(f"subtitles {path.name!r}: no cue could be read")
    return cues
