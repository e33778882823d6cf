"""Entries of one huge object.

Any cut of the file into chunks gives the same, and every way of being broken is named.
"""

import json

import pytest

from canopy.benchmarks.reading import json_entries
from canopy.benchmarks.reading.json_entries import iterate_object
from canopy.errors import DataError

VALUE = {"a": "text \" and \\ é 漢 \U0001f600", "b": [1, 2.5, {"c": None}], "": {}, "n": 12345, "a b": "", "z": True}


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize("form", [{}, {"indent": 2}, {"ensure_ascii": False}])
def test_chunks_make_no_difference(tmp_path, monkeypatch, chunk, form):
    monkeypatch.setattr(json_entries, "CHUNK_BYTES", chunk)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(VALUE, **form) + "\n", "utf-8")
    read = []
    assert dict(iterate_object(path, read.append)) == VALUE and sum(read) == path.stat().st_size


def test_a_mark_at_the_start_an_empty_object_and_repeated_keys(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf { } ")
    assert list(iterate_object(path)) == []
    path.write_bytes(b'{"a": 1, "a": 2}')
    assert list(iterate_object(path)) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize(("data", "words"), [
    (b'{"a": "b', "truncated"), (b'{"a": {"b": 1}', "truncated"), (b"", "truncated"),
    (b"[1]", "one JSON object is expected"), (b'{"a" 1}', "a colon is missing"),
    (b'{"a": 1 "b": 2}', "a comma or the closing brace"), (b'{"a": 1}{', "more after the closing brace"),
    (b'{1: 2}', "a key must be a string"), (b'{"a": "\xff"}', "not UTF-8"),
    (b'{"a": ' + b"[" * 200_000, "cannot be parsed"), (b'{"a": ' + b"1" * 5000 + b"}", "cannot be parsed"),
    (b'{"a": nope}', "Expecting value")])
def test_broken_files_are_named(tmp_path, data, words):
    path = tmp_path / "all_passages.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=words) as e:
        list(iterate_object(path))
    assert "all_passages.json" in str(e.value)


def test_an_entry_without_an_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(json_entries, "CHUNK_BYTES", 64)
    monkeypatch.setattr(json_entries, "MAX_ENTRY_CHARS", 1000)
    path = tmp_path / "x.json"
    path.write_text('{"ok": 1, "a": "' + "x" * 5000)
    entries = iterate_object(path)
    assert next(entries) == ("ok", 1)
    with pytest.raises(DataError, match="longer than"):
        next(entries)


def test_a_lone_surrogate_stays_what_it_is(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": "\\ud800 lost", "b": "\\ud83d\\ude00"}')
    assert dict(iterate_object(path)) == {"a": "\ud800 lost", "b": "\U0001f600"}


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        list(iterate_object(tmp_path / "none.json"))
