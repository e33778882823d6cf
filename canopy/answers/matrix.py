"""The matrix of answers: readers x systems x corpus scopes x variants x questions, each answered once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from canopy.answers.rows import CellColumns, CellSizes
from canopy.config import Answers
from canopy.embeddings.store import BRANCHING
from canopy.pipelines.base import System, SystemSpec


@dataclass(frozen=True, slots=True)
class Cell:
    """One run over all questions: a system of one size, with one reader, over one corpus scope.

    Parameters
    ----------
    seeds : tuple of int
        The seeds that its answers hold for: one if the reader samples its words, otherwise all of them at once.
    answers : Answers
        The sizes that the system was made with.
    sampled : bool
        Whether the reader samples its words.
    made_with : str
        Names the reader's language model and how it is asked; empty if there is none.
    """

    reader: str
    seeds: tuple[int, ...]
    spec: SystemSpec
    corpus_scope: str
    variant: str
    system: System
    answers: Answers
    sampled: bool = False
    made_with: str = ""

    @property
    def columns(self) -> CellColumns:
        """The columns that say which run a row belongs to."""
        return {"reader": self.reader, "system": self.spec.name, "corpus_scope": self.corpus_scope,
                "variant": self.variant}

    @property
    def sizes(self) -> CellSizes:
        """k and R as the system has them: k is 0 without retrieval; R is 1 without a loop or if the items are given."""
        rounds = int(getattr(self.system, "rounds", 1)) if self.corpus_scope != "gold" else 1
        return {"k": int(getattr(self.system, "k", 0)), "rounds_limit": rounds}

    def key(self, question_id: str) -> tuple[str, ...]:
        """The name of an answer in the journal."""
        seed = str(self.seeds[0]) if self.sampled else ""
        return self.reader, self.made_with, seed, self.spec.name, self.corpus_scope, self.variant, question_id


def scopes_of(spec: SystemSpec, scopes: Sequence[str]) -> list[str]:
    """The corpus scopes that a system is run in.

    Systems that need the annotated items run under ``gold`` alone; systems that differ in their search alone run
    everywhere else.
    """
    if spec.needs.gold:
        return [s for s in scopes if s == "gold"]
    return [s for s in scopes if s != "gold" or not spec.searcher]


def variants_of(spec: SystemSpec, corpus_scope: str, answers: Answers,
                scorers: Collection[str] = ()) -> Iterator[tuple[str, System, Answers]]:
    """A system's sizes: its own under the empty name, then k, R and B as params.yaml sweeps them, then its budgets.

    k and R are not swept under ``gold``: the items are given.

    Parameters
    ----------
    scorers : collection of str
        The node scores that exist; those of another B (``store.branchings``) make a variant each.
    """
    yield "", spec.make(answers), answers
    searched = corpus_scope != "gold"
    for k in answers.sweep_k if searched and "k" in spec.sweeps else ():
        changed = answers.model_copy(update={"k": k})
        yield f"k={k}", spec.make(changed), changed
    for r in answers.sweep_rounds if searched and "rounds" in spec.sweeps else ():
        changed = answers.model_copy(update={"rounds": r})
        yield f"R={r}", spec.make(changed), changed
    if spec.rescored and "branching" in spec.sweeps:
        for scorer in scorers:
            if scorer.startswith(BRANCHING):
                yield f"B={scorer.removeprefix(BRANCHING)}", spec.rescored(answers, scorer), answers
    for name, system in (spec.sizes(answers) if spec.sizes else {}).items():
        yield name, system, answers


def plan(specs: Sequence[SystemSpec], reader: str, scopes: Sequence[str], answers: Answers, *, sampled: bool = False,
         scorers: Collection[str] = (), made_with: str = "") -> list[Cell]:
    """All cells of one reader, in the order in which tables list them.

    Parameters
    ----------
    scorers : collection of str
        The node scores that exist.
    sampled : bool
        Whether the reader samples its words (a temperature above 0), so that every seed answers anew.
    made_with : str
        See `Cell`.
    """
    seeds = tuple(dict.fromkeys(answers.seeds))
    groups = [(s,) for s in seeds] if sampled else [seeds]
    return [Cell(reader, group, spec, corpus_scope, variant, system, sizes, sampled, made_with)
            for spec in specs for corpus_scope in scopes_of(spec, scopes)
            for variant, system, sizes in variants_of(spec, corpus_scope, answers, scorers) for group in groups]


def sample_by_seed(ids: Sequence[str], seeds: Sequence[int],
                   sample: Callable[[int], Iterable[str]] | None) -> Mapping[int, list[str]]:
    """The question ids of each seed, in the order of ``ids``: all of them, or the sample of the seed."""
    if sample is None:
        return {s: list(ids) for s in seeds}
    samples = {s: set(sample(s)) for s in seeds}
    return {s: [i for i in ids if i in samples[s]] for s in seeds}
