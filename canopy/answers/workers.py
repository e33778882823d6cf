"""Answers without a language model on all cores: each process opens the workspace and answers whole questions."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from canopy.answers.rows import AnswerRecord
from canopy.answers.run import Run, prepare_run
from canopy.config import Config
from canopy.cores import end_pool, follow_parent
from canopy.errors import CanopyError
from canopy.paths import Paths

MIN_ANSWERS_FOR_PROCESSES = 1_500  # fewer are answered before a process has started
Answer = tuple[tuple[str, ...], AnswerRecord]  # an answer's key and its record
_run: Run | None = None  # of a worker process


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread.

    The last bits of a vector depend on the number of threads, and answers must not depend on the number of processes.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _start(config: str, root: str, benchmark: str) -> None:
    """Open the workspace in a worker, which ends with its parent and leaves Ctrl-C to it."""
    global _run
    import torch

    follow_parent()
    torch.set_num_threads(1)
    _run = prepare_run(Config.model_validate_json(config), Paths(Path(root)), benchmark)


def _answer(question_id: str, cells: Sequence[int]) -> list[Answer]:
    """The answers of some cells (by number) to one question."""
    assert _run is not None, "set when the worker started"
    question = next(q for q in _run.bench.questions if q.id == question_id)
    return [(_run.cells[n].key(question_id), _run.answer(_run.cells[n], question)) for n in cells]


def answer_in_processes(run: Run, paths: Paths, tasks: Sequence[tuple[int, str]], take: Callable[[Answer], None],
                        workers: int) -> None:
    """Answer in other processes, question by question; ``take`` is called in this process with each answer.

    Parameters
    ----------
    tasks : sequence of (int, str)
        Number of a cell, and a question's id.

    Raises
    ------
    CanopyError
        The first error of a worker, or if one was killed. Answers that ``take`` has got stay.
    """
    by_question: dict[str, list[int]] = {}
    for n, q in tasks:
        by_question.setdefault(q, []).append(n)
    started = (run.config.model_dump_json(), str(paths.root), run.benchmark)
    pool = ProcessPoolExecutor(min(workers, len(by_question)), multiprocessing.get_context("spawn"), _start, started)
    try:
        for future in as_completed([pool.submit(_answer, q, cells) for q, cells in by_question.items()]):
            for answer in future.result():
                take(answer)
        pool.shutdown()
    except BaseException as e:
        end_pool(pool)
        if isinstance(e, BrokenProcessPool):
            raise CanopyError(f"answers@{run.benchmark}: a process that answered was killed (out of memory?); "
                              "with OMP_NUM_THREADS=1 there is only one") from None
        raise
