"""What the rules judge: small tables made from a stage's tables, one row a thing that can be right or wrong.

A rule that spans several tables (a gold item must be in the data) becomes a column of such a table, so that the plain check and the
suite generated for another tool look at the same rows. None of them holds an item's text: they stay small whatever the corpus.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Tables = Mapping[str, pa.Table]
_UNIT_OF = {"chars": "text", "rows": "table", "seconds": "video"}
_NUMBER = re.compile(r"[-+$€£(\s]*\d[\d,. ]*\s*(%|\)|percent|million|billion|thousand)*", re.I)
# Shares of two sides may differ by this much, or by three standard errors where few questions make them uncertain.
_MARGIN, _ERRORS = 0.15, 3.0


def _words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Characters of each text without the white space around it; null counts as empty."""
    return pc.utf8_length(pc.utf8_trim_whitespace(pc.fill_null(column, "")))


def _count(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.list_value_length(column), 0)


def _known(ids: pa.ChunkedArray, table: pa.Table, column: str = "id") -> pa.ChunkedArray:
    return pc.is_in(ids, value_set=pc.unique(table[column]))


def _looked_up(ids: pa.ChunkedArray, table: pa.Table, column: str, key: str = "id") -> pa.ChunkedArray:
    """The column's values for each id, null for an unknown id; of rows that share an id the first counts."""
    return pc.take(table[column], pc.index_in(ids, value_set=table[key].combine_chunks()))


def _sizes(items: pa.Table) -> pa.Array:
    """How long each item is in its own unit (characters, rows, seconds); 0 for an image, which has no parts."""
    kinds = [pc.equal(items["modality"], m) for m in ("text", "table", "video")]
    flags = pa.StructArray.from_arrays([pc.fill_null(k, False).combine_chunks() for k in kinds], names=["text", "table", "video"])
    lengths = [pc.utf8_length(pc.fill_null(items["text"], "")), _count(items["rows"]), items["duration"]]
    return pc.case_when(flags, *[pc.cast(x, pa.float64()).combine_chunks() for x in lengths], pa.scalar(0.0))


def judged_items(tables: Tables) -> pa.Table:
    """One row an item; ``content`` counts its characters, rows or seconds (an image has its file)."""
    items = tables["items"]
    blank = pc.and_(pc.equal(items["modality"], "text"), pc.equal(_words(items["text"]), 0))
    sizes = pc.if_else(pc.equal(items["modality"], "image"), 1.0, _sizes(items))
    return pa.table({"id": items["id"], "modality": items["modality"], "content": pc.if_else(pc.fill_null(blank, False), 0.0, sizes)})


def judged_questions(tables: Tables) -> pa.Table:
    """One row a question; ``words`` is its length, ``answers`` how many it has, ``blank_answers`` how many of them say nothing."""
    questions = tables["questions"]
    answers = questions["answers"].combine_chunks()
    at = pc.list_parent_indices(answers).to_numpy(zero_copy_only=False)
    blank = pc.equal(_words(pa.chunked_array([pc.list_flatten(answers)], type=pa.string())), 0).to_numpy(zero_copy_only=False).astype(bool)
    return pa.table({"id": questions["id"], "words": _words(questions["question"]), "answers": _count(questions["answers"]),
                     "blank_answers": np.bincount(at[blank], minlength=questions.num_rows).astype(np.int64)})


def judged_annotations(tables: Tables) -> pa.Table:
    """One row an annotation: whether its item and its question are there, and whether its unit is one of the item's modality."""
    said = tables["annotations"]
    units = pa.table({"unit": list(_UNIT_OF), "modality": list(_UNIT_OF.values())})
    fits = pc.equal(_looked_up(said["unit"], units, "modality", "unit"), _looked_up(said["item_id"], tables["items"], "modality"))
    return pa.table({"question_id": said["question_id"], "item_id": said["item_id"], "unit": said["unit"],
                     "item_known": _known(said["item_id"], tables["items"]), "question_known": _known(said["question_id"], tables["questions"]),
                     "unit_fits": pc.or_kleene(pc.equal(said["unit"], "item"), pc.fill_null(fits, False))})


def judged_spans(tables: Tables) -> pa.Table:
    """One row a gold span; ``outside`` is by how much it lies before, after or beyond its item, 0 or less where it lies inside."""
    said = tables["annotations"]
    spans = said["spans"].combine_chunks()
    at, flat = pc.list_parent_indices(spans), pc.list_flatten(spans)
    start, end = pc.list_element(flat, 0), pc.list_element(flat, 1)
    item = pc.take(said["item_id"], at)
    size = pc.take(_sizes(tables["items"]), pc.index_in(item, value_set=tables["items"]["id"].combine_chunks()))
    wrong = [pc.negate(start), pc.subtract(start, end), pc.subtract(end, size)]
    return pa.table({"question_id": pc.take(said["question_id"], at), "item_id": item, "start": start, "end": end, "item_ends": size,
                     "outside": pc.max_element_wise(*wrong, skip_nulls=False)})


def judged_modalities(tables: Tables) -> pa.Table:
    """One row a modality that items have, with how many of its items are gold of some question."""
    items, said = tables["items"], tables["annotations"]
    gold = set(pc.unique(said["item_id"]).to_pylist())
    of = items.filter(_known(items["id"], said, "item_id"))["modality"].to_pylist() if gold else []
    counts, golden = Counter(items["modality"].to_pylist()), Counter(of)
    names = sorted(counts, key=str)
    return pa.table({"modality": pa.array(names, pa.string()), "items": [counts[m] for m in names], "gold_items": [golden[m] for m in names]},
                    schema=pa.schema([("modality", pa.string()), ("items", pa.int64()), ("gold_items", pa.int64())]))


def judged_gold(tables: Tables) -> pa.Table:
    """One row a gold row; ``inside``: its fragments are numbers from 0 to the item's count, at least one; ``split_known``: of its question."""
    gold = tables["gold"]
    inside = [bool(f) and n is not None and min(f) >= 0 and max(f) < n
              for f, n in zip(gold["fragments"].to_pylist(), gold["count"].to_pylist(), strict=True)]
    return pa.table({"question_id": gold["question_id"], "item_id": gold["item_id"], "fragments": gold["fragments"], "count": gold["count"],
                     "inside": pa.array(inside, pa.bool_()), "split_known": _known(gold["question_id"], tables["splits"], "question_id")})


def judged_splits(tables: Tables) -> pa.Table:
    """One row a question of a split."""
    return tables["splits"].select(["question_id", "split"])


def _sides(tables: Tables) -> dict[str, set[str]]:
    """The splits that each question is in."""
    sides: dict[str, set[str]] = {}
    for q, s in zip(tables["splits"]["question_id"].to_pylist(), tables["splits"]["split"].to_pylist(), strict=True):
        sides.setdefault(q, set()).add(str(s))
    return sides


def judged_gold_items(tables: Tables) -> pa.Table:
    """One row a gold item, with the number of splits that its questions are in."""
    sides, seen = _sides(tables), {}
    for q, i in zip(tables["gold"]["question_id"].to_pylist(), tables["gold"]["item_id"].to_pylist(), strict=True):
        seen.setdefault(i, set()).update(sides.get(q, ()))
    return _rows({"item_id": pa.string(), "splits": pa.string(), "sides": pa.int64()},
                 ((i, ", ".join(sorted(s)), len(s)) for i, s in seen.items()))


def judged_duplicates(tables: Tables) -> pa.Table:
    """One row a group of near-duplicate questions or gold items, with the number of splits it touches."""
    sides, of_item = _sides(tables), {}
    for q, i in zip(tables["gold"]["question_id"].to_pylist(), tables["gold"]["item_id"].to_pylist(), strict=True):
        of_item.setdefault(i, set()).update(sides.get(q, ()))
    groups: dict[tuple[str, int], tuple[list[str], set[str]]] = {}
    for row in tables["duplicates"].to_pylist():
        ids, touched = groups.setdefault((row["kind"], row["group"]), ([], set()))
        ids.append(row["id"])
        touched.update((of_item if row["kind"] == "item" else sides).get(row["id"], ()))
    return _rows({"kind": pa.string(), "ids": pa.string(), "splits": pa.string(), "sides": pa.int64()},
                 ((kind, ", ".join(map(str, ids[:5])) + (f" and {len(ids) - 5} more" if len(ids) > 5 else ""), ", ".join(sorted(s)), len(s))
                  for (kind, _), (ids, s) in groups.items()))


def _mix(values: Iterable[tuple[str, str]], column: str) -> pa.Table:
    """Shares of each value on the two sides from (side, value) pairs; ``beyond`` is by how much their difference passes what chance and
    a component's size explain. Empty where a side has nothing."""
    counts = Counter(values)
    of = {side: sum(n for (s, _), n in counts.items() if s == side) for side in ("train", "test")}
    rows: list[tuple[Any, ...]] = []
    for value in sorted({v for _, v in counts}) if all(of.values()) else ():
        train, test = (counts[side, value] / of[side] for side in ("train", "test"))
        share = (counts["train", value] + counts["test", value]) / sum(of.values())
        error = (share * (1 - share) * (1 / of["train"] + 1 / of["test"])) ** 0.5
        rows.append((value, train, test, abs(train - test) - max(_MARGIN, _ERRORS * error)))
    return _rows({column: pa.string(), "train_share": pa.float64(), "test_share": pa.float64(), "beyond": pa.float64()}, rows)


def judged_modality_mix(tables: Tables) -> pa.Table:
    """One row a modality of gold items: its share of gold rows in train and in test."""
    sides, gold = _sides(tables), tables["gold"]
    return _mix(((s, str(m)) for q, m in zip(gold["question_id"].to_pylist(), gold["modality"].to_pylist(), strict=True)
                 for s in sides.get(q, ())), "modality")


def answer_type(answers: Sequence[str] | None) -> str:
    """What kind of answer a question has, from the first of them: ``none``, ``yes or no``, ``number``, ``option`` (A to E) or ``words``."""
    first = (answers[0] or "").strip() if answers else ""
    if not first:
        return "none"
    if first.casefold() in ("yes", "no"):
        return "yes or no"
    if _NUMBER.fullmatch(first):
        return "number"
    return "option" if len(first) == 1 and first in "ABCDE" else "words"


def judged_answer_mix(tables: Tables) -> pa.Table:
    """One row a type of answer: its share of questions in train and in test."""
    sides, questions = _sides(tables), tables["questions"]
    return _mix(((s, answer_type(a)) for q, a in zip(questions["id"].to_pylist(), questions["answers"].to_pylist(), strict=True)
                 for s in sides.get(q, ())), "answer_type")


def judged_instances(tables: Tables) -> pa.Table:
    """One row an instance; ``preference``: at least two children, one of them gold, all of them where the node is fully gold; ``inside``:
    its fragments lie inside the item; ``key`` names question, item, group and node."""
    rows = tables["instances"].select(["question_id", "item_id", "group", "node", "split", "lo", "hi", "count", "fully_gold",
                                       "child_nodes", "child_gold"]).to_pylist()
    def preference(x: Mapping[str, Any]) -> bool:
        kids, gold = x["child_nodes"] or [], x["child_gold"] or []
        return len(kids) >= 2 and len(kids) == len(gold) and any(gold) and (all(gold) or not x["fully_gold"])

    def inside(x: Mapping[str, Any]) -> bool:
        return None not in (x["lo"], x["hi"], x["count"]) and 0 <= x["lo"] < x["hi"] <= x["count"]

    return _rows({"question_id": pa.string(), "item_id": pa.string(), "node": pa.int64(), "split": pa.string(), "key": pa.string(),
                  "preference": pa.bool_(), "inside": pa.bool_()},
                 ((x["question_id"], x["item_id"], x["node"], x["split"], f"{x['question_id']} | {x['item_id']} | {x['group']} | {x['node']}",
                   preference(x), inside(x)) for x in rows))


def judged_sources(tables: Tables) -> pa.Table:
    """One row an instance: whether its item and its question are in the data."""
    found = tables["instances"]
    return pa.table({"question_id": found["question_id"], "item_id": found["item_id"], "item_known": _known(found["item_id"], tables["items"]),
                     "question_known": _known(found["question_id"], tables["questions"])})


def judged_corpus_gold(tables: Tables) -> pa.Table:
    """One row a gold row: whether its item is in the corpus, itself or through the item that it was folded into."""
    gold, folded = tables["gold"], judged_folds(tables)
    known = pc.or_(_known(gold["item_id"], tables["corpus"]), _known(gold["item_id"], folded.filter(folded["lands"]), "item_id"))
    return pa.table({"question_id": gold["question_id"], "item_id": gold["item_id"], "in_corpus": known})


def judged_folds(tables: Tables) -> pa.Table:
    """One row a folded item; ``lands``: the item it went into is searched, and it is not searched itself."""
    folded, corpus = tables["folded"], tables["corpus"]
    return pa.table({"item_id": folded["item_id"], "into": folded["into"],
                     "lands": pc.and_(_known(folded["into"], corpus), pc.invert(_known(folded["item_id"], corpus)))})


def _rows(columns: Mapping[str, pa.DataType], rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(columns, r, strict=True)) for r in rows], schema=pa.schema(list(columns.items())))


JUDGED: Mapping[str, Callable[[Tables], pa.Table]] = {
    "items": judged_items, "questions": judged_questions, "annotations": judged_annotations, "spans": judged_spans,
    "modalities": judged_modalities, "gold": judged_gold, "splits": judged_splits, "gold_items": judged_gold_items,
    "duplicates": judged_duplicates, "modality_mix": judged_modality_mix, "answer_mix": judged_answer_mix, "instances": judged_instances,
    "sources": judged_sources, "corpus_gold": judged_corpus_gold, "folds": judged_folds,
}
