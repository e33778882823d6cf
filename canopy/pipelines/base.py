"""What a question-answering system is: one interface for CANOPY, its ablations and every baseline."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from canopy.errors import DataError
from canopy.items import Evidence, Question
from canopy.llm.roles import Shown, Trace

if TYPE_CHECKING:
    from canopy.config import Answers
    from canopy.pipelines.tools import Tools


@dataclass(frozen=True, slots=True)
class Needs:
    """What a system cannot run without.

    Parameters
    ----------
    llm : bool
        A language model server: its protocol is not defined without one. Systems that only *use* roles run LLM-free too.
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

    ``evidence`` is what the reader saw, in its order; ``tokens`` its length in the reader's tokens; ``cap_cut`` whether the evidence cap
    cut some away; ``notes`` counts what went another way than the protocol (fallbacks, an unusable reply). ``rewritten``: the system writes a text of its
    own in the items' place, even where it wrote nothing, so that no fragments are kept or lost.
    """

    answer: str
    evidence: list[Evidence] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
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
    """A system's name in tables and commands, what it is in a sentence, what it needs, how it is made, and its row in the paper.

    ``sizes``: the same system at other sizes, by the name of each variant (``budget=0.3``): what the budget figures sweep over. ``make`` gives its
    default size. ``rescored``: the same system over other node scores, by the scorer's name.
    """

    name: str
    says: str
    make: Callable[[Answers], System]
    needs: Needs = Needs()
    paper: str = ""
    family: str = ""
    sizes: Callable[[Answers], Mapping[str, System]] | None = None
    rescored: Callable[[Answers, str], System] | None = None


@lru_cache(maxsize=1)
def all_systems() -> Mapping[str, SystemSpec]:
    """Every system there is: the ``SYSTEMS`` of each module of this package, in the order of modules and rows."""
    found: dict[str, SystemSpec] = {}
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        for spec in getattr(importlib.import_module(f"canopy.pipelines.{path.stem}"), "SYSTEMS", ()):
            if spec.name in found:
                raise ValueError(f"two systems are called {spec.name!r}")
            found[spec.name] = spec
    return found


def find_systems(names: Sequence[str]) -> list[SystemSpec]:
    """The named systems; DataError naming those there are, where one is unknown."""
    there = all_systems()
    for n in names:
        if n not in there:
            raise DataError(f"no system {n!r}; there are {', '.join(there)}")
    return [there[n] for n in names]
