"""What a file of native records holds that is not used: fields nobody reads, items that stand twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from canopy.ingest.records import GoldRecord, ItemRecord, QuestionRecord

ITEM_FIELDS = frozenset(ItemRecord.__annotations__) | {"source"}
QUESTION_FIELDS = frozenset(QuestionRecord.__annotations__)
GOLD_FIELDS = frozenset(GoldRecord.__annotations__)
_MAX_NAMES, _MAX_REMARKS = 20, 50


class RecordNotes:
    """Counts what is left aside in one file, so that a thousand records with a field too many give one note."""

    def __init__(self, path: Path, notes: list[str]) -> None:
        self._file, self._notes = path.name, notes
        self._unknown: dict[str, tuple[str, int]] = {}
        self._remarks = 0

    def add_item(self, record: object, place: str) -> None:
        """Look at an item's fields."""
        self._add(record, ITEM_FIELDS, "", place)

    def add_question(self, record: object, place: str) -> None:
        """Look at a question's fields, and at those of its gold."""
        self._add(record, QUESTION_FIELDS, "", place)
        gold = record.get("gold") if isinstance(record, Mapping) else None
        for entry in gold if isinstance(gold, (list, tuple)) else ():
            self._add(entry, GOLD_FIELDS, "gold: ", place)

    def _add(self, record: object, fields: frozenset[str], prefix: str, place: str) -> None:
        for name in record if isinstance(record, Mapping) else ():
            if name not in fields:
                key = f"{prefix}{str(name)[:60]!r}"
                first, count = self._unknown.get(key, (place, 0))
                self._unknown[key] = (first, count + 1)

    def add_remarks(self, name: str, place: str, remarks: Sequence[str]) -> None:
        """Note what was filled or left out of one record."""
        for remark in remarks:
            self._remarks += 1
            if self._remarks <= _MAX_REMARKS:
                self._notes.append(f"{self._file}, {place} ({name}): {remark}")

    def close(self) -> None:
        """Write the notes that count over the file."""
        if self._remarks > _MAX_REMARKS:
            self._notes.append(f"{self._file}: {self._remarks - _MAX_REMARKS} more notes on its records")
        for name, (first, count) in list(self._unknown.items())[:_MAX_NAMES]:
            records = f" and in {count - 1} more records" if count > 1 else ""
            self._notes.append(f"{self._file}, {first}: unknown field {name} is left aside{records}")
        if len(self._unknown) > _MAX_NAMES:
            self._notes.append(f"{self._file}: {len(self._unknown) - _MAX_NAMES} more unknown fields are left aside")
