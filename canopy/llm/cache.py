"""A content-addressed cache of replies: what was asked once is not asked again, by this run or by one after a kill."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from canopy.digests import text_sha256
from canopy.errors import DataError

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def request_key(request: Mapping[str, Any]) -> str:
    """SHA-256 over everything that can change a reply: model, messages, sampling, schema. The server's address and key are no part of it."""
    return text_sha256(json.dumps(request, sort_keys=True, separators=(",", ":")))


class ReplyCache:
    """Replies by request key in one SQLite file, safe for many threads and several processes.

    A reply is with the operating system when ``put`` returns, so that a killed run repeats no call that was answered. A damaged file costs calls,
    never a run: it is put aside as ``<name>.damaged`` and a new one begun.

    Raises
    ------
    DataError
        Where the file cannot be opened or written (no right, a full disk, a lock that does not end).
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._connection = _open(path)
            except sqlite3.DatabaseError as e:
                if not _is_damage(e):
                    raise
                self._connection = self._begin_anew()
        except (sqlite3.Error, OSError) as e:
            raise self._error(e) from None

    def _begin_anew(self) -> sqlite3.Connection:
        self._path.replace(self._path.with_name(self._path.name + ".damaged"))
        for tail in ("-wal", "-shm"):
            self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
        return _open(self._path)

    def _error(self, error: Exception) -> DataError:
        return DataError(f"{self._path}: the cache of replies cannot be used: {error}; is the disk full or the folder not writable? "
                         "Deleting the file loses nothing but the replies it keeps")

    def _run(self, statement: str, values: tuple[str, ...] = ()) -> Any:
        """First row of a statement's result, or None."""
        with self._lock:
            try:
                try:
                    return self._connection.execute(statement, values).fetchone()
                except sqlite3.DatabaseError as e:
                    if not _is_damage(e):
                        raise
                    self._connection.close()
                    self._connection = self._begin_anew()
                    return self._connection.execute(statement, values).fetchone()
            except (sqlite3.Error, OSError) as e:
                raise self._error(e) from None

    def get(self, key: str) -> dict[str, Any] | None:
        """A reply as it was put, or None."""
        row = self._run("SELECT reply FROM replies WHERE key = ?", (key,))
        return json.loads(row[0]) if row else None

    def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Keep a reply; the first one stays."""
        self._run("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, json.dumps(reply)))

    def __len__(self) -> int:
        return int(self._run("SELECT count(*) FROM replies")[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


def _is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _DAMAGE


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60.0, check_same_thread=False, isolation_level=None)
    try:
        for attempt in range(50):
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as e:  # another process is turning the same new file to WAL: no busy time-out covers that
                if "locked" not in str(e) or attempt == 49:
                    raise
                time.sleep(0.1)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        connection.execute("SELECT reply FROM replies LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
