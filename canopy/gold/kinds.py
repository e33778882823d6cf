"""How much of the gold is pseudo: located by the answer, annotated by nobody; and which questions figures count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# Headline figures are of questions with annotated gold alone if there are so many; of fewer, intervals say little.
ENOUGH_ANNOTATED = 30


@dataclass(frozen=True, slots=True)
class GoldKinds:
    """Questions by their gold; one whose gold rows are all pseudo has pseudo-gold."""

    annotated: frozenset[str] = field(default_factory=frozenset)
    pseudo: frozenset[str] = field(default_factory=frozenset)

    @property
    def total(self) -> int:
        """Questions with gold."""
        return len(self.annotated) + len(self.pseudo)

    @property
    def share(self) -> float:
        """Share of the questions with gold whose gold is pseudo; 0 if there are none."""
        return len(self.pseudo) / self.total if self.total else 0.0

    @property
    def is_annotated_alone(self) -> bool:
        """Whether headline figures leave questions with pseudo-gold out."""
        return bool(self.pseudo) and len(self.annotated) >= ENOUGH_ANNOTATED

    @property
    def left_out(self) -> frozenset[str]:
        """Questions that headline figures leave out."""
        return self.pseudo if self.is_annotated_alone else frozenset()

    def among(self, questions: Collection[str]) -> GoldKinds:
        """Those of some questions."""
        ids = frozenset(questions)
        return GoldKinds(self.annotated & ids, self.pseudo & ids)

    def describe(self, whole: bool = False) -> str:
        """The kinds in a few words, and which of them the figures count; empty without gold.

        Parameters
        ----------
        whole : bool
            Whether the figures count all gold in any case.
        """
        if not self.total:
            return ""
        if not self.pseudo:
            return f"annotated, {self.total:,} questions"
        marked = f"pseudo-gold of {len(self.pseudo):,} of {self.total:,} questions ({self.share:.0%})"
        if whole:
            return f"{marked} is counted"
        if self.is_annotated_alone:
            return f"annotated alone, {len(self.annotated):,} questions; {marked} is left out"
        if not self.annotated:
            return f"{marked}: located by the answer, annotated by nobody"
        return (f"{marked} is counted: the {len(self.annotated):,} annotated are fewer than {ENOUGH_ANNOTATED}")

    def counts(self) -> dict[str, float]:
        """Counts and share, for files of figures."""
        return {"annotated_questions": float(len(self.annotated)), "pseudo_gold_questions": float(len(self.pseudo)),
                "pseudo_gold_share": round(self.share, 6)}


def kinds_of(rows: Iterable[Mapping[str, Any]]) -> GoldKinds:
    """The kinds of gold rows (``question_id``, ``pseudo``)."""
    annotated: set[str] = set()
    questions: set[str] = set()
    for r in rows:
        questions.add(r["question_id"])
        if not r.get("pseudo"):
            annotated.add(r["question_id"])
    return GoldKinds(frozenset(annotated), frozenset(questions - annotated))


def read_kinds(path: Path) -> GoldKinds:
    """The kinds of a ``gold.parquet``; empty if there is none that can be read."""
    try:
        return kinds_of(pq.read_table(path, columns=["question_id", "pseudo"]).to_pylist())
    except (OSError, pa.ArrowInvalid):
        return GoldKinds()
