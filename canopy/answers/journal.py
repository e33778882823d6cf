"""Finished work as lines of a file, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Key = tuple[str, ...]


class Journal:
    """Records by key, one JSON line each, appended as they are made; safe for many threads of one process.

    A line that a kill cut short, or that cannot be read, is ignored: its work is done again. Memory holds keys and
    places alone.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._lock = path, threading.Lock()
        self._place: dict[Key, tuple[int, int]] = {}
        self._file = open(path, "a+b")  # noqa: SIM115
        self._file.seek(0)
        at = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            if (key := _key(line)) is not None:
                self._place[key] = (at, len(line))
            at += len(line)
        self._file.truncate(at)

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def __len__(self) -> int:
        return len(self._place)

    def add(self, key: Sequence[str], record: Any) -> None:
        """Append a record; it survives the end of this process when the call returns."""
        line = json.dumps([list(key), record], separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            at = self._file.seek(0, 2)
            self._file.write(line)
            self._file.flush()
            self._place[tuple(key)] = (at, len(line))

    def get(self, key: Sequence[str]) -> Any:
        """The record of a key; KeyError if there is none."""
        at, length = self._place[tuple(key)]
        with self._lock:
            self._file.seek(at)
            line = self._file.read(length)
        return json.loads(line)[1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _key(line: bytes) -> Key | None:
    try:
        key, _ = json.loads(line)
        return tuple(key) if isinstance(key, list) and all(isinstance(k, str) for k in key) else None
    except (ValueError, TypeError):
        return None
