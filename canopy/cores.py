"""Processes that compute beside this one: how many there may be, and how they end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def usable_cores() -> int:
    """Cores that may be used: OMP_NUM_THREADS of them if it is set, otherwise those of this process."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit):
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Bytes of memory that new processes may take; 0 if the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as f:
            kibi = next((int(line.split()[1]) for line in f if line.startswith("MemAvailable:")), 0)
        return kibi * 1024
    except (OSError, ValueError, IndexError):
        return 0


def follow_parent() -> None:
    """For a worker as it starts: it ends with its parent, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def end_pool(pool: ProcessPoolExecutor) -> None:
    """End a pool whose work is no longer wanted; processes that are at work are not waited for."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.kill()
    pool.shutdown(wait=False, cancel_futures=True)


def ordered(work: Callable[[T], R], values: Iterable[T], threads: int) -> Iterator[R]:
    """Results of ``work`` in the order of ``values``, in so many threads, at most twice as many values ahead.

    With one thread everything happens in this one. The first error is raised in its place, and no further value begins.
    """
    if threads <= 1:
        yield from map(work, values)
        return
    ahead: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for value in values:
            ahead.append(pool.submit(work, value))
            if len(ahead) >= 2 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
