"""The checked tables of gold and its split: gold rows, sides, near-duplicates, and how alike the two sides are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from canopy.validation.columns import Tables, from_rows, is_known

_NUMBER = re.compile(r"[-+$€£(\s]*\d[\d,. ]*\s*(%|\)|percent|million|billion|thousand)*", re.I)
# Shares of two sides may differ by this much, or by three standard errors if few questions make them uncertain.
_MARGIN, _ERRORS = 0.15, 3.0
_LISTED_IDS = 5


def tabulate_gold(tables: Tables) -> pa.Table:
    """One row a gold row.

    ``inside``: its fragments are numbers from 0 to the item's count, at least one; ``split_known``: its question has
    a split.
    """
    gold = tables["gold"]
    inside = [bool(f) and n is not None and min(f) >= 0 and max(f) < n
              for f, n in zip(gold["fragments"].to_pylist(), gold["count"].to_pylist(), strict=True)]
    return pa.table({
        "question_id": gold["question_id"], "item_id": gold["item_id"], "fragments": gold["fragments"],
        "count": gold["count"], "inside": pa.array(inside, pa.bool_()),
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


def tabulate_duplicates(tables: Tables) -> pa.Table:
    """One row a group of near-duplicate questions or gold items, with the number of splits it touches."""
    of_questions, of_items = _sides_of_questions(tables), _sides_of_items(tables)
    groups: dict[tuple[str, int], tuple[list[str], set[str]]] = {}
    for row in tables["duplicates"].to_pylist():
        ids, sides = groups.setdefault((row["kind"], row["group"]), ([], set()))
        ids.append(row["id"])
        sides.update((of_items if row["kind"] == "item" else of_questions).get(row["id"], ()))

    def join_ids(ids: list[str]) -> str:
        more = len(ids) - _LISTED_IDS
        return ", ".join(map(str, ids[:_LISTED_IDS])) + (f" and {more} more" if more > 0 else "")

    columns = {"kind": pa.string(), "ids": pa.string(), "splits": pa.string(), "sides": pa.int64()}
    return from_rows(columns,
                     ((kind, join_ids(ids), ", ".join(sorted(s)), len(s)) for (kind, _), (ids, s) in groups.items()))


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
