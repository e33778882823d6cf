"""What a question-answering system is: one interface for CANOPY, its ablations and every baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

from canopy import pipelines
from canopy.discovery import modules_of
from canopy.errors import DataError
from canopy.items import Evidence, Question
from canopy.llm.roles import RegionView, Trace

if TYPE_CHECKING:
    from canopy.config import Answers
    from canopy.pipelines.tools import Tools


Sweep = Literal["k", "rounds", "branching"]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a system cannot run without.

    Parameters
    ----------
    llm : bool
        A language model server: its protocol is not defined without one. Systems that only *use* roles run LLM-free
        too.
    gold : bool
        The annotated items of the question (an oracle, never a competitor).
    models : tuple of str
        Keys of ``answers.models`` in params.yaml: model folders or hub ids that the system loads itself.
    packages : tuple of str
        Importable packages beyond canopy's own dependencies.
    scorers : tuple of str
        Node scores: ``f_theta``, ``f0``, ``f_theta_per_modality``.
    """

    llm: bool = False
    gold: bool = False
    models: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    scorers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One retrieval: its query, what came, which of it was new, what was kept of the new."""

    query: str
    retrieved: tuple[str, ...]
    new: tuple[str, ...]
    kept: tuple[Evidence, ...] = ()


@dataclass(slots=True)
class Result:
    """What a system made of a question.

    ``evidence`` is what the reader saw, in its order; ``tokens`` its length in the reader's tokens; ``cap_cut`` whether
    the evidence cap cut some away; ``notes`` counts what went another way than the protocol (fallbacks, an unusable
    reply). ``rewritten``: the system writes a text of its own in the items' place, even if it wrote nothing, so that
    no fragments are kept or lost.
    """

    answer: str
    evidence: list[Evidence] = field(default_factory=list)
    views: list[RegionView] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    tokens: int = 0
    cap_cut: bool = False
    notes: dict[str, int] = field(default_factory=dict)
    rewritten: bool = False


class System(Protocol):
    """A question-answering system; safe to call from several threads at once."""

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question."""
        ...


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """A system, and all that the matrix of answers and the report ask about it.

    Parameters
    ----------
    name : str
        Its name in tables, files and commands.
    says : str
        What it is, in one sentence.
    make : callable
        Makes it at its default size.
    needs : Needs
    paper : str
        Its row's name in the paper's tables; empty if the paper has none.
    family : str
        The group in which listings show it: ``main``, ``ablation``, ``selection``, ``compressor``, ``oracle``.
    sizes : callable or None
        The same system at other sizes, by each variant's name (``budget=0.3``). The budget figures sweep over them.
    rescored : callable or None
        The same system over other node scores, by the scorer's name.
    main : int or None
        Its place in the paper's main table, counted from 1; None if it has no row there.
    component : bool
        Whether it has a row in the paper's component table.
    oracle : bool
        Whether it answers from the annotated evidence: an upper bound, never a competitor.
    searcher : bool
        Whether it differs from another system in its search alone. With the items given it would equal that other one,
        so it is not run there.
    sweeps : tuple of str
        The sizes of params.yaml that it is swept over: ``k``, ``rounds`` (R) and ``branching`` (B).
    """

    name: str
    says: str
    make: Callable[[Answers], System]
    needs: Needs = Needs()
    paper: str = ""
    family: str = ""
    sizes: Callable[[Answers], Mapping[str, System]] | None = None
    rescored: Callable[[Answers, str], System] | None = None
    main: int | None = None
    component: bool = False
    oracle: bool = False
    searcher: bool = False
    sweeps: tuple[Sweep, ...] = ()


def all_systems() -> Mapping[str, SystemSpec]:
    """Every system.

    The ``SYSTEMS`` of each module of this package and of the folders that extend its path, in the order of modules and
    rows.
    """
    return _systems_at(tuple(pipelines.__path__))


@lru_cache(maxsize=4)
def _systems_at(path: tuple[str, ...]) -> Mapping[str, SystemSpec]:
    """See `all_systems`; ``path`` is the package's path, which names the modules."""
    systems: dict[str, SystemSpec] = {}
    for module in modules_of(pipelines):
        for spec in getattr(module, "SYSTEMS", ()):
            if spec.name in systems:
                raise ValueError(f"two systems are called {spec.name!r}")
            systems[spec.name] = spec
    return systems


def find_systems(names: Sequence[str]) -> list[SystemSpec]:
    """The systems of these names.

    Raises
    ------
    DataError
        If there is no system of a name; the message lists all systems.
    """
    systems = all_systems()
    for name in names:
        if name not in systems:
            raise DataError(f"no system {name!r}; there are {', '.join(systems)}")
    return [systems[name] for name in names]
