"""Questions from a file of the user's (JSON Lines, JSON, CSV, Excel) to native records.

What cannot be used is named with a reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from canopy.errors import DataError
from canopy.importing.blocks import one_line
from canopy.importing.csv_files import csv_rows
from canopy.importing.workbook import workbook_rows
from canopy.ingest.fields import text_of
from canopy.ingest.files import iterate_jsonl, load_json_list
from canopy.ingest.records import QuestionRecord
from canopy.ingest.sink import Sink, Unusable

_NAMES = {
    "question": ("question", "query"),
    "answers": ("answers", "answer"),
    "id": ("id", "question_id"),
    "type": ("type",),
    "split": ("split",),
    "item": ("item", "gold", "document"),
}


def read_question_file(path: Path, known: Set[str]) -> tuple[list[QuestionRecord], list[dict[str, str]]]:
    """Native question records of a file, and the records that cannot be used (``file``, ``record``, ``reason``).

    JSON: objects as in questions.jsonl; ``answer`` with one string does for ``answers``. Tables: a column ``question``;
    optional ``answers`` (several separated by ``|``), ``id``, ``type``, ``split``, ``item`` (ids of the items that are
    evidence together, separated by ``|``).

    Parameters
    ----------
    known : set of str
        Ids of the imported items.

    Raises
    ------
    DataError
        If the whole file cannot be read, or has no question column.
    """
    suffix = path.suffix.lower()
    if not path.is_file():
        raise DataError(f"{path}: no such file (--questions)")
    sink = Sink("", path.parent)
    if suffix in (".jsonl", ".gz"):
        source: Iterator[tuple[str, object]] = iterate_jsonl(path, sink)
    elif suffix == ".json":
        source = ((f"record {n}", r) for n, r in enumerate(load_json_list(path), 1))
    elif suffix in (".csv", ".tsv", ".xlsx"):
        source = _table_records(path)
    else:
        raise DataError(
            f"{path}: questions are read from .jsonl, .json, .csv, .tsv or .xlsx files, not "
            f"{suffix or 'files without an ending'}"
        )
    records: list[QuestionRecord] = []
    seen: set[str] = set()
    for place, record in source:
        try:
            question = _question(record, place, known)
            if question["id"] in seen:
                raise Unusable(f"duplicate question id {question['id']!r}; the first one read is kept")
            seen.add(question["id"])
            records.append(question)
        except Unusable as e:
            sink.reject(path, place, str(e))
    return records, sink.quarantine


def _question(record: object, place: str, known: Set[str]) -> QuestionRecord:
    if not isinstance(record, dict):
        raise Unusable(f"an object is expected, not {type(record).__name__}")
    answers = record.get("answers", record.get("answer", []))
    if isinstance(answers, (str, int, float)) and not isinstance(answers, bool):
        answers = [str(answers)]
    if answers is None or not isinstance(answers, list):
        raise Unusable("answers must be a list of strings")
    name = record.get("id")
    question: QuestionRecord = {
        "id": text_of(str(name) if name not in (None, "") else place.replace(" ", "-"), "id"),
        "question": text_of(record.get("question"), "question"),
        "answers": [_answer(answer) for answer in answers],
    }
    if record.get("type"):
        question["type"] = text_of(record["type"], "type")
    if record.get("split"):
        question["split"] = text_of(record["split"], "split")
    if question.get("split", "train") not in ("train", "test"):
        raise Unusable(f"split must be train or test, not {question['split']!r}")
    gold = record.get("gold") or []
    if not isinstance(gold, list) or not all(isinstance(g, dict) for g in gold):
        raise Unusable("gold must be a list of objects")
    for entry in gold:
        if not isinstance(entry.get("item"), str) or entry["item"] not in known:
            raise Unusable(f"gold names item {entry.get('item')!r}, which was not imported")
    if gold:
        question["gold"] = gold
    return question


def _answer(value: object) -> str:
    """An accepted answer; a number becomes a string."""
    return text_of(
        str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value, "an answer"
    )


def _table_records(path: Path) -> Iterator[tuple[str, object]]:
    """Rows (of a workbook: of the first sheet) as records.

    DataError if they cannot be read, or none of them names a column of questions.
    """
    try:
        sheets = workbook_rows(path, []) if path.suffix.lower() == ".xlsx" else iter([("", csv_rows(path, []))])
        _, source = next(sheets)  # `sheets` is kept: the workbook is open as long as it is
        lines = [(n, [one_line(c) for c in row]) for n, row in enumerate(source, 1) if any(c.strip() for c in row)]
    except Unusable as e:
        raise DataError(f"{path}: {e}") from None
    header = [c.casefold() for c in lines[0][1]] if lines else []
    columns = {key: header.index(name) for key, names in _NAMES.items() for name in reversed(names) if name in header}
    if "question" not in columns:
        raise DataError(
            f"{path}: no column named 'question' in the first row"
            + (f"; there are {', '.join(filter(None, header))}" if any(header) else "")
        )
    for number, row in lines[1:]:
        cells = {k: row[c] if c < len(row) else "" for k, c in columns.items()}
        record: dict[str, object] = {k: cells[k] for k in ("id", "question", "type", "split") if cells.get(k)}
        record["answers"] = [a.strip() for a in cells.get("answers", "").split("|") if a.strip()]
        record["gold"] = [{"item": i.strip()} for i in cells.get("item", "").split("|") if i.strip()]
        yield f"row {number}", record


def to_lines(records: Sequence[QuestionRecord]) -> bytes:
    """Records as JSON Lines."""
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()
