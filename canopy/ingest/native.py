"""The native format: your own documents as ``items.jsonl`` and ``questions.jsonl`` with media files beside them.

One JSON object a line. Items: ``id``, ``modality`` and, by modality, ``text``; ``header`` and ``rows``; ``media``, ``words``; ``media``,
``duration`` (seconds; the file's own where it is left out), ``subtitles`` (a .vtt or .srt file) or ``cues`` (the container's own where there
are neither). ``title``, ``section``, ``caption``, ``words`` are optional.
Questions: ``id``, ``question``, ``answers``, optional ``type``, ``split`` and ``gold``: a list of ``{"item": ID}`` with ``chars``, ``rows``
(numbers or ranges) or ``seconds``; entries with another ``group`` are alternatives.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from canopy.digests import file_sha256
from canopy.errors import DataError, MediaError
from canopy.ingest.fields import text_of
from canopy.ingest.files import iterate_jsonl
from canopy.ingest.sink import Sink, Unusable, Waiting
from canopy.ingest.subtitles import parse_cues
from canopy.items import MODALITIES, Annotation, Cue, Item, Question

MAX_CELLS = 5_000_000
UNITS_OF = {"text": "chars", "table": "rows", "video": "seconds"}


def read(raw: Path, sink: Sink) -> None:
    """Read a folder in the native format; ``questions.jsonl`` may be absent (a corpus without questions)."""
    if not (raw / "items.jsonl").is_file():
        raise DataError(f"{raw}: no items.jsonl there; the native format is one JSON object a line, see the README; `canopy import` makes it of documents")
    for place, record in iterate_jsonl(raw / "items.jsonl", sink):
        name = str(record.get("id") or place) if isinstance(record, dict) else place
        with sink.record(raw / "items.jsonl", name) as draft:
            draft.items.append(parse_item(record, raw, sink.benchmark))
    if not (raw / "questions.jsonl").is_file():
        sink.notes.append("no questions.jsonl: a corpus without questions; nothing can be trained or evaluated on it")
        return
    for place, record in iterate_jsonl(raw / "questions.jsonl", sink):
        name = str(record.get("id") or place) if isinstance(record, dict) else place
        with sink.record(raw / "questions.jsonl", name) as draft:
            question, annotations = parse_question(record, sink)
            draft.questions.append(question)
            draft.annotations.extend(annotations)


def parse_item(record: Any, raw: Path | None, benchmark: str) -> Item:
    """One native item. Unusable where a field is missing or wrong, Waiting where its media file is not there.

    ``raw`` is the folder that media paths count from; None where items arrive without files (a service's request).
    """
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    given = text_of(record.get("id"), "id")
    modality = record.get("modality")
    if modality not in MODALITIES:
        raise Unusable(f"modality must be one of {', '.join(MODALITIES)}, not {modality!r}")
    title, section, caption = (text_of(record.get(k) or "", k, empty=True) for k in ("title", "section", "caption"))
    common = {"id": f"{benchmark}/{given}" if benchmark else given, "benchmark": benchmark, "modality": modality, "title": title,
              "section": section, "caption": caption, "source": given}
    if modality == "text":
        return Item(**common, text=text_of(record.get("text"), "text"))
    if modality == "table":
        header, rows = table_cells(record)
        return Item(**common, header=header, rows=rows)
    media, digest = media_file(record, raw)
    if modality == "image":
        words = text_of(record.get("words") or "", "words", empty=True)
        return Item(**common, media=media, media_sha256=digest, words=words)
    duration = seconds_of(measured(raw / media) if raw and media and record.get("duration") is None else record.get("duration"), "duration")
    if duration <= 0:
        raise Unusable("a video's duration must be above 0 seconds")
    # A cue timed past the end still says something: it belongs to the last segment.
    cues = tuple(Cue(min(c.start, math.nextafter(duration, 0)), c.end, c.text) for c in cues_of(record, raw))
    return Item(**common, media=media, media_sha256=digest, duration=duration, cues=cues)


def measured(path: Path) -> float:
    """The length in seconds of a video file whose record gives none; Unusable where the file cannot be read."""
    from canopy.media.videos import probe_video

    try:
        return probe_video(path).duration
    except MediaError as e:
        raise Unusable(f"no duration is given, and the file cannot be measured: {str(e).removeprefix(f'{path}: ')}") from None


def table_cells(record: dict[str, Any]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of a table record; numbers become strings, ragged rows are filled with empty cells."""
    header, rows = record.get("header") or [], record.get("rows")
    if not isinstance(rows, list) or not rows:
        raise Unusable("a table needs rows: a list of at least one list of cells")
    if not isinstance(header, list) or not all(isinstance(r, list) for r in rows):
        raise Unusable("header must be a list of column names and every row a list of cells")
    # Filling ragged rows costs rows x width: a few kilobytes of brackets must not become gigabytes of empty cells.
    width = max(len(r) for r in [header, *rows])
    if width * len(rows) > MAX_CELLS:
        raise Unusable(f"a table of {len(rows)} rows and {width} columns; at most {MAX_CELLS:,} cells")
    cells = [[_cell(c) for c in r] for r in [header, *rows]]
    if not any(c.strip() for r in cells[1:] for c in r):
        raise Unusable("the table is empty: no cell of any row has words")
    full = [tuple(r + [""] * (width - len(r))) for r in cells]
    return full[0], tuple(full[1:])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Unusable(f"a cell must be a string or a number, not {type(value).__name__}")
    return text_of(str(value), "a cell", empty=True)


def media_file(record: dict[str, Any], raw: Path | None) -> tuple[str, str]:
    """The media path as given, and the file's digest. The path must stay inside the data folder."""
    given = record.get("media")
    if raw is None or (given is None and record.get("modality") in ("image", "video")):
        return "", ""
    media = text_of(given, "media")
    path = raw / media
    if not path.resolve().is_relative_to(raw.resolve()):
        raise Unusable(f"media {media!r} points outside the data folder")
    if not path.is_file():
        raise Waiting(f"media file {media!r} is not there")
    return media, file_sha256(path)


def seconds_of(value: Any, what: str) -> float:
    """A finite number of seconds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or abs(value) > 1e7:
        raise Unusable(f"{what} must be a number of seconds, not {value!r}")
    return float(value)


def cues_of(record: dict[str, Any], raw: Path | None) -> tuple[Cue, ...]:
    """Subtitles from the named file, or from ``cues``: a list of ``[start, end, text]``."""
    if record.get("subtitles") and raw is not None:
        name = text_of(record["subtitles"], "subtitles")
        path = raw / name
        if not path.resolve().is_relative_to(raw.resolve()):
            raise Unusable(f"subtitles {name!r} points outside the data folder")
        if not path.is_file():
            raise Waiting(f"subtitle file {name!r} is not there")
        return read_cues(path)
    cues = []
    for start, end, text in record.get("cues") or []:
        a, b = seconds_of(start, "a cue's start"), seconds_of(end, "a cue's end")
        if not 0 <= a <= b:
            raise Unusable(f"a cue from {a:g} to {b:g} seconds: its start must not be negative nor after its end")
        cues.append(Cue(a, b, text_of(text, "a cue's text", empty=True)))
    return tuple(sorted(cues, key=lambda c: (c.start, c.end)))


def read_cues(path: Path) -> tuple[Cue, ...]:
    """A subtitle file's cues; Unusable where it is not UTF-8 (or UTF-16 with its mark) or holds words but no cue."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as e:
        raise Unusable(f"subtitles {path.name!r}: byte {e.start} is not UTF-8; convert the file") from None
    cues = parse_cues(text)
    if not cues and "-->" in text:
        raise Unusable(f"subtitles {path.name!r}: no cue could be read")
    return cues


def parse_question(record: Any, sink: Sink) -> tuple[Question, list[Annotation]]:
    """One native question and its gold; a span outside its item makes the record unusable."""
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    qid = f"{sink.benchmark}/{text_of(record.get('id'), 'id')}"
    answers = record.get("answers", [])
    if isinstance(answers, str) or not isinstance(answers, list):
        raise Unusable("answers must be a list of strings")
    split = record.get("split") or ""
    if split not in ("", "train", "test"):
        raise Unusable(f"split must be train or test, not {split!r}")
    question = Question(qid, sink.benchmark, text_of(record.get("question"), "question"),
                        tuple(text_of(a, "an answer") for a in answers), text_of(record.get("type") or "", "type", empty=True), split)
    gold = record.get("gold") or []
    if not isinstance(gold, list):
        raise Unusable("gold must be a list of objects")
    return question, [parse_gold(g, qid, sink) for g in gold]


def parse_gold(entry: Any, qid: str, sink: Sink) -> Annotation:
    """One gold entry, checked against its item."""
    if not isinstance(entry, dict):
        raise Unusable("a gold entry must be an object with an item")
    item = sink.items.get(f"{sink.benchmark}/{text_of(entry.get('item'), 'gold item')}")
    if item is None and any(w["record"] == entry["item"] for w in sink.waiting):
        raise Waiting(f"gold item {entry['item']!r} waits for its media file")
    if item is None:
        raise Unusable(f"gold names item {entry['item']!r}, which is not in items.jsonl")
    group = entry.get("group", 0)
    if not isinstance(group, int) or isinstance(group, bool) or not 0 <= group < 2**31:
        raise Unusable(f"group must be a whole number, not {group!r}")
    given = [u for u in ("chars", "rows", "seconds") if u in entry]
    if not given:
        return Annotation(qid, item.id, "item", (), group)
    unit = given[0]
    if len(given) > 1 or UNITS_OF.get(item.modality) != unit:
        raise Unusable(f"gold of {item.modality} item {entry['item']!r} must be given in {UNITS_OF.get(item.modality, 'no unit')}, not {', '.join(given)}")
    if not isinstance(entry[unit], list) or not entry[unit]:
        raise Unusable(f"{unit} must be a list with at least one span")
    end = {"chars": float(len(item.text)), "rows": float(len(item.rows)), "seconds": item.duration}[unit]
    spans = []
    for span in entry[unit]:
        if unit == "rows" and isinstance(span, int) and not isinstance(span, bool):
            span = [span, span + 1]
        if not isinstance(span, list) or len(span) != 2:
            raise Unusable(f"{unit}: a span is [start, end], not {span!r}")
        a, b = (seconds_of(x, unit) for x in span)
        if not (0 <= a <= b <= end) or (unit != "seconds" and (a == b or a % 1 or b % 1)):
            raise Unusable(f"gold span {[*span]} lies outside item {entry['item']!r}, whose {unit} end at {end:g}")
        spans.append((a, b))
    return Annotation(qid, item.id, unit, tuple(spans), group)
