"""The checked tables of gold and its split: gold rows, sides, near-duplicates, and how alike the two sides are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from canopy.validation.columns import Tables, from_rows, is_known

_NUMBER = re.compile(r"[-+$€£(\s]*\d[\d,. ]*\s*(%|\)|percent|million|billion|thousand)*", re.I)
# Shares of two sides may differ by this much, or by three standard errors if few questions make them uncertain.
_MARGIN, _ERRORS = 0.15, 3.0
_LISTED_IDS = 5


def tabulate_gold(tables: Tables) -> pa.Table:
    """One row a gold row; ``inside``: its fragments are numbers from 0 to the item's count, at least one."""
    gold = tables["gold"]
    inside = [bool(f) and n is not None and min(f) >= 0 and max(f) < n
              for f, n in zip(gold["fragments"].to_pylist(), gold["count"].to_pylist(), strict=True)]
    return pa.table({"question_id": gold["question_id"], "item_id": gold["item_id"], "fragments": gold["fragments"],
                     "count": gold["count"], "inside": pa.array(inside, pa.bool_())})


def tabulate_gold_questions(tables: Tables) -> pa.Table:
    """One row a gold row; ``split_known``: its question has a split."""
    gold = tables["gold"]
    return pa.table({"question_id": gold["question_id"], "item_id": gold["item_id"],
                     "split_known": is_known(gold["question_id"], tables["splits"], "question_id")})


def tabulate_splits(tables: Tables) -> pa.Table:
    """One row a question of a split."""
    return tables["splits"].select(["question_id", "split"])


def _sides_of_questions(tables: Tables) -> dict[str, set[str]]:
    """The splits that each question is in."""
    sides: dict[str, set[str]] = {}
    splits = tables["splits"]
    for q, s in zip(splits["question_id"].to_pylist(), splits["split"].to_pylist(), strict=True):
        sides.setdefault(q, set()).add(str(s))
    return sides


def _sides_of_items(tables: Tables) -> dict[str, set[str]]:
    """The splits that each gold item's questions are in."""
    of_questions, gold = _sides_of_questions(tables), tables["gold"]
    sides: dict[str, set[str]] = {}
    for q, i in zip(gold["question_id"].to_pylist(), gold["item_id"].to_pylist(), strict=True):
        sides.setdefault(i, set()).update(of_questions.get(q, ()))
    return sides


def tabulate_gold_items(tables: Tables) -> pa.Table:
    """One row a gold item, with the number of splits that its questions are in."""
    rows = ((i, ", ".join(sorted(s)), len(s)) for i, s in _sides_of_items(tables).items())
    return from_rows({"item_id": pa.string(), "splits": pa.string(), "sides": pa.int64()}, rows)


def tabulate_gold_groups(tables: Tables) -> pa.Table:
    """One row a group of gold items that say the same or hold one another, with the number of splits it touches."""
    return _tabulate_groups(tables["groups"], "item", "items", _sides_of_items(tables))


def tabulate_question_groups(tables: Tables) -> pa.Table:
    """One row a group of near-duplicate questions, with the number of splits it touches."""
    return _tabulate_groups(tables["groups"], "question", "questions", _sides_of_questions(tables))


def _tabulate_groups(rows: pa.Table, kind: str, column: str, own: Mapping[str, set[str]]) -> pa.Table:
    """Groups of a kind, each member with its sides: its own benchmark's say ``own``, others' stand in the row."""
    groups: dict[int, list[tuple[str, str]]] = {}
    for row in rows.to_pylist():
        if row["kind"] == kind:
            sides = own.get(row["id"], set()) if row["sides"] is None else row["sides"]
            name = row["id"] if row["id"].startswith(f"{row['benchmark']}/") else f"{row['benchmark']}: {row['id']}"
            groups.setdefault(row["group"], []).append((name, ", ".join(sorted(sides))))

    def list_members(members: list[tuple[str, str]]) -> str:
        first = dict(reversed([(sides, n) for n, (_, sides) in enumerate(members)]))  # the first of each side
        order = [*sorted(first.values()), *(n for n in range(len(members)) if n not in first.values())]
        more = len(members) - _LISTED_IDS
        text = ", ".join(f"{members[n][0]} ({members[n][1] or 'no split'})" for n in order[:_LISTED_IDS])
        return text + (f" and {more} more" if more > 0 else "")

    columns = {column: pa.string(), "splits": pa.string(), "sides": pa.int64()}
    listed = ((list_members(m), sorted({s for _, sides in m for s in sides.split(", ") if s})) for m in groups.values())
    return from_rows(columns, ((text, ", ".join(sides), len(sides)) for text, sides in listed))


def _mix(values: Iterable[tuple[str, str]], column: str) -> pa.Table:
    """Shares of each value on the two sides from (side, value) pairs; empty if a side has nothing.

    ``beyond`` is by how much their difference passes what chance and a component's size explain.
    """
    counts = Counter(values)
    total = {side: sum(n for (s, _), n in counts.items() if s == side) for side in ("train", "test")}
    rows: list[tuple[Any, ...]] = []
    for value in sorted({v for _, v in counts}) if all(total.values()) else ():
        train, test = (counts[side, value] / total[side] for side in ("train", "test"))
        share = (counts["train", value] + counts["test", value]) / sum(total.values())
        error = (share * (1 - share) * (1 / total["train"] + 1 / total["test"])) ** 0.5
        rows.append((value, train, test, abs(train - test) - max(_MARGIN, _ERRORS * error)))
    return from_rows(
        {column: pa.string(), "train_share": pa.float64(), "test_share": pa.float64(), "beyond": pa.float64()}, rows)


def tabulate_modality_mix(tables: Tables) -> pa.Table:
    """One row a modality of gold items: its share of gold rows in train and in test."""
    sides, gold = _sides_of_questions(tables), tables["gold"]
    rows = zip(gold["question_id"].to_pylist(), gold["modality"].to_pylist(), strict=True)
    return _mix(((s, str(m)) for q, m in rows for s in sides.get(q, ())), "modality")


def answer_type(answers: Sequence[str] | None) -> str:
    """The type of a question's first answer: ``none``, ``yes or no``, ``number``, ``option`` (A to E) or ``words``."""
    first = (answers[0] or "").strip() if answers else ""
    if not first:
        return "none"
    if first.casefold() in ("yes", "no"):
        return "yes or no"
    if _NUMBER.fullmatch(first):
        return "number"
    return "option" if len(first) == 1 and first in "ABCDE" else "words"


def tabulate_answer_mix(tables: Tables) -> pa.Table:
    """One row a type of answer: its share of questions in train and in test."""
    sides, questions = _sides_of_questions(tables), tables["questions"]
    rows = zip(questions["id"].to_pylist(), questions["answers"].to_pylist(), strict=True)
    return _mix(((s, answer_type(a)) for q, a in rows for s in sides.get(q, ())), "answer_type")
