"""A case: a question of one benchmark, its gold, and how each system answered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from canopy.items import Question

DRAWN = "drawn by the seed"
FINDS, LOSES = "a follow-up finds what the first round lacked", "compression loses what was needed"


class KeptRegion(TypedDict):
    """Fragments ``[lo, hi)`` of an item, with their score."""

    item_id: str
    lo: int
    hi: int
    score: float


class ReadRegion(KeptRegion):
    """A region that a reader saw; ``text`` if the system wrote its words anew."""

    tokens: int
    text: str | None


class Note(TypedDict):
    """What differed from the protocol, and how often."""

    note: str
    count: int


class Step(TypedDict):
    """A round of a system: its query, what came, which of it was new, and what was kept of the new."""

    question_id: str
    system: str
    round: int
    query: str
    retrieved: list[str]
    new: list[str]
    kept: list[KeptRegion]


@dataclass(slots=True)
class Answer:
    """A system's answer to a question.

    Attributes
    ----------
    family : str
        The system's family.
    score : float, optional
        In the case's measure.
    gold_recall : float, optional
        None for a system that rewrites its evidence.
    """

    system: str
    family: str
    prediction: str
    score: float | None
    gold_recall: float | None
    tokens: int
    rounds: int
    evidence: list[ReadRegion]
    notes: list[Note]
    steps: list[Step]


@dataclass(slots=True)
class Case:
    """A question, and how each system answered it.

    Attributes
    ----------
    why : str
        Why it is shown.
    corpus, reader : str
        Which corpus was searched and who read, in words.
    measure : str
        The official measure that each answer's ``score`` is in.
    answers : list of Answer
        In the order of tables.
    gold : mapping
        Item to the fragments that are gold.
    pseudo : bool
        Whether the gold was located by the answer, and annotated by nobody.
    """

    benchmark: str
    question: Question
    why: str
    corpus: str
    reader: str
    measure: str
    answers: list[Answer]
    gold: Mapping[str, frozenset[int]] = field(default_factory=dict)
    pseudo: bool = False

    @property
    def gold_words(self) -> str:
        """What kind of gold it has."""
        if not self.gold:
            return "none"
        return "pseudo: located by the answer, annotated by nobody" if self.pseudo else "annotated"

    def of(self, system: str) -> Answer | None:
        """A system's answer."""
        return next((a for a in self.answers if a.system == system), None)

    def items(self) -> set[str]:
        """Every item that is shown."""
        seen = {e["item_id"] for a in self.answers for e in a.evidence}
        retrieved = {i for a in self.answers for s in a.steps for i in s["retrieved"]}
        return {*self.gold, *seen, *retrieved}
