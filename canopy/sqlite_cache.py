"""A cache of JSON values in one SQLite file, safe for many threads and several processes.

Damage costs values, never a run.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any, Self

from canopy.errors import DataError

WAIT_SECONDS = 60.0  # for another process that writes at the moment
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteCache:
    """JSON values by a key of one or more strings; each value is with the operating system when `put` returns.

    A damaged file is put aside as ``<name>.damaged``, and a new one is begun: every value can be computed again.

    Parameters
    ----------
    path : Path
        The file; its folder is made if it is not there.
    name : str
        What the cache holds, for error messages (``replies``).
    table, keys, value : str, tuple of str, str
        Names of the table and of its columns, all of them text.

    Raises
    ------
    DataError
        If the file cannot be opened or written (no right, a full disk, a lock that does not end). `get` and `put` raise
        it too.
    """

    def __init__(self, path: Path, name: str, table: str, keys: tuple[str, ...], value: str) -> None:
        self.path, self.name, self._lock = path, name, threading.Lock()
        columns = ", ".join(f"{key} TEXT" for key in keys)
        self._create = (
            f"CREATE TABLE IF NOT EXISTS {table} ({columns}, {value} TEXT NOT NULL, PRIMARY KEY ({', '.join(keys)}))"
        )
        self._select = f"SELECT {value} FROM {table} WHERE {' AND '.join(f'{key} = ?' for key in keys)}"
        self._insert = f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * (len(keys) + 1))})"
        self._count = f"SELECT count(*) FROM {table}"
        self._any = f"SELECT {value} FROM {table} LIMIT 1"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._connection = self._open()
            except sqlite3.DatabaseError as e:
                if not _is_damage(e):
                    raise
                self._connection = self._begin_anew()
        except (sqlite3.Error, OSError) as e:
            raise self._error(e) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str | tuple[str, ...]) -> Any:
        """The value as it was put, or None. A key of several strings is a tuple."""
        row = self._run(self._select, _strings(key))
        return json.loads(row[0]) if row else None

    def put(self, key: str | tuple[str, ...], value: Any) -> None:
        """Keep a value; the first one of a key stays."""
        self._run(self._insert, (*_strings(key), json.dumps(value)))

    def __len__(self) -> int:
        return int(self._run(self._count)[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

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

    def _begin_anew(self) -> sqlite3.Connection:
        self.path.replace(self.path.with_name(self.path.name + ".damaged"))
        for tail in ("-wal", "-shm"):
            self.path.with_name(self.path.name + tail).unlink(missing_ok=True)
        return self._open()

    def _error(self, error: Exception) -> DataError:
        return DataError(
            f"{self.path}: the cache of {self.name} cannot be used: {error}; is the disk full or the folder not "
            f"writable? Deleting the file loses nothing but the {self.name} it keeps"
        )

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            for attempt in range(50):
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                    break
                # Another process turns the same new file to WAL: no busy time-out covers that.
                except sqlite3.OperationalError as e:
                    if "locked" not in str(e) or attempt == 49:
                        raise
                    time.sleep(0.1)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(self._create)
            connection.execute(self._any).fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


def _strings(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


def _is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _DAMAGE
