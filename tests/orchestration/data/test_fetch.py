"""Downloads against a server on loopback that cuts, changes, refuses and recovers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.errors import DataError
from orchestration.data.fetch import SUMS, downloadable, fetch_file, read_sums

BODY = bytes(range(256)) * 9000


class Publisher(ThreadingHTTPServer):
    """Serves one body with ranges; misbehaves as its attributes say."""

    body, tag, cut_after, statuses = BODY, '"v1"', 0, []

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, str | None]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/release/dev.json"


class _Handler(BaseHTTPRequestHandler):
    server: Publisher

    def do_GET(self) -> None:
        s = self.server
        wanted = self.headers.get("Range")
        s.asked.append((wanted, self.headers.get("If-Range")))
        if s.statuses:
            self.send_response(s.statuses.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        continued = wanted and self.headers.get("If-Range") == s.tag
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if continued else 0
        self.send_response(206 if start else 200)
        self.send_header("ETag", s.tag)
        self.send_header("Content-Length", str(len(s.body) - start))
        self.end_headers()
        body = s.body[start:]
        if s.cut_after:
            body, s.cut_after = body[:s.cut_after], 0
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep quiet."""


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    server = Publisher()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def release_file(publisher: Publisher, sha256: str = "") -> ReleaseFile:
    return ReleaseFile("dev", ("dev.json",), "questions", publisher.address, sha256)


def fetch(file: ReleaseFile, folder: Path) -> tuple[Path, str]:
    return fetch_file(file, folder, wait=lambda seconds: None)


def test_a_file_comes_whole_is_noted_and_kept(publisher: Publisher, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path, how = fetch_file(release_file(publisher), tmp_path, lambda *x: seen.append(x))
    assert (how, path.read_bytes(), seen[-1]) == ("fetched", BODY, (len(BODY), len(BODY)))
    assert read_sums(tmp_path) == {"dev.json": hashlib.sha256(BODY).hexdigest()}
    assert fetch(release_file(publisher), tmp_path)[1] == "kept"
    assert len(publisher.asked) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [SUMS, "dev.json"]


def test_a_cut_connection_is_continued_where_it_broke(publisher: Publisher, tmp_path: Path) -> None:
    publisher.cut_after = 1_500_000
    path, _ = fetch(release_file(publisher), tmp_path)
    assert path.read_bytes() == BODY
    (first, _), (second, tag) = publisher.asked
    assert first is None and tag == '"v1"' and int(second.removeprefix("bytes=").rstrip("-")) > 0


def test_a_killed_download_goes_on_in_the_next_run(publisher: Publisher, tmp_path: Path) -> None:
    publisher.cut_after, publisher.statuses = 1_500_000, []
    (tmp_path / "x").mkdir()

    def die(done: int, total: int) -> None:
        if done > 1_000_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_file(release_file(publisher), tmp_path, die)
    assert not (tmp_path / "dev.json").exists()
    assert fetch(release_file(publisher), tmp_path)[0].read_bytes() == BODY
    assert publisher.asked[1][0] is not None


def test_a_new_version_is_not_glued_to_the_old(publisher: Publisher, tmp_path: Path) -> None:
    publisher.cut_after = 1_500_000
    publisher.statuses = []

    def change(done: int, total: int) -> None:
        publisher.body, publisher.tag = BODY[::-1], '"v2"'

    path, _ = fetch_file(release_file(publisher), tmp_path, change, wait=lambda s: None)
    assert path.read_bytes() == BODY[::-1]


def test_busy_servers_are_asked_again_and_gone_files_are_not(publisher: Publisher, tmp_path: Path) -> None:
    publisher.statuses = [503, 429]
    assert fetch(release_file(publisher), tmp_path)[0].read_bytes() == BODY
    publisher.statuses = [404]
    with pytest.raises(DataError, match="404"):
        fetch(ReleaseFile("test", ("test.json",), "", publisher.address), tmp_path)
    assert len(publisher.asked) == 4
    publisher.statuses = [500] * 9
    with pytest.raises(DataError, match="run the command again"):
        fetch(ReleaseFile("test", ("test.json",), "", publisher.address), tmp_path)


def test_a_wrong_checksum_is_thrown_away(publisher: Publisher, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="published"):
        fetch(release_file(publisher, "0" * 64), tmp_path)
    assert list(tmp_path.iterdir()) == []
    fetch(release_file(publisher, hashlib.sha256(BODY).hexdigest()), tmp_path)
    (tmp_path / "dev.json").write_bytes(b"edited")
    with pytest.raises(DataError, match="move it away"):
        fetch(release_file(publisher), tmp_path)


def test_only_what_has_an_address_can_be_asked_for() -> None:
    files = (ReleaseFile("dev", ("d.json",), ""), ReleaseFile("x", ("x-*.json",), "", "https://e.org/a/x-1.json"))
    release = Benchmark("T", "MIT", "https://example.org", files)
    assert [f.role for f in downloadable(release)] == ["x"]
    for role, word in (("dev", "no address"), ("nothing", "no file")):
        with pytest.raises(DataError, match=word):
            downloadable(release, (role,))
