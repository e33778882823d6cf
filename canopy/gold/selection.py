"""Which of a benchmark's questions are trained and measured on.

The rules of ``benchmarks.<name>.select`` in params.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from canopy.config import Select
from canopy.digests import text_key
from canopy.errors import DataError
from canopy.items import Question


def choose_questions(questions: Sequence[Question], select: Select, where: str) -> list[Question]:
    """Questions of the selected splits and types.

    Parameters
    ----------
    where : str
        What to call the rules in an error: ``params.yaml: benchmarks.hotpotqa.select``.

    Raises
    ------
    DataError
        If a selected split or type is none that a question has, so that a misspelt name does not select nothing in
        silence.
    """
    for name, names, there in (("splits", select.splits, {q.split for q in questions}),
                               ("types", select.types, {q.type for q in questions})):
        unknown = [w for w in names if w not in there]
        if unknown and questions:
            raise DataError(f"{where}.{name}: no question has {unknown[0]!r}; there are "
                            f"{', '.join(map(repr, sorted(there)[:30]))}")
    return [q for q in questions if (not select.splits or q.split in select.splits)
            and (not select.types or q.type in select.types)]


def located_questions(rows: Iterable[Mapping[str, Any]]) -> dict[str, bool]:
    """For each question with gold, whether it can be located: all gold of some alternative is a part of its item.

    An item of one fragment (an image, a sentence) has no parts, so gold in it is located by naming it.
    """
    groups: dict[str, dict[int, bool]] = {}
    for r in rows:
        of_group = groups.setdefault(r["question_id"], {})
        of_group[r["group"]] = of_group.get(r["group"], True) and (r["coverage"] == "located" or r["count"] == 1)
    return {q: any(g.values()) for q, g in groups.items()}


def keep_questions(questions: Sequence[Question], rows: Iterable[Mapping[str, Any]], select: Select) -> list[Question]:
    """What ``keep`` and ``limit`` leave, in the order of the questions.

    The limit takes the first by a hash of seed and id: a larger limit holds a smaller one's questions, and other
    questions' coming or going moves few.
    """
    if select.keep == "located":
        located = located_questions(rows)
        questions = [q for q in questions if located.get(q.id)]
    if not select.limit:
        return list(questions)
    sample = {q.id for q in draw(questions, select.limit, select.seed)}
    return [q for q in questions if q.id in sample]


def draw(questions: Sequence[Question], most: int, seed: int) -> list[Question]:
    """At most so many questions, in an order drawn by the seed."""
    return sorted(questions, key=lambda q: text_key(f"{seed}\x1f{q.id}"))[:most]
