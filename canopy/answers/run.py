"""One benchmark's matrix of answers, ready to run: what is opened, which cells there are, which questions each asks; and one answer of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from canopy.answers.matrix import Cell, plan, sample_by_seed
from canopy.answers.rows import Scorekeeper, seconds_of
from canopy.answers.workbench import Reading, Workbench, connect_readers, open_workbench
from canopy.config import Config
from canopy.errors import CanopyError, DataError, ServerError
from canopy.gold.selection import draw
from canopy.items import Question
from canopy.llm.roles import Trace
from canopy.paths import Paths
from canopy.pipelines.availability import find_obstacles
from canopy.pipelines.base import SystemSpec, all_systems, find_systems
from canopy.pipelines.tools import Tools
from canopy.scoring.metric import official_metric

BySeed = Mapping[int, Sequence[str]]  # ids of the questions that each seed asks


@dataclass(slots=True)
class Run:
    """See `prepare_run`.

    Attributes
    ----------
    wanted : list of SystemSpec
        Those that params.yaml names, or all; ``obstacles`` says by reader and system what keeps one from running.
    searched : list of str
        The corpus scopes that are run; where a benchmark's own corpus is all there is, ``own`` is not among them, since its rows are those of ``unified``.
    """

    config: Config
    benchmark: str
    bench: Workbench
    readers: dict[str, Reading]
    wanted: list[SystemSpec]
    obstacles: dict[str, dict[str, list[str]]]
    searched: list[str]
    cells: list[Cell]
    by_seed: BySeed
    metric: ModuleType
    keeper: Scorekeeper
    tools: dict[int, Tools]

    @property
    def copies_own(self) -> bool:
        """Whether the rows of ``unified`` are those of ``own`` too."""
        return "own" in self.config.answers.corpus_scopes and "own" not in self.searched

    def questions(self, cell: Cell) -> list[Question]:
        """The questions that a cell answers, in the benchmark's order."""
        drawn = {q for seed in cell.seeds for q in self.by_seed[seed]}
        return [q for q in self.bench.questions if q.id in drawn]

    def answer(self, cell: Cell, question: Question) -> dict[str, Any]:
        """One answer as the journal holds it: its ``row``, and its ``seconds``.

        Raises
        ------
        CanopyError
            Where the system cannot answer (a server that fails after all tries): named with the question. Nothing is put in its place.
        """
        tools, trace, started = self.tools[id(cell)], Trace(), time.perf_counter()
        try:
            result = cell.system.answer(question, tools, trace)
            seconds = seconds_of(trace, time.perf_counter() - started)
            return {"row": self.keeper.measure(question, result, tools, trace), "seconds": seconds}
        except CanopyError as e:
            kind = next(k for k in (ServerError, DataError, CanopyError) if isinstance(e, k))
            raise kind(f"answers@{self.benchmark}: {cell.spec.name} ({cell.corpus_scope}) stopped at question {question.id}: {e}") from e
        except Exception as e:
            e.add_note(f"{cell.spec.name} ({cell.corpus_scope}) on question {question.id}")
            raise


def prepare_run(config: Config, paths: Paths, benchmark: str) -> Run:
    """Open everything and plan the cells of one benchmark.

    Raises
    ------
    DataError, EncoderMismatch, ServerError
        Where data, a store, a named system or a named server cannot be used.
    """
    settings = config.answers
    wanted = find_systems(settings.systems) if settings.systems else list(all_systems().values())
    bench = open_workbench(config, paths, benchmark)
    readers = connect_readers(config, paths, bench.f0)
    obstacles = {name: {s.name: find_obstacles(s, bench.situation(r.kind == "llm")) for s in wanted} for name, r in readers.items()}
    searched = [s for s in settings.corpus_scopes if s != "own" or not (bench.same_corpus and "unified" in settings.corpus_scopes)]
    cells = [c for r in readers.values() for c in plan([s for s in wanted if not obstacles[r.name][s.name]], r.name, searched, settings, drawn=r.drawn,
                                                    scorers=list(bench.scorers), made_with=r.made_with)]
    by_seed = sample_by_seed([q.id for q in bench.questions], settings.seeds,
                             (lambda seed: [q.id for q in draw(bench.questions, settings.questions, seed)]) if settings.questions else None)
    metric = official_metric(bench.declaration.metric)
    tools = {id(c): bench.tools(c.corpus_scope, readers[c.reader].roles(c.seeds), c.answers) for c in cells}
    return Run(config, benchmark, bench, readers, wanted, obstacles, searched, cells, by_seed, metric, Scorekeeper(metric, bench.gold, bench.places, bench.declaration.supporting_facts), tools)
