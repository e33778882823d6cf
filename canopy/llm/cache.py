"""A content-addressed cache of replies: what was asked once is not asked again, by this run or by one after a kill."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def request_key(request: Mapping[str, Any]) -> str:
    """SHA-256 over everything that can change a reply: model, messages, sampling, schema. The server's address is not part of it."""
    return hashlib.sha256(json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")).hexdigest()


class ReplyCache:
    """Replies by request key in one SQLite file, safe for many threads and several processes.

    A reply is on disk when ``put`` returns, so that a killed run repeats no call that was answered.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._lock = path, threading.Lock()
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._prepare()
        except sqlite3.DatabaseError:
            # A damaged cache costs calls, never a run.
            self._path.replace(self._path.with_suffix(".damaged"))
            for tail in ("-wal", "-shm"):
                self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
            return self._prepare()

    def _prepare(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=60.0, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        connection.execute("SELECT reply FROM replies LIMIT 1").fetchone()
        return connection

    def get(self, key: str) -> dict[str, Any] | None:
        """A reply as it was put, or None."""
        with self._lock:
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Keep a reply; the first one stays."""
        with self._lock:
            self._connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, json.dumps(reply, ensure_ascii=False)))

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
