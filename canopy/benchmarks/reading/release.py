"""Which files of a benchmark's official release a folder holds."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from canopy.benchmarks.declaration import Benchmark
from canopy.errors import DataError

MAX_DEPTH = 6


def _entries(raw: Path) -> Iterator[tuple[str, bool]]:
    """Everything below a folder as (relative POSIX path, is a folder), sorted, hidden names left out."""
    base = os.fspath(raw)
    seen: set[str] = set()
    for folder, folders, files in os.walk(base, followlinks=True):
        # Linked folders are followed, since releases often lie on another disk; each real one once, since a link may
        # lead back.
        real = os.path.realpath(folder)
        if real in seen:
            folders[:] = []
            continue
        seen.add(real)
        depth = 0 if folder == base else os.path.relpath(folder, base).count(os.sep) + 1
        folders[:] = sorted(f for f in folders if not f.startswith(".")) if depth < MAX_DEPTH else []
        above = "" if folder == base else os.path.relpath(folder, base).replace(os.sep, "/") + "/"
        yield from ((above + f, True) for f in folders)
        yield from ((above + f, False) for f in sorted(files) if not f.startswith("."))


def find_files(raw: Path, benchmark: Benchmark) -> Mapping[str, list[Path]]:
    """Which files of a release a folder holds, by role; a role that is absent maps to an empty list.

    Of a role's patterns the first that matches anything wins; its matches come sorted by depth, then path. A folder's
    content is not matched against other roles' file patterns unless those name it.

    Raises
    ------
    DataError
        If the folder does not exist.
    """
    if not raw.is_dir():
        raise DataError(f"{raw}: no such folder")
    entries = list(_entries(raw))
    by_role: dict[str, list[Path]] = {}
    for file in benchmark.files:
        by_role[file.role] = []
        for pattern in file.patterns:
            folder, name = pattern.endswith("/"), pattern.rstrip("/")
            hits = [p for p, is_folder in entries if is_folder == folder and (
                fnmatch.fnmatchcase(p, name) or fnmatch.fnmatchcase(p, f"*/{name}"))]
            if hits:
                by_role[file.role] = [raw / p for p in sorted(hits, key=lambda p: (p.count("/"), p))]
                break
    return by_role


def require_files(raw: Path, benchmark: Benchmark) -> Mapping[str, list[Path]]:
    """`find_files`, and DataError if a group of ``needs`` has no file.

    The message says what to put there and where it comes from.
    """
    files = find_files(raw, benchmark)
    by_role = {f.role: f for f in benchmark.files}
    for group in benchmark.needs:
        if not any(files[r] for r in group):
            names = ", ".join(by_role[r].patterns[0] for r in group)
            raise DataError(f"{raw}: none of {names} is there{other_files(raw)}; {benchmark.title} comes from "
                            f"{benchmark.home} (`canopy data check` shows what is expected)")
    return files


def other_files(raw: Path) -> str:
    """What a folder holds in a release's place, for a message: FlashRAG's records by their name, else the files."""
    files = [p for p, is_folder in _entries(raw) if not is_folder and p.endswith((".json", ".jsonl", ".parquet"))]
    for name in files[:20]:
        if '"golden_answers"' in _beginning(raw / name):
            return f"; {name} holds FlashRAG's records, questions and answers without what this benchmark's release has"
    return f"; there {'is' if len(files) == 1 else 'are'} {', '.join(files[:5])}" if files else ""


def _beginning(path: Path) -> str:
    try:
        with open(path, "rb") as f:
            return f.read(1 << 16).decode("utf-8", "replace")
    except OSError:
        return ""
