"""Downloads of official release files: only when asked, resumable, checksummed, swapped in whole."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from canopy.atomic import write_bytes
from canopy.benchmarks.reading.release import Release, ReleaseFile
from canopy.digests import file_sha256
from canopy.errors import DataError

SUMS = "SHA256SUMS"
TRIES = 4
_CHUNK = 1 << 20


def target_name(file: ReleaseFile) -> str:
    """Where below the benchmark's folder a file is put: its published name where that is exact, else the name in its address."""
    exact = file.patterns[0]
    return exact if not any(c in exact for c in "*?[") and not exact.endswith("/") else unquote(urlsplit(file.url).path).rsplit("/", 1)[-1]


def downloadable(release: Release, only: tuple[str, ...] = ()) -> list[ReleaseFile]:
    """The files of a release that can be fetched, all or those with the given roles.

    Raises
    ------
    DataError
        Where a role is unknown, or has no official address.
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
    return {name.strip().lstrip("*"): digest for digest, _, name in (line.partition(" ") for line in lines) if name.strip()}


def fetch_file(file: ReleaseFile, folder: Path, advance: Callable[[int, int], None] = lambda done, total: None,
               wait: Callable[[float], None] = time.sleep) -> tuple[Path, str]:
    """Bring one file into a folder.

    What a broken connection left stands beside it as ``NAME.part`` and is continued, if the server still has the same version. The
    checksum is the published one where there is one, else the one noted in ``SHA256SUMS`` at the first download.

    Parameters
    ----------
    advance : callable
        Called with (bytes so far, bytes in all; 0 where the server does not say).

    Returns
    -------
    path : Path
    how : {"kept", "fetched"}

    Raises
    ------
    DataError
        Where the server refuses, the connection fails four times, or the checksum is another.
    """
    import requests

    path = folder / target_name(file)
    known = file.sha256 or read_sums(folder).get(target_name(file), "")
    if path.is_file():
        if not known or file_sha256(path) == known:
            return path, "kept"
        raise DataError(f"{path}: its sha256 is not {known[:12]}... as {'published' if file.sha256 else 'noted in ' + SUMS}; move it away and fetch again")
    path.parent.mkdir(parents=True, exist_ok=True)
    part, mark = path.with_name(path.name + ".part"), path.with_name(path.name + ".part.json")
    trouble = ""
    for attempt in range(TRIES):
        if attempt:
            wait(2.0 ** attempt)
        try:
            if _continue(requests, file.url, part, mark, advance):
                break
            trouble = "the server ended the connection early"
        except requests.RequestException as e:
            trouble = str(e)
    else:
        raise DataError(f"{file.url}: could not be fetched: {trouble}; what came is kept in {part.name}, run the command again to go on")
    found = file_sha256(part)
    if file.sha256 and found != file.sha256:
        part.unlink()
        mark.unlink(missing_ok=True)
        raise DataError(f"{file.url}: what came has sha256 {found[:12]}..., published is {file.sha256[:12]}...; it was thrown away")
    os.replace(part, path)
    mark.unlink(missing_ok=True)
    sums = {**read_sums(folder), target_name(file): found}
    write_bytes(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode())
    return path, "fetched"


def _continue(requests: object, url: str, part: Path, mark: Path, advance: Callable[[int, int], None]) -> bool:
    """One request, from where the last one broke off; whether the file is now whole."""
    have, version = _held(part, mark)
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-", "If-Range": version} if have else {})}
    with requests.get(url, headers=headers, stream=True, timeout=(10, 60)) as answer:  # type: ignore[attr-defined]
        if answer.status_code == 416:
            part.unlink(missing_ok=True)
            return False
        if answer.status_code in (408, 429) or answer.status_code >= 500:
            raise requests.ConnectionError(f"the server answered {answer.status_code}")  # type: ignore[attr-defined]
        if answer.status_code not in (200, 206):
            raise DataError(f"{url}: the server answered {answer.status_code} {answer.reason}; the file may have moved: see the benchmark's home page")
        if answer.status_code == 200:
            have = 0
        told = answer.headers.get("Content-Length", "")
        total = have + int(told) if told.isdigit() else 0
        tag = answer.headers.get("ETag", "")
        # A weak tag does not promise the same bytes, so that nothing is continued under it.
        write_bytes(mark, json.dumps({"url": url, "version": "" if tag.startswith("W/") else tag or answer.headers.get("Last-Modified", "")}).encode())
        with open(part, "r+b" if have else "wb") as f:
            f.seek(have)
            f.truncate()
            for chunk in answer.iter_content(_CHUNK):
                f.write(chunk)
                have += len(chunk)
                advance(have, total)
            f.flush()
            os.fsync(f.fileno())
    return not total or have == total


def _held(part: Path, mark: Path) -> tuple[int, str]:
    """How much of a file there is, and of which version; nothing where the version is not known."""
    try:
        version = str(json.loads(mark.read_bytes())["version"])
        return (part.stat().st_size, version) if version else (0, "")
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
