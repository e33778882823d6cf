"""Doing many tasks in one thread or in several: the first error ends the work, unless it is one that may pass."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
MAX_ATTEMPTS = 3  # of a task whose error may pass
MAX_CONSECUTIVE_ERRORS = 8  # errors that may pass, without a task done between them, before the work ends


def do_all(tasks: Sequence[T], do: Callable[[T], None], workers: int) -> None:
    """Do every task, in this thread or in many.

    The first error ends the work: no further task begins, running tasks end, then the error is raised. An interrupt
    does not wait for running tasks.
    """
    if workers <= 1 or len(tasks) <= 1:
        for task in tasks:
            do(task)
        return
    _Pool(tasks, do, min(workers, len(tasks))).run()


def do_until_done(tasks: Sequence[T], do: Callable[[T], None], workers: int,
                  passes: Callable[[BaseException], bool]) -> None:
    """As `do_all`, but a task whose error may pass is done again after the others, `MAX_ATTEMPTS` times in all.

    `MAX_CONSECUTIVE_ERRORS` such errors without a task done between them end the work, as any other error does.

    Parameters
    ----------
    passes : callable
        Whether an error may pass.
    """
    left = list(tasks)
    for attempt in range(MAX_ATTEMPTS):
        failed = _try_all(left, do, workers, passes)
        if failed and (attempt == MAX_ATTEMPTS - 1 or len(failed) == len(left)):
            raise failed[0][1]
        left = [task for task, _ in failed]


def _try_all(tasks: Sequence[T], do: Callable[[T], None], workers: int,
             passes: Callable[[BaseException], bool]) -> list[tuple[T, BaseException]]:
    """One attempt at every task; returns the tasks that are left, each with its error."""
    failed: list[tuple[T, BaseException]] = []
    lock, consecutive = threading.Lock(), 0

    def attempt(task: T) -> None:
        nonlocal consecutive
        try:
            do(task)
        except BaseException as e:
            if not passes(e):
                raise
            with lock:
                failed.append((task, e))
                consecutive += 1
                if consecutive >= MAX_CONSECUTIVE_ERRORS:
                    raise
        else:
            with lock:
                consecutive = 0

    do_all(tasks, attempt, workers)
    return failed


class _Pool(Generic[T]):
    """Threads that an interrupt leaves behind: with the standard pool's threads it would wait for a server's reply."""

    def __init__(self, tasks: Sequence[T], do: Callable[[T], None], workers: int) -> None:
        self._left: queue.SimpleQueue[T] = queue.SimpleQueue()
        for task in tasks:
            self._left.put(task)
        self._do, self._errors, self._stop = do, list[BaseException](), threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"answers-{n}") for n in range(workers)]

    def run(self) -> None:
        """Do all tasks, and raise the first error of any; after an error or an interrupt no task is begun."""
        for thread in self._threads:
            thread.start()
        try:
            for thread in self._threads:
                while thread.is_alive():
                    thread.join(0.2)  # wakes up to hear an interrupt
        except BaseException:
            self._stop.set()
            raise
        if self._errors:
            raise self._errors[0]

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                task = self._left.get_nowait()
            except queue.Empty:
                return
            try:
                self._do(task)
            except BaseException as e:  # it is raised in the thread that waits
                self._errors.append(e)
                self._stop.set()
