"""What was found in media files, kept by their content between runs, so that a killed or repeated run reads no file twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from canopy.errors import DataError

_WAIT_SECONDS = 60.0  # for a run of another benchmark that writes at the moment


class MediaCache:
    """A file of JSON values by (SHA-256 of a media file, what was asked of it and how); each is on disk once `get` returns.

    A file that is damaged is started anew: everything in it can be found again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open()
        except sqlite3.DatabaseError as e:
            if isinstance(e, sqlite3.OperationalError):
                raise DataError(f"{path}: cannot be opened: {e}") from None
            path.unlink()
            self._open()

    def _open(self) -> None:
        self._file = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        try:
            with self._file:
                self._file.execute("CREATE TABLE IF NOT EXISTS found (sha256 TEXT, asked TEXT, value TEXT, PRIMARY KEY (sha256, asked))")
        except sqlite3.DatabaseError:
            self._file.close()
            raise

    def __enter__(self) -> MediaCache:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, sha256: str, asked: str, find: Callable[[], Any]) -> Any:
        """The value that is held, else what ``find`` gives (plain JSON), which is then held; an error that it raises is not."""
        try:
            held = self._file.execute("SELECT value FROM found WHERE sha256 = ? AND asked = ?", (sha256, asked)).fetchone()
            if held is not None:
                return json.loads(held[0])
            value = json.loads(json.dumps(find()))
            with self._file:
                self._file.execute("INSERT OR REPLACE INTO found VALUES (?, ?, ?)", (sha256, asked, json.dumps(value)))
        except sqlite3.Error as e:
            raise DataError(f"{self.path}: {e}; delete the file, it is made anew") from None
        return value
