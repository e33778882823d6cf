"""Answers every question of a run that the journal does not hold yet: in this process, in several, or over a server."""

from __future__ import annotations

from canopy.answers.journal import Journal
from canopy.answers.run import Run
from canopy.answers.tasks import do_all, do_until_done
from canopy.answers.workers import MIN_ANSWERS_FOR_PROCESSES, Answer, answer_in_processes
from canopy.cores import usable_cores
from canopy.errors import CanopyError
from canopy.items import Question
from canopy.llm.wire import Failed
from canopy.paths import Paths
from canopy.progress import progress

Task = tuple[int, Question]  # number of a cell, and a question


def answer_all(run: Run, paths: Paths, journal: Journal) -> None:
    """Answer what is missing in the journal.

    Systems over a server use as many threads as the server takes. The others answer in this thread, or on all cores if
    there is enough to do.

    Raises
    ------
    CanopyError
        If an answer cannot be had. Finished answers stay in the journal.
    """
    tasks = [(n, q) for n, cell in enumerate(run.cells) for q in run.questions(cell)]
    missing = [(n, q) for n, q in tasks if run.cells[n].key(q.id) not in journal]
    with progress("answering", len(tasks), "answers", len(tasks) - len(missing)) as advance:

        def add(answer: Answer) -> None:
            journal.add(*answer)
            advance(1)

        def do(task: Task) -> None:
            cell, question = run.cells[task[0]], task[1]
            add((cell.key(question.id), run.answer(cell, question)))

        over_server = {n for n, cell in enumerate(run.cells) if run.readers[cell.reader].kind == "llm"}
        local = [t for t in missing if t[0] not in over_server]
        served = [t for t in missing if t[0] in over_server]
        cores = usable_cores()
        try:
            if run.config.encoder.light and cores > 1 and len(local) >= MIN_ANSWERS_FOR_PROCESSES:
                # A baseline's own model is loaded once, here: one in every process would fill the memory.
                light = [(n, q.id) for n, q in local if not run.cells[n].spec.needs.models]
                if light:
                    answer_in_processes(run, paths, light, add, cores)
                local = [(n, q) for n, q in local if run.cells[n].spec.needs.models]
            do_all(local, do, 1)  # without a server to wait for, threads would only wait for each other
            if served:
                languages = (run.config.language, *run.config.answers.readers)
                do_until_done(served, do, max(language.concurrency for language in languages), _may_pass)
        except CanopyError as e:
            message = f"{e}; {len(journal)} finished answers are kept, and the next run goes on from there"
            raise type(e)(message) from e


def _may_pass(error: BaseException) -> bool:
    """Whether a server failed, which it may not do again."""
    return isinstance(error.__cause__, Failed)
