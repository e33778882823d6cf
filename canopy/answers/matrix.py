"""The matrix of answers: readers x systems x corpus scopes x variants x questions, each answered once, in an order that does not matter."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from canopy.config import Answers
from canopy.embeddings.store import BRANCHING
from canopy.pipelines.base import System, SystemSpec

T = TypeVar("T")
TURNS, IN_A_ROW = 3, 8  # see `do_until_done`


@dataclass(frozen=True, slots=True)
class Cell:
    """One run over all questions: a system of one size, with one reader, over one corpus scope.

    ``seeds``: for which its answers hold: all of them at once where nothing is drawn while answering, else one. ``answers``: the sizes it was made with.
    ``made_with``: names the reader's language model and how it is asked; empty where there is none.
    """

    reader: str
    seeds: tuple[int, ...]
    spec: SystemSpec
    corpus_scope: str
    variant: str
    system: System
    answers: Answers
    drawn: bool = False
    made_with: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that say which run a row is of."""
        return {"reader": self.reader, "system": self.spec.name, "corpus_scope": self.corpus_scope, "variant": self.variant}

    @property
    def sizes(self) -> dict[str, int]:
        """k and R as the system has them: 0 items where it retrieves none, one round where it has no loop or the items are given."""
        return {"k": int(getattr(self.system, "k", 0)), "rounds_limit": int(getattr(self.system, "rounds", 1)) if self.corpus_scope != "gold" else 1}

    def key(self, question_id: str) -> tuple[str, ...]:
        """What names an answer in the journal."""
        return self.reader, self.made_with, str(self.seeds[0]) if self.drawn else "", self.spec.name, self.corpus_scope, self.variant, question_id


def scopes_of(spec: SystemSpec, settings: Sequence[str]) -> list[str]:
    """The corpus scopes that a system is run in: oracles where the items are given, systems that are about searching where there is something to search."""
    if spec.needs.gold:
        return [s for s in settings if s == "gold"]
    return [s for s in settings if s != "gold" or not spec.searcher]


def variants_of(spec: SystemSpec, corpus_scope: str, answers: Answers, scorers: Collection[str] = ()) -> Iterator[tuple[str, System, Answers]]:
    """A system's sizes: its own under the empty name, then k, R, B and its budgets as params.yaml sweeps them; k and R mean nothing where items are given.

    ``scorers``: the node scores there are; those of another B (``store.branchings``) make a row each.
    """
    yield "", spec.make(answers), answers
    searched = corpus_scope != "gold"
    for k in answers.sweep_k if searched and "k" in spec.sweeps else ():
        changed = answers.model_copy(update={"k": k})
        yield f"k={k}", spec.make(changed), changed
    for r in answers.sweep_rounds if searched and "rounds" in spec.sweeps else ():
        changed = answers.model_copy(update={"rounds": r})
        yield f"R={r}", spec.make(changed), changed
    for scorer in (s for s in scorers if s.startswith(BRANCHING)) if spec.rescored and "branching" in spec.sweeps else ():
        yield f"B={scorer.removeprefix(BRANCHING)}", spec.rescored(answers, scorer), answers
    for name, system in (spec.sizes(answers) if spec.sizes else {}).items():
        yield name, system, answers


def plan(specs: Sequence[SystemSpec], reader: str, settings: Sequence[str], answers: Answers, *, drawn: bool = False, scorers: Collection[str] = (),
         made_with: str = "") -> list[Cell]:
    """All cells of one reader, in the order in which tables list them.

    Parameters
    ----------
    scorers : collection of str
        The node scores there are.
    drawn : bool
        Whether the reader's model draws its words (a temperature above 0), so that every seed answers anew.
    made_with : str
        See `Cell`.
    """
    by_seed = [(s,) for s in dict.fromkeys(answers.seeds)] if drawn else [tuple(dict.fromkeys(answers.seeds))]
    return [Cell(reader, seeds, spec, corpus_scope, variant, system, sized, drawn, made_with) for spec in specs for corpus_scope in scopes_of(spec, settings)
            for variant, system, sized in variants_of(spec, corpus_scope, answers, scorers) for seeds in by_seed]


def do_all(tasks: Sequence[T], do: Callable[[T], None], workers: int) -> None:
    """Do every task, in this thread or in many.

    The first error ends the work: no further task is begun, those at work are waited for, then it is raised. An interrupt does not wait.
    """
    if workers <= 1 or len(tasks) <= 1:
        for task in tasks:
            do(task)
        return
    _Pool(tasks, do, min(workers, len(tasks))).run()


def do_until_done(tasks: Sequence[T], do: Callable[[T], None], workers: int, passes: Callable[[BaseException], bool]) -> None:
    """As `do_all`, but an error that may pass (a server's) costs its task a turn, not the others theirs: it is done again after them, `TURNS` times in all.

    `IN_A_ROW` such errors without a task done between them end the work, as any other error does: nothing gets through any more.
    """
    left = list(tasks)
    for turn in range(TURNS):
        failed = _try_all(left, do, workers, passes)
        if failed and (turn == TURNS - 1 or len(failed) == len(left)):
            raise failed[0][1]
        left = [task for task, _ in failed]


def _try_all(tasks: Sequence[T], do: Callable[[T], None], workers: int, passes: Callable[[BaseException], bool]) -> list[tuple[T, BaseException]]:
    """One turn of `do_until_done`; the tasks that are left, each with its error."""
    failed: list[tuple[T, BaseException]] = []
    lock, in_a_row = threading.Lock(), 0

    def attempt(task: T) -> None:
        nonlocal in_a_row
        try:
            do(task)
        except BaseException as e:
            if not passes(e):
                raise
            with lock:
                failed.append((task, e))
                in_a_row += 1
                if in_a_row >= IN_A_ROW:
                    raise
        else:
            with lock:
                in_a_row = 0

    do_all(tasks, attempt, workers)
    return failed


class _Pool(Generic[T]):
    """Threads that may be left behind: an interrupt must not wait for a server's reply, as the standard pool's threads would make it."""

    def __init__(self, tasks: Sequence[T], do: Callable[[T], None], workers: int) -> None:
        self._left: queue.SimpleQueue[T] = queue.SimpleQueue()
        for task in tasks:
            self._left.put(task)
        self._do, self._errors, self._stop = do, list[BaseException](), threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"answers-{n}") for n in range(workers)]

    def run(self) -> None:
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


def sample_by_seed(ids: Sequence[str], seeds: Sequence[int], drawn: Callable[[int], Iterable[str]] | None) -> Mapping[int, list[str]]:
    """The question ids of each seed, in the order of ``ids``: all, or those that ``drawn`` draws."""
    if drawn is None:
        return {s: list(ids) for s in seeds}
    chosen = {s: set(drawn(s)) for s in seeds}
    return {s: [i for i in ids if i in chosen[s]] for s in seeds}
