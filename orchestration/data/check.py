"""Which files of a benchmark's release a folder holds, what is missing, and what the adapter makes of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.release import find_files
from canopy.benchmarks.registry import adapter_for, adapter_names, load_benchmark_adapter
from canopy.digests import file_sha256
from canopy.errors import DataError
from canopy.ingest.sink import Sink
from canopy.progress import progress
from orchestration.data.fetch import read_sums, target_name

QUICK_BYTES = 256 << 20  # records of smaller releases are read without being asked to
CHANGED, NOT_PUBLISHED = "changed since it was fetched", "not the published file"
_REASONS = 5  # reasons that are listed for each fate


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One file of a release.

    Parameters
    ----------
    path : Path or None
        Where it is; None if it is missing.
    size : int
        Bytes; for a folder, the number of files in it.
    checksum : str
        What its checksum shows, in words.
    """

    file: ReleaseFile
    path: Path | None
    size: int = 0
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why records were not simply mapped: their fate (fallback, waiting, quarantined), the reason, and how many."""

    fate: str
    text: str
    count: int


@dataclass(slots=True)
class Check:
    """What `check_data` found out about the benchmark of this name.

    ``lacking`` holds groups of roles of which one is needed and none is there. ``counts`` (records by fate),
    ``read_from`` (records by file name), ``reasons`` and ``totals`` (items, questions, annotations) are empty if the
    records were not read. ``trouble`` says why they cannot be read.
    """

    name: str
    release: Benchmark
    files: list[FileCheck]
    lacking: list[tuple[str, ...]]
    counts: Mapping[str, int] = field(default_factory=dict)
    read_from: Mapping[str, int] = field(default_factory=dict)
    reasons: list[Reason] = field(default_factory=list)
    totals: Mapping[str, int] = field(default_factory=dict)
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


def release_of(name: str) -> tuple[str, Benchmark]:
    """The adapter and release of a benchmark by any of its names.

    Raises
    ------
    DataError
        If no adapter reads it, or it has no official release (the native format, the starter benchmark).
    """
    adapter = adapter_for(name)
    release = load_benchmark_adapter(adapter).BENCHMARK if adapter else None
    if release is None or not release.files:
        official = [n for n in adapter_names() if load_benchmark_adapter(n).BENCHMARK.files]
        raise DataError(f"no official release is known for {name!r}; there are {', '.join(official)}")
    return str(adapter), release


def check_data(name: str, folder: Path, read: bool | None = None) -> Check:
    """Look at a folder as the adapter will.

    Parameters
    ----------
    read : bool or None
        Whether to read the records and count their fates, writing nothing. None reads them if the files are small
        (256 MiB together).

    Raises
    ------
    DataError
        If the folder does not exist.
    """
    adapter, release = release_of(name)
    by_role = find_files(folder, release)
    sums = read_sums(folder)
    files: list[FileCheck] = []
    for file in release.files:
        paths = by_role[file.role]
        files += [FileCheck(file, p, _size(p), _checksum(file, p, sums)) for p in paths] or [FileCheck(file, None)]
    lacking = [group for group in release.needs if not any(by_role[r] for r in group)]
    check = Check(name, release, files, lacking)
    total_bytes = sum(f.size for f in files if f.path and f.path.is_file())
    if check.usable and (read or (read is None and total_bytes <= QUICK_BYTES)):
        _read_records(check, name, adapter, folder)
    return check


def _read_records(check: Check, name: str, adapter: str, folder: Path) -> None:
    """Let the adapter read the records into a folder that is thrown away, and note their fates."""
    with tempfile.TemporaryDirectory() as scratch:
        sink = Sink(name, Path(scratch))
        try:
            with progress("reading", unit="records") as sink.advance:
                load_benchmark_adapter(adapter).read(folder, sink)
        except DataError as e:
            check.trouble = str(e)
            return
    check.counts = {k: sink.counts[k] for k in ("read", "mapped", "fallback", "waiting", "quarantined")}
    check.read_from = dict(sink.read_from)
    waiting, quarantined = (Counter(r["reason"] for r in rows) for rows in (sink.waiting, sink.quarantine))
    by_fate = (("fallback", sink.fallbacks), ("waiting", waiting), ("quarantined", quarantined))
    check.reasons = [Reason(fate, text, n) for fate, reasons in by_fate for text, n in reasons.most_common(_REASONS)]
    check.totals = {"items": len(sink.items), "questions": len(sink.questions), "annotations": len(sink.annotations)}
    check.notes = list(sink.notes)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else sum(1 for p in path.rglob("*") if p.is_file())


def _checksum(file: ReleaseFile, path: Path, sums: Mapping[str, str]) -> str:
    known = file.sha256 or (sums.get(target_name(file), "") if file.url else "")
    if not known or not path.is_file():
        return "none is published"
    if file_sha256(path) == known:
        return "as published" if file.sha256 else "as fetched"
    return NOT_PUBLISHED if file.sha256 else CHANGED
