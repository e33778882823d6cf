"""Pictures read on all cores: each process has an engine of one thread, so that the words do not depend on how many
there are."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from canopy.cores import end_pool, follow_parent, free_memory, usable_cores
from canopy.errors import CanopyError
from canopy.media.ocr import Line, read_array

if TYPE_CHECKING:
    from PIL.Image import Image

FEW = 8  # so many pictures are read before processes have started
# A process at its peak, with a picture of 2,000 by 2,000 pixels: 1.03 GB resident.
PROCESS_BYTES = 1_250_000_000


def process_count() -> int:
    """Processes to read with: the usable cores, as far as memory goes."""
    free = free_memory()
    return max(1, min(usable_cores(), free // PROCESS_BYTES if free else 1))


def _start() -> None:
    """A worker's set-up."""
    follow_parent()
    os.environ["OPENCV_FOR_THREADS_NUM"] = "1"  # read when the engine imports it


class OcrPool:
    """Reads pictures in other processes; with one process, or few pictures, in this one.

    Parameters
    ----------
    processes : int
        How many at most.
    tally : callable, optional
        Called with the number of pictures read so far.
    """

    def __init__(self, processes: int, tally: Callable[[int], None] = lambda n: None) -> None:
        self.processes, self._tally = processes, tally
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None
        self._submitted = self._count = 0
        # Pictures wait in memory for a process: two for each.
        self._room = threading.BoundedSemaphore(2 * processes)

    def __enter__(self) -> OcrPool:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._pool is not None and kind is None:
            self._pool.shutdown()
        elif self._pool is not None:
            end_pool(self._pool)

    def submit(self, image: Image) -> Future[list[Line]]:
        """The lines of an RGB picture, once they are read; waits while too many pictures wait.

        Raises
        ------
        CanopyError
            If a process was killed; the future of a picture that was at work raises it too.
        """
        import numpy as np

        array = np.ascontiguousarray(np.asarray(image))
        with self._lock:
            self._submitted += 1
            here = self.processes == 1 or self._submitted <= FEW
            if not here and self._pool is None:
                self._pool = ProcessPoolExecutor(self.processes, multiprocessing.get_context("spawn"), _start)
        lines: Future[list[Line]] = Future()
        if here or self._pool is None:
            lines.set_result(read_array(array, 1))
            self._counted()
            return lines
        self._room.acquire()
        try:
            self._pool.submit(read_array, array, 1).add_done_callback(lambda work: self._finish(work, lines))
        except BaseException as e:
            self._room.release()
            if isinstance(e, BrokenProcessPool):
                raise _killed() from None
            raise
        return lines

    def read(self, image: Image) -> list[Line]:
        """The lines of an RGB picture."""
        return self.submit(image).result()

    def _finish(self, work: Future[list[Line]], lines: Future[list[Line]]) -> None:
        self._room.release()
        error = CancelledError() if work.cancelled() else work.exception()
        if error is None:
            self._counted()
            lines.set_result(work.result())
        else:
            lines.set_exception(_killed() if isinstance(error, BrokenProcessPool) else error)

    def _counted(self) -> None:
        with self._lock:
            self._count += 1
        self._tally(self._count)


def _killed() -> CanopyError:
    return CanopyError("a process that reads pictures was killed (out of memory?); what was read is kept, and the same "
                       "command goes on from there; with OMP_NUM_THREADS=1 one process reads")
