"""What a folder holds of a benchmark's release, what is missing, and what an adapter makes of it."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from canopy.benchmarks.reading.release import Release, ReleaseFile, find_files
from canopy.benchmarks.registry import adapter_for, adapter_names, load_adapter
from canopy.digests import file_sha256
from canopy.errors import DataError
from canopy.ingest.sink import Sink
from orchestration.data.fetch import read_sums, target_name

QUICK_BYTES = 256 << 20
CHANGED, NOT_PUBLISHED = "changed since it was fetched", "not the published file"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file of a release: where it is (None: missing), its size in bytes (files in it, for a folder) and what its checksum says."""

    file: ReleaseFile
    path: Path | None
    size: int = 0
    checksum: str = ""


@dataclass(slots=True)
class Check:
    """What `check_data` found. ``counts`` and ``read_from`` are empty where the records were not read; ``trouble`` says why they cannot be."""

    release: Release
    files: list[FoundFile]
    lacking: list[tuple[str, ...]]
    counts: dict[str, int] = field(default_factory=dict)
    read_from: dict[str, int] = field(default_factory=dict)
    reasons: list[tuple[str, str, int]] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    trouble: str = ""

    @property
    def usable(self) -> bool:
        """Whether the adapter has all it cannot do without."""
        return not self.lacking

    @property
    def sound(self) -> bool:
        """Whether it is usable, nothing that was read is broken, and no file has changed since it was fetched."""
        return self.usable and not self.trouble and not any(f.checksum == CHANGED for f in self.files)


def release_of(name: str) -> tuple[str, Release]:
    """The adapter and release of a benchmark by any of its names.

    Raises
    ------
    DataError
        Where no adapter reads it, or it has no official release (the native format, the starter benchmark).
    """
    adapter = adapter_for(name)
    release = getattr(load_adapter(adapter), "RELEASE", None) if adapter else None
    if release is None:
        official = [n for n in adapter_names() if hasattr(load_adapter(n), "RELEASE")]
        raise DataError(f"no official release is known for {name!r}; there are {', '.join(official)}")
    return str(adapter), release


def check_data(name: str, folder: Path, read: bool | None = None) -> Check:
    """Look at a folder as the adapter will.

    Parameters
    ----------
    read : bool or None
        Whether to read the records and count their fates, writing nothing; None reads where the files are small (256 MiB).

    Raises
    ------
    DataError
        Where the folder does not exist.
    """
    adapter, release = release_of(name)
    by_role = find_files(folder, release)
    sums = read_sums(folder)
    files = []
    for file in release.files:
        paths = by_role[file.role]
        if not paths:
            files.append(FoundFile(file, None))
        files += [FoundFile(file, p, _size(p), _checksum(file, p, sums)) for p in paths]
    lacking = [group for group in release.needs if not any(by_role[r] for r in group)]
    check = Check(release, files, lacking)
    if check.usable and (read or (read is None and sum(f.size for f in files if f.path and f.path.is_file()) <= QUICK_BYTES)):
        with tempfile.TemporaryDirectory() as scratch:
            sink = Sink(name, Path(scratch))
            try:
                load_adapter(adapter).read(folder, sink)
            except DataError as e:
                check.trouble = str(e)
                return check
        check.counts = {k: sink.counts[k] for k in ("read", "mapped", "fallback", "waiting", "quarantined")}
        check.read_from = dict(sink.read_from)
        waiting, bad = (Counter(r["reason"] for r in rows) for rows in (sink.waiting, sink.quarantine))
        check.reasons = [(kind, reason, n) for kind, counted in (("fallback", sink.fallbacks), ("waiting", waiting), ("quarantined", bad))
                         for reason, n in counted.most_common(5)]
        check.found = {"items": len(sink.items), "questions": len(sink.questions), "annotations": len(sink.annotations)}
        check.notes = list(sink.notes)
    return check


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else sum(1 for p in path.rglob("*") if p.is_file())


def _checksum(file: ReleaseFile, path: Path, sums: dict[str, str]) -> str:
    known = file.sha256 or (sums.get(target_name(file), "") if file.url else "")
    if not known or not path.is_file():
        return "none known"
    if file_sha256(path) == known:
        return "as published" if file.sha256 else "as fetched"
    return NOT_PUBLISHED if file.sha256 else CHANGED
