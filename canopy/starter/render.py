"""Renders the starter benchmark's YAML sources as a folder in the native format, with the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from canopy.errors import DataError
from canopy.ingest.records import GoldRecord, ItemRecord, QuestionRecord
from canopy.starter.drawings import write_drawing
from canopy.starter.themes import SOURCE, ImageItem, SourceQuestion, TableItem, TextItem, VideoItem, load_themes
from canopy.starter.videos import subtitles, write_video


def write_native(folder: Path, source: Path = SOURCE) -> Path:
    """Write the starter benchmark to ``folder``: ``items.jsonl``, ``questions.jsonl`` and ``media/``.

    The folder is what ``canopy run --data FOLDER`` accepts, and a model for a folder of your own documents.

    Parameters
    ----------
    folder : Path
        Made if it does not exist. One that already holds items or questions is refused, never overwritten.
    source : Path
        The folder of YAML sources.

    Returns
    -------
    Path
        ``folder``.
    """
    folder = Path(folder)
    for name in ("items.jsonl", "questions.jsonl"):
        if (folder / name).exists():
            raise DataError(f"{folder / name}: already there; name an empty folder to write the starter benchmark to")
    themes = load_themes(source)
    (folder / "media").mkdir(parents=True, exist_ok=True)
    texts = {i.id: i.text for t in themes for i in t.items if isinstance(i, TextItem)}
    _write_lines(folder / "items.jsonl", [write_item(i, folder) for t in themes for i in t.items])
    _write_lines(folder / "questions.jsonl", [question_record(q, texts) for t in themes for q in t.questions])
    return folder


def write_item(item: TextItem | TableItem | ImageItem | VideoItem, folder: Path) -> ItemRecord:
    """The item's native record; its media files are written under ``folder``."""
    record: ItemRecord = {"id": item.id, "modality": item.modality, "title": item.title}
    if isinstance(item, TextItem):
        return {**record, "text": item.text}
    if isinstance(item, TableItem):
        return {**record, "section": item.section, "header": item.header, "rows": item.rows}
    record["caption"] = item.caption
    if isinstance(item, ImageItem):
        record["media"] = f"media/{item.id}.png"
        write_drawing(item.drawing, item.title, folder / record["media"])
        return record
    record["media"] = f"media/{item.id}.mp4"
    record["duration"], record["subtitles"] = item.seconds, f"media/{item.id}.vtt"
    write_video(item, folder / record["media"])
    (folder / record["subtitles"]).write_text(subtitles(item), encoding="utf-8", newline="\n")
    return record


def question_record(question: SourceQuestion, texts: dict[str, str]) -> QuestionRecord:
    """The question's native record; quotes become character spans of the text they stand in."""
    gold: list[GoldRecord] = []
    for g in question.gold:
        entry: GoldRecord = {"item": g.item}
        if g.passages:
            starts = [(texts[g.item].index(p), len(p)) for p in g.passages]
            entry["chars"] = sorted([a, a + n] for a, n in starts)
        elif g.rows:
            entry["rows"] = g.rows
        elif g.seconds:
            entry["seconds"] = [[a, b] for a, b in g.seconds]
        gold.append(entry)
    return {
        "id": question.id,
        "question": question.question,
        "answers": question.answers,
        "type": question.type,
        "gold": gold,
    }


def _write_lines(path: Path, records: Sequence[ItemRecord | QuestionRecord]) -> None:
    lines = (json.dumps(r, ensure_ascii=False) + "\n" for r in records)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
