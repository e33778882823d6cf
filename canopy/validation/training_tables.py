"""The checked tables of training instances and of the corpus: preferences, sources, and folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from canopy.validation.columns import Tables, from_rows, is_known


def _is_preference(row: Mapping[str, Any]) -> bool:
    children, gold = row["child_nodes"] or [], row["child_gold"] or []
    return len(children) >= 2 and len(children) == len(gold) and any(gold) and (all(gold) or not row["fully_gold"])


def _is_inside(row: Mapping[str, Any]) -> bool:
    return None not in (row["lo"], row["hi"], row["count"]) and 0 <= row["lo"] < row["hi"] <= row["count"]


def tabulate_instances(tables: Tables) -> pa.Table:
    """One row an instance.

    ``preference``: at least two children, one of them gold, all of them if the node is fully gold; ``inside``: its
    fragments lie inside the item; ``key`` names question, item, group and node.
    """
    columns = ["question_id", "item_id", "group", "node", "split", "lo", "hi", "count", "fully_gold", "child_nodes",
               "child_gold"]
    rows = []
    for row in tables["instances"].select(columns).to_pylist():
        key = " | ".join(str(row[c]) for c in ("question_id", "item_id", "group", "node"))
        rows.append((row["question_id"], row["item_id"], row["node"], row["split"], key, _is_preference(row),
                     _is_inside(row)))
    return from_rows({
        "question_id": pa.string(), "item_id": pa.string(), "node": pa.int64(), "split": pa.string(),
        "key": pa.string(),
        "preference": pa.bool_(), "inside": pa.bool_()}, rows)


def tabulate_sources(tables: Tables) -> pa.Table:
    """One row an instance: whether its item and its question are in the data."""
    instances = tables["instances"]
    return pa.table({
        "question_id": instances["question_id"], "item_id": instances["item_id"],
        "item_known": is_known(instances["item_id"], tables["items"]),
        "question_known": is_known(instances["question_id"], tables["questions"])})


def tabulate_corpus_gold(tables: Tables) -> pa.Table:
    """One row a gold row: whether its item is in the corpus, itself or through its representative."""
    gold, folds = tables["gold"], tabulate_folds(tables)
    direct = is_known(gold["item_id"], tables["corpus"])
    through = is_known(gold["item_id"], folds.filter(folds["lands"]), "item_id")
    return pa.table({"question_id": gold["question_id"], "item_id": gold["item_id"],
                     "in_corpus": pc.or_(direct, through)})


def tabulate_folds(tables: Tables) -> pa.Table:
    """One row a folded item; ``lands``: its representative (``into``) is searched, and it is not searched itself."""
    folded, corpus = tables["folded"], tables["corpus"]
    lands = pc.and_(is_known(folded["into"], corpus), pc.invert(is_known(folded["item_id"], corpus)))
    return pa.table({"item_id": folded["item_id"], "into": folded["into"], "lands": lands})
