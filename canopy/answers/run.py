"""One benchmark's matrix of answers, ready to run: the open workspace, the cells, and the questions of each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from canopy.answers.matrix import Cell, plan, sample_by_seed
from canopy.answers.rows import AnswerRecord
from canopy.answers.scorekeeping import Scorekeeper, seconds_of
from canopy.answers.workbench import ConfiguredReader, Workbench, connect_readers, open_workbench
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
    specs : list of SystemSpec
        The systems that params.yaml names, or all.
    obstacles : dict
        By reader and system, what keeps the system from running.
    scopes : list of str
        The corpus scopes that are run. If a benchmark's own corpus is the whole corpus, ``own`` is not among them: its
        rows are those of ``unified``.
    by_seed : mapping
        Ids of the questions that each seed asks.
    """

    config: Config
    benchmark: str
    bench: Workbench
    readers: dict[str, ConfiguredReader]
    specs: list[SystemSpec]
    obstacles: dict[str, dict[str, list[str]]]
    scopes: list[str]
    cells: list[Cell]
    by_seed: BySeed
    metric: ModuleType
    keeper: Scorekeeper
    tools: dict[int, Tools]

    @property
    def copies_own(self) -> bool:
        """Whether the rows of ``unified`` are those of ``own`` too."""
        return "own" in self.config.answers.corpus_scopes and "own" not in self.scopes

    def questions(self, cell: Cell) -> list[Question]:
        """The questions that a cell answers, in the benchmark's order."""
        ids = {q for seed in cell.seeds for q in self.by_seed[seed]}
        return [q for q in self.bench.questions if q.id in ids]

    def answer(self, cell: Cell, question: Question) -> AnswerRecord:
        """One answer as the journal keeps it.

        Raises
        ------
        CanopyError
            If the system cannot answer (a server fails after all tries). The message names system and question. Nothing
            stands in for the answer.
        """
        tools, trace, started = self.tools[id(cell)], Trace(), time.perf_counter()
        try:
            result = cell.system.answer(question, tools, trace)
            seconds = seconds_of(trace, time.perf_counter() - started)
            return {"row": self.keeper.measure(question, result, tools, trace), "seconds": seconds}
        except CanopyError as e:
            kind = next(k for k in (ServerError, DataError, CanopyError) if isinstance(e, k))
            where = f"answers@{self.benchmark}: {cell.spec.name} ({cell.corpus_scope})"
            raise kind(f"{where} stopped at question {question.id}: {e}") from e
        except Exception as e:
            e.add_note(f"{cell.spec.name} ({cell.corpus_scope}) on question {question.id}")
            raise


def prepare_run(config: Config, paths: Paths, benchmark: str) -> Run:
    """Open everything and plan the cells of one benchmark.

    Raises
    ------
    DataError, EncoderMismatch, ServerError
        If data, a store, a named system or a named server cannot be used.
    """
    settings = config.answers
    specs = find_systems(settings.systems) if settings.systems else list(all_systems().values())
    bench = open_workbench(config, paths, benchmark)
    readers = connect_readers(config, paths, bench.f0)
    obstacles = {name: {s.name: find_obstacles(s, bench.situation(r.kind == "llm")) for s in specs}
                 for name, r in readers.items()}
    scopes: list[str] = [s for s in settings.corpus_scopes
                         if s != "own" or not (bench.same_corpus and "unified" in settings.corpus_scopes)]
    cells: list[Cell] = []
    for reader in readers.values():
        able = [s for s in specs if not obstacles[reader.name][s.name]]
        cells += plan(able, reader.name, scopes, settings, sampled=reader.sampled, scorers=list(bench.scorers),
                      made_with=reader.made_with)

    def sample(seed: int) -> list[str]:
        return [q.id for q in draw(bench.questions, settings.questions, seed)]

    ids = [q.id for q in bench.questions]
    by_seed = sample_by_seed(ids, settings.seeds, sample if settings.questions else None)
    metric = official_metric(bench.declaration.metric)
    keeper = Scorekeeper(metric, bench.gold, bench.places, bench.declaration.supporting_facts)
    tools = {id(c): bench.tools(c.corpus_scope, readers[c.reader].roles(c.seeds), c.answers) for c in cells}
    return Run(config, benchmark, bench, readers, specs, obstacles, scopes, cells, by_seed, metric, keeper, tools)
