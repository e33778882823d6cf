"""Locks of a workspace: one run at a time, one process at work on a stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from canopy.errors import CanopyError


@contextmanager
def locked(workspace: Path, name: str, wait: bool = False, by: str = "`canopy run`") -> Iterator[None]:
    """Hold one of a workspace's locks; the end of a process, however it ends, frees it.

    Parameters
    ----------
    wait : bool
        Wait for another holder to end.
    by : str
        The command that holds such a lock, for the message.

    Raises
    ------
    CanopyError
        If another process holds the lock and ``wait`` is False.
    """
    folder = workspace / ".canopy" / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:
        raise CanopyError(f"{workspace}: another {by} is at work here; wait for it or stop it") from None
    try:
        yield
    finally:
        lock.release()
