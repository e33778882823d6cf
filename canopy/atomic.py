"""Atomic writes: build beside the target, then swap, so that a killed run never leaves half an output."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def _exchange(a: Path, b: Path) -> bool:
    """Swap two paths in one step (Linux renameat2); False if the system or file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if renameat2(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0:
        return True
    if ctypes.get_errno() in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(a))


def _retire(target: Path) -> Path:
    return target.parent / f".{target.name}.old"


def recover(target: Path) -> None:
    """Clear what a killed swap or build left beside ``target``; the last good output comes back if it had been moved.

    The folder of a build that is still going on in another process is left alone.
    """
    old = _retire(target)
    if old.exists() and not target.exists():
        os.rename(old, target)
    ours = re.compile(re.escape(f".{target.name}.") + r"(old|building-(\d+))")
    for leftover in target.parent.iterdir() if target.parent.is_dir() else ():
        match = ours.fullmatch(leftover.name)
        if match and not (match[2] and _alive(int(match[2]))):
            shutil.rmtree(leftover, ignore_errors=True)


def _alive(process: int) -> bool:
    """Whether a process of that number runs and is not this one (whose own leftovers are from an earlier try)."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


@contextmanager
def replace_directory(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``target``; on success it becomes ``target`` in one step, on error it is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    recover(target)
    building = target.parent / f".{target.name}.building-{os.getpid()}"
    building.mkdir()
    try:
        yield building
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    if not target.exists():
        os.rename(building, target)
    elif _exchange(building, target):
        shutil.rmtree(building)
    else:
        os.rename(target, _retire(target))
        os.rename(building, target)
        shutil.rmtree(_retire(target))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its target, flush it to disk, then swap it in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.building-{os.getpid()}")
    with open(beside, "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.replace(beside, path)


def write_lines(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write rows as JSON Lines at once; what is no UTF-8 is replaced by a question mark."""
    write_bytes(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode("utf-8", "replace"))


def write_json(path: Path, value: Any) -> None:
    """Write JSON with sorted keys (equal values, equal bytes)."""
    write_bytes(path, (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())
