"""Downloads of official release files: only when asked, resumable, checksummed, swapped in whole."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests

from canopy.atomic import write_bytes
from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.digests import file_sha256
from canopy.errors import DataError

SUMS = "SHA256SUMS"
TRIES = 4
_CHUNK = 1 << 20


def target_name(file: ReleaseFile) -> str:
    """Where below the benchmark's folder a file is put: its published name, or the name in its address.

    The published name counts if it is exact, neither a pattern nor a folder.
    """
    name = file.patterns[0]
    if any(c in name for c in "*?[") or name.endswith("/"):
        return unquote(urlsplit(file.url).path).rsplit("/", 1)[-1]
    return name


def downloadable(release: Benchmark, only: tuple[str, ...] = ()) -> list[ReleaseFile]:
    """The files of a release that can be fetched, all or those with the given roles.

    Raises
    ------
    DataError
        If a role is unknown, or has no official address.
    """
    roles = {f.role: f for f in release.files}
    for role in only:
        if role not in roles:
            raise DataError(f"{release.title} has no file {role!r}; there are {', '.join(roles)}")
        if not roles[role].url:
            raise DataError(f"{release.title}: {role} has no address that can be fetched; see {release.home}")
    return [f for f in release.files if f.url and (not only or f.role in only)]


def read_sums(folder: Path) -> dict[str, str]:
    """Checksums noted at earlier downloads, by file name."""
    try:
        lines = (folder / SUMS).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {name.strip().lstrip("*"): digest for digest, _, name in pairs if name.strip()}


def fetch_file(file: ReleaseFile, folder: Path, advance: Callable[[int, int], None] = lambda count, total: None,
               wait: Callable[[float], None] = time.sleep) -> tuple[Path, str]:
    """Bring one file into a folder.

    What a broken connection left lies beside it as ``NAME.part`` and is continued, if the server still has the same
    version. The checksum is the published one if there is one, otherwise the one noted in ``SHA256SUMS`` at the first
    download.

    Parameters
    ----------
    advance : callable
        Called with (bytes so far, bytes in all; 0 if the server does not say).
    wait : callable
        Called with the seconds to wait before another try.

    Returns
    -------
    path : Path
    how : {"kept", "fetched"}

    Raises
    ------
    DataError
        If the server refuses, the connection fails four times, or the checksum is another.
    """
    path = folder / target_name(file)
    if path.is_file():
        _check_present(file, path, folder)
        return path, "kept"
    path.parent.mkdir(parents=True, exist_ok=True)
    part, mark = path.with_name(path.name + ".part"), path.with_name(path.name + ".part.json")
    _download(file.url, part, mark, advance, wait)
    digest = file_sha256(part)
    if file.sha256 and digest != file.sha256:
        part.unlink()
        mark.unlink(missing_ok=True)
        raise DataError(f"{file.url}: the download has sha256 {digest[:12]}..., published is {file.sha256[:12]}...; it "
                        "was thrown away")
    os.replace(part, path)
    mark.unlink(missing_ok=True)
    sums = {**read_sums(folder), target_name(file): digest}
    write_bytes(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode())
    return path, "fetched"


def _check_present(file: ReleaseFile, path: Path, folder: Path) -> None:
    """Check a file that is there already against its known checksum, if there is one."""
    known = file.sha256 or read_sums(folder).get(target_name(file), "")
    if known and file_sha256(path) != known:
        source = "published" if file.sha256 else f"noted in {SUMS}"
        raise DataError(f"{path}: its sha256 is not {known[:12]}... as {source}; move it away and fetch again")


def _download(url: str, part: Path, mark: Path, advance: Callable[[int, int], None],
              wait: Callable[[float], None]) -> None:
    """Fetch until ``part`` is whole, in at most four tries."""
    trouble = ""
    for attempt in range(TRIES):
        if attempt:
            wait(2.0 ** attempt)
        try:
            if _continue(url, part, mark, advance):
                return
            trouble = "the server ended the connection early"
        except requests.RequestException as e:
            trouble = str(e)
    raise DataError(f"{url}: could not be fetched: {trouble}; the part that arrived is kept in {part.name}, run the "
                    "command again to go on")


def _continue(url: str, part: Path, mark: Path, advance: Callable[[int, int], None]) -> bool:
    """One request, from where the last one broke off; whether the file is now whole."""
    size, version = _partial(part, mark)
    headers = {"Accept-Encoding": "identity"}
    if size:
        headers |= {"Range": f"bytes={size}-", "If-Range": version}
    with requests.get(url, headers=headers, stream=True, timeout=(10, 60)) as response:
        if response.status_code == 416:  # the part does not fit the file: begin anew
            part.unlink(missing_ok=True)
            return False
        _check_status(url, response)
        if response.status_code == 200:
            size = 0
        length = response.headers.get("Content-Length", "")
        total = size + int(length) if length.isdigit() else 0
        write_bytes(mark, json.dumps({"url": url, "version": _version(response)}).encode())
        with open(part, "r+b" if size else "wb") as f:
            f.seek(size)
            f.truncate()
            for chunk in response.iter_content(_CHUNK):
                f.write(chunk)
                size += len(chunk)
                advance(size, total)
            f.flush()
            os.fsync(f.fileno())
    return not total or size == total


def _check_status(url: str, response: requests.Response) -> None:
    """Refuse anything but content: for another try if the server is busy, otherwise for good."""
    code = response.status_code
    if code in (408, 429) or code >= 500:
        raise requests.ConnectionError(f"the server answered {code}")
    if code not in (200, 206):
        raise DataError(f"{url}: the server answered {code} {response.reason}; the file may have moved: see the "
                        "benchmark's home page")


def _version(response: requests.Response) -> str:
    """What names the file's version; empty for a weak tag, which does not promise the same bytes."""
    tag = response.headers.get("ETag", "")
    return "" if tag.startswith("W/") else tag or response.headers.get("Last-Modified", "")


def _partial(part: Path, mark: Path) -> tuple[int, str]:
    """How many bytes of a file there are, and of which version; (0, "") if the version is not known."""
    try:
        version = str(json.loads(mark.read_bytes())["version"])
        return (part.stat().st_size, version) if version else (0, "")
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
