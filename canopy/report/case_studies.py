"""Which questions are shown as cases, and all that is told of each: its gold, what every system retrieved, kept and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canopy.config import CORPUS_SCOPES
from canopy.corpus.folds import ITEMS, NEAR, Folds
from canopy.digests import text_sha256
from canopy.errors import DataError
from canopy.gold.selection import draw
from canopy.items import Item, Question, read_items, read_questions
from canopy.report.answered import MAIN, Answered, label_of

DRAWN = "drawn by the seed"
FINDS, LOSES = "a follow-up finds what the first round lacked", "compression loses what was needed"
_FAMILIES = ("main", "oracle", "compressor", "selection", "ablation")
_NO_LOOP, _WHOLE = "canopy-no-iteration", "vanilla"
_ANSWER = ["question_id", "system", "prediction", "tokens", "gold_recall", "answer_in_evidence", "rounds", "evidence", "notes"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A question to show, and why it was chosen."""

    question_id: str
    why: str = DRAWN


@dataclass(slots=True)
class Case:
    """A question, and how each system answered it.

    Attributes
    ----------
    corpus, reader : str
        Which corpus was searched and who read, in words.
    measure : str
        The official measure that ``score`` of each answer is in.
    answers : list of dict
        A row of answers.parquet for each system, in the order of tables, with its ``family``, its ``score`` and its rounds under ``steps``.
    gold : mapping
        Item to the fragments that some annotation marks.
    """

    benchmark: str
    question: Question
    why: str
    corpus: str
    reader: str
    measure: str
    answers: list[dict[str, Any]]
    gold: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def of(self, system: str) -> dict[str, Any] | None:
        """A system's answer."""
        return next((a for a in self.answers if a["system"] == system), None)

    def items(self) -> set[str]:
        """Every item that is shown."""
        return {*self.gold, *(e["item_id"] for a in self.answers for e in a["evidence"]), *(i for a in self.answers for s in a["steps"] for i in s["retrieved"])}


def choose(answered: Answered, ids: Sequence[str], most: int, seed: int) -> list[Chosen]:
    """The questions of one benchmark to show: first one for each study that it has one of, then some drawn.

    Parameters
    ----------
    ids : sequence of str
        Its test questions.
    """
    asked = set(answered.frame["question_id"])
    drawn = [q.id for q in draw([Question(i, answered.name, "") for i in ids if i in asked], most, seed)]
    studies = [Chosen(q, why) for why, q in find_studies(answered, seed).items()]
    taken = {c.question_id for c in studies}
    return studies + [Chosen(q) for q in drawn if q not in taken]


def find_studies(answered: Answered, seed: int) -> dict[str, str]:
    """A question for each study: one that CANOPY's loop won, and one that its compression lost; right answers, and then wrong ones, first.

    Among equals the first by a hash of seed and id is taken. A study that no question of this run shows is missing.
    """
    corpus_scope, reader = where(answered)
    frame = answered.frame
    part = frame[(frame["reader"] == reader) & (frame["corpus_scope"] == corpus_scope) & (frame["variant"] == "")]
    by = {s: p.set_index("question_id") for s, p in part.groupby("system")}
    if "canopy" not in by:
        return {}
    mine, score = by["canopy"], answered.primary[0]
    found: dict[str, list[tuple[float, float, str, str]]] = {FINDS: [], LOSES: []}
    for q in mine.index:
        row, order = mine.loc[q], text_sha256(f"{seed}\x1f{q}")
        once, whole = (by[s].loc[q] if s in by and q in by[s].index else None for s in (_NO_LOOP, _WHOLE))
        if once is not None and row["rounds"] > 1 and row["gold_items_found"] > once["gold_items_found"]:
            found[FINDS].append((-_number(row[score]), -_number(row["gold_recall"] - once["gold_recall"]), order, q))
        if whole is not None and row["gold_recall"] < whole["gold_recall"] and row["gold_items_found"] == row["gold_items"]:
            found[LOSES].append((_number(row[score] - whole[score]), row["gold_recall"] - whole["gold_recall"], order, q))
    return {why: min(held)[3] for why, held in found.items() if held}


def _number(value: float) -> float:
    return value if value == value else 0.0


def where(answered: Answered) -> tuple[str, str]:
    """The corpus and the reader whose answers are shown: the unified corpus where it was asked for, and the first reader."""
    settings = answered.listed["corpus_scopes"]
    return next((s for s in CORPUS_SCOPES if s in settings), ""), answered.listed["readers"][0]["name"]


def read_cases(answers: Path, benchmark: Path, gold: Path, answered: Answered, chosen: Sequence[Chosen], folds: Folds) -> list[Case]:
    """Gather the chosen questions of one benchmark.

    Parameters
    ----------
    answers, benchmark, gold : Path
        Its outputs of the stages ``answers``, ``benchmark`` and ``gold_spans``.
    """
    ids = [c.question_id for c in chosen]
    if not ids:
        return []
    corpus_scope, reader = where(answered)
    cell = [("question_id", "in", ids), ("reader", "=", reader), ("corpus_scope", "=", corpus_scope), ("variant", "=", "")]
    try:
        rows = pq.read_table(answers / "answers.parquet", columns=[*dict.fromkeys((*_ANSWER, answered.primary[0]))], filters=cell).to_pylist()
        steps = pq.read_table(answers / "rounds.parquet", columns=["question_id", "system", "round", "query", "retrieved", "new", "kept"], filters=cell).to_pylist()
    except (OSError, ValueError) as e:
        raise DataError(f"{answers}: no answers that can be read ({type(e).__name__}); rerun the stage answers") from None
    marked: dict[str, dict[str, set[int]]] = {}
    for r in pq.read_table(gold / "gold.parquet", filters=[("question_id", "in", ids)]).to_pylist():
        if r["item_id"] not in folds.near:  # a near-duplicate's fragments are not its representative's
            marked.setdefault(r["question_id"], {}).setdefault(folds.exact_representative(r["item_id"]), set()).update(r["fragments"])
    asked = {q.id: q for q in read_questions(benchmark / "questions.parquet") if q.id in set(ids)}
    listed = sorted(answered.listed["systems"], key=lambda s: _FAMILIES.index(s["family"]) if s["family"] in _FAMILIES else len(_FAMILIES))
    families = {s["name"]: s["family"] for s in listed}
    place = {name: n for n, name in enumerate((*MAIN, *(s["name"] for s in listed if s["name"] not in MAIN)))}
    cases = []
    for c in chosen:
        mine: dict[str, dict[str, Any]] = {}
        for r in rows:
            if r["question_id"] == c.question_id:  # of several seeds the first
                mine.setdefault(r["system"], {**r, "family": families.get(r["system"], ""), "score": r[answered.primary[0]], "steps": sorted(
                    (s for s in steps if s["question_id"] == c.question_id and s["system"] == r["system"]), key=lambda s: s["round"])})
        ordered = sorted(mine.values(), key=lambda r: place[r["system"]])
        cases.append(Case(answered.name, asked[c.question_id], c.why, CORPUS_SCOPES[corpus_scope], label_of(answered.listed["readers"][0]), answered.primary[0], ordered,
                          {i: frozenset(f) for i, f in marked.get(c.question_id, {}).items()}))
    return cases


def read_shown(corpus: Path, benchmarks: Sequence[Path], cases: Sequence[Case]) -> dict[str, Item]:
    """The items of all cases, from the corpus, and annotated ones that it folded away from their benchmarks."""
    wanted = sorted({i for c in cases for i in c.items()})
    found: dict[str, Item] = {}
    for path in (corpus / ITEMS, corpus / NEAR, *(b / "items.parquet" for b in benchmarks)):
        if path.is_file():
            found |= {i.id: i for i in read_items(path, [w for w in wanted if w not in found])}
    return found
