"""Which questions are shown as cases: one for each study that the run has an example of, and some by the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from canopy.answers.listing import ReaderRow
from canopy.config import CORPUS_SCOPES, CorpusScope
from canopy.digests import text_sha256
from canopy.gold.selection import draw
from canopy.items import Question
from canopy.report.answered import Answered
from canopy.report.cases.model import DRAWN, FINDS, LOSES

_CANOPY, _ONE_ROUND, _WHOLE = "canopy", "canopy-no-iteration", "vanilla"


@dataclass(frozen=True, slots=True)
class Choice:
    """A question to show, and why."""

    question_id: str
    why: str = DRAWN


def choose(answered: Answered, ids: Sequence[str], most: int, seed: int) -> list[Choice]:
    """The questions of one benchmark to show: first one for each study, then some by the seed.

    Parameters
    ----------
    ids : sequence of str
        Its test questions.
    most : int
        At most so many are drawn.
    """
    answers = set(answered.frame["question_id"])
    sample = [q.id for q in draw([Question(i, answered.name, "") for i in ids if i in answers], most, seed)]
    studies = [Choice(q, why) for why, q in find_studies(answered, seed).items()]
    in_studies = {c.question_id for c in studies}
    return studies + [Choice(q) for q in sample if q not in in_studies]


def find_studies(answered: Answered, seed: int) -> dict[str, str]:
    """A question for each study: one that CANOPY's loop won, and one that its compression lost.

    Right answers come first in the one, wrong ones in the other; among equals the first by a hash of seed and id. A
    study that no question of the run shows is missing.
    """
    corpus_scope, reader = cell_of(answered)
    frame = answered.frame
    cell = (frame["reader"] == reader["name"]) & (frame["corpus_scope"] == corpus_scope) & (frame["variant"] == "")
    part = frame[cell]
    by_system = {s: p.set_index("question_id") for s, p in part.groupby("system")}
    if _CANOPY not in by_system:
        return {}
    canopy, score = by_system[_CANOPY], answered.primary[0]
    candidates: dict[str, list[tuple[float, float, str, str]]] = {FINDS: [], LOSES: []}
    for q in canopy.index:
        row, order = canopy.loc[q], text_sha256(f"{seed}\x1f{q}")
        once, whole = (by_system[s].loc[q] if s in by_system and q in by_system[s].index else None
                       for s in (_ONE_ROUND, _WHOLE))
        if once is not None and row["rounds"] > 1 and row["gold_items_found"] > once["gold_items_found"]:
            gain = _number(row["gold_recall"] - once["gold_recall"])
            candidates[FINDS].append((-_number(row[score]), -gain, order, q))
        found_all = row["gold_items_found"] == row["gold_items"]
        if whole is not None and row["gold_recall"] < whole["gold_recall"] and found_all:
            loss = row["gold_recall"] - whole["gold_recall"]
            candidates[LOSES].append((_number(row[score] - whole[score]), loss, order, q))
    return {why: min(questions)[3] for why, questions in candidates.items() if questions}


def _number(value: float) -> float:
    """The value, or 0 if it is not defined."""
    return value if value == value else 0.0


def cell_of(answered: Answered) -> tuple[CorpusScope, ReaderRow]:
    """The corpus and the reader whose answers are shown: the unified corpus if it was searched, the first reader."""
    return next(s for s in CORPUS_SCOPES if s in answered.corpus_scopes), answered.readers[0]
