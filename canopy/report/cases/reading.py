"""Reads all that is shown of a case: its gold, what every system retrieved, kept and answered, and the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canopy.config import CORPUS_SCOPES
from canopy.corpus.folds import ITEMS, NEAR, Folds
from canopy.errors import DataError
from canopy.items import Item, read_items, read_questions
from canopy.report.answered import Answered, reader_title
from canopy.report.cases.choice import Choice, cell_of
from canopy.report.cases.model import Answer, Case, Step
from canopy.report.choices import main_order

_FAMILIES = ("main", "oracle", "compressor", "selection", "ablation")
_ANSWER = ("question_id", "system", "prediction", "tokens", "gold_recall", "rounds", "evidence", "notes")
_STEP = ("question_id", "system", "round", "query", "retrieved", "new", "kept")
_Filter = list[tuple[str, str, str | list[str]]]


def read_cases(answers: Path, benchmark: Path, gold: Path, answered: Answered, choices: Sequence[Choice],
               folds: Folds) -> list[Case]:
    """Gather the chosen questions of one benchmark.

    Parameters
    ----------
    answers, benchmark, gold : Path
        Its outputs of the stages ``answers``, ``benchmark`` and ``gold_spans``.

    Raises
    ------
    DataError
        If the answers cannot be read.
    """
    ids = [c.question_id for c in choices]
    if not ids:
        return []
    corpus_scope, reader = cell_of(answered)
    score = answered.primary[0]
    cell: _Filter = [("question_id", "in", ids), ("reader", "=", reader["name"]), ("corpus_scope", "=", corpus_scope),
                     ("variant", "=", "")]
    rows = _read(answers / "answers.parquet", [*dict.fromkeys((*_ANSWER, score))], cell)
    steps = _read(answers / "rounds.parquet", list(_STEP), cell)
    steps_of: dict[tuple[str, str], list[Step]] = {}
    for s in steps:
        step = Step(question_id=s["question_id"], system=s["system"], round=s["round"], query=s["query"],
                    retrieved=s["retrieved"],
                    new=s["new"], kept=s["kept"])
        steps_of.setdefault((s["question_id"], s["system"]), []).append(step)
    marks = _read_gold(gold / "gold.parquet", ids, folds)
    questions = {q.id: q for q in read_questions(benchmark / "questions.parquet") if q.id in set(ids)}
    families = {s["name"]: s["family"] for s in answered.systems}
    order = _order(answered)
    cases = []
    for choice in choices:
        q = choice.question_id
        by_system: dict[str, Answer] = {}
        for r in (r for r in rows if r["question_id"] == q):
            system = r["system"]
            if system in by_system:
                continue  # of several seeds the first
            rounds = sorted(steps_of.get((q, system), ()), key=lambda s: s["round"])
            by_system[system] = Answer(system, families.get(system, ""), r["prediction"], r[score], r["gold_recall"],
                                       r["tokens"], r["rounds"], r["evidence"], r["notes"], rounds)
        ordered = sorted(by_system.values(), key=lambda a: order[a.system])
        fragments = {i: frozenset(f) for i, f in marks.get(q, {}).items()}
        cases.append(Case(answered.name, questions[q], choice.why, CORPUS_SCOPES[corpus_scope], reader_title(reader),
                          score, ordered, fragments, q in answered.gold.pseudo))
    return cases


def _read(path: Path, columns: list[str], cell: _Filter) -> list[dict[str, Any]]:
    try:
        return pq.read_table(path, columns=columns, filters=cell).to_pylist()
    except (OSError, ValueError) as e:
        raise DataError(f"{path.parent}: no answers that can be read ({type(e).__name__}); rerun the stage "
                        f"answers") from None


def _read_gold(path: Path, ids: Sequence[str], folds: Folds) -> dict[str, dict[str, set[int]]]:
    """Question to item to its gold fragments; a near-duplicate's fragments are not its representative's."""
    marks: dict[str, dict[str, set[int]]] = {}
    for r in pq.read_table(path, filters=[("question_id", "in", list(ids))]).to_pylist():
        if r["item_id"] not in folds.near:
            of_question = marks.setdefault(r["question_id"], {})
            of_question.setdefault(folds.exact_representative(r["item_id"]), set()).update(r["fragments"])
    return marks


def _order(answered: Answered) -> Mapping[str, int]:
    """The place of each system: those of the main table first, then by family."""
    def place(family: str) -> int:
        return _FAMILIES.index(family) if family in _FAMILIES else len(_FAMILIES)

    names = [*main_order(answered), *(s["name"] for s in sorted(answered.systems, key=lambda s: place(s["family"])))]
    return {name: n for n, name in enumerate(dict.fromkeys(names))}


def read_case_items(corpus: Path, benchmarks: Sequence[Path], cases: Sequence[Case]) -> dict[str, Item]:
    """The items of all cases: from the corpus, and those that it folded away from their benchmarks."""
    ids = sorted({i for c in cases for i in c.items()})
    items: dict[str, Item] = {}
    for path in (corpus / ITEMS, corpus / NEAR, *(b / "items.parquet" for b in benchmarks)):
        if path.is_file():
            items |= {i.id: i for i in read_items(path, [i for i in ids if i not in items])}
    return items
