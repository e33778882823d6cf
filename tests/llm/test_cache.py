"""The cache of replies: damage costs calls and never a run; a lock or a full disk is an error and never a lost file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from canopy.errors import DataError
from canopy.llm.cache import ReplyCache, request_key


def filled(path: Path, count: int = 3) -> ReplyCache:
    cache = ReplyCache(path)
    for n in range(count):
        cache.put(f"k{n}", {"text": "x" * 3000, "number": n})
    return cache


def test_what_is_put_first_stays(tmp_path: Path) -> None:
    cache = filled(tmp_path / "deep" / "r.sqlite")
    cache.put("k1", {"text": "another"})
    cache.close()
    again = ReplyCache(tmp_path / "deep" / "r.sqlite")
    assert len(again) == 3 and again.get("k1") == {"text": "x" * 3000, "number": 1} and again.get("none") is None


def test_two_processes_share_it(tmp_path: Path) -> None:
    one, two = ReplyCache(tmp_path / "r.sqlite"), ReplyCache(tmp_path / "r.sqlite")
    one.put("a", {"text": "1"})
    two.put("b", {"text": "2"})
    assert (two.get("a"), one.get("b")) == ({"text": "1"}, {"text": "2"})


@pytest.mark.parametrize("junk", [b"not a database at all, but long enough to be read as one" * 50,
                                  b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_put_aside(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(junk)
    cache = ReplyCache(path)
    cache.put("a", {"text": "1"})
    assert cache.get("a") == {"text": "1"} and (tmp_path / "r.sqlite.damaged").read_bytes() == junk


def test_damage_that_shows_later_is_no_end_either(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    cache = filled(path, 60)
    cache.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xee" * (len(content) - 8192)
    path.write_bytes(content)
    cache = ReplyCache(path)
    for n in range(60):
        cache.get(f"k{n}")
    cache.put("new", {"text": "1"})
    assert cache.get("new") == {"text": "1"} and (tmp_path / "r.sqlite.damaged").exists()


def test_a_lock_is_waited_for_and_then_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.sqlite"
    filled(path).close()
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, timeout, **more: real(p, timeout=0.01, **more))
    cache = ReplyCache(path)
    other = real(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DataError, match=r"r\.sqlite: the cache of replies cannot be used: database is locked"):
        cache.put("new", {"text": "1"})
    other.execute("COMMIT")
    cache.put("new", {"text": "1"})
    assert len(cache) == 4 and not (tmp_path / "r.sqlite.damaged").exists()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be used"):
        ReplyCache(tmp_path / "file" / "r.sqlite")
    (tmp_path / "folder.sqlite").mkdir()
    with pytest.raises(DataError, match="cannot be used"):
        ReplyCache(tmp_path / "folder.sqlite")


def test_the_key_knows_everything_that_can_change_a_reply() -> None:
    base = {"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": 0.0}
    others = [base | {"model": "n"}, base | {"temperature": 0.1}, base
              | {"messages": [{"role": "user", "content": "y"}]}, base | {"stop": ["."]}]
    assert len({request_key(r) for r in [base, *others]}) == 5
    assert request_key(base) == request_key(dict(reversed(base.items())))
    assert request_key({"text": "\ud83d"})  # half a character is no crash
