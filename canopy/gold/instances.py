"""Training instances: at which nodes of a gold item must something score above something else (paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from canopy.hierarchy.tree import build_tree

INSTANCE_SCHEMA = pa.schema([
    ("question_id", pa.string()), ("item_id", pa.string()), ("group", pa.int32()), ("modality", pa.string()),
    ("split", pa.string()), ("count", pa.int32()), ("node", pa.int32()), ("lo", pa.int32()), ("hi", pa.int32()),
    ("depth", pa.int32()), ("fully_gold", pa.bool_()), ("child_nodes", pa.list_(pa.int32())),
    ("child_gold", pa.list_(pa.bool_())),
])


def item_instances(count: int, fragments: Iterable[int], branching: int) -> list[dict[str, Any]]:
    """The instances of one gold item: V = internal nodes that overlap the gold and have no proper ancestor that is
    fully gold.

    At a fully gold v, v must beat each child. Elsewhere gold-overlapping children must beat v, v the other children,
    and gold-overlapping children the others.

    Returns
    -------
    list of dict
        One a node of V, in level order, with ``child_gold`` aligned to ``child_nodes``.
    """
    tree = build_tree(count, branching)
    gold = np.zeros(count + 1, dtype=np.int64)
    gold[1:] = np.cumsum(np.isin(np.arange(count), np.fromiter(fragments, dtype=np.int64)))
    touched = gold[tree.hi] - gold[tree.lo]
    full = touched == tree.hi - tree.lo
    closed = np.zeros(len(tree), dtype=bool)
    out = []
    for v in range(len(tree)):
        above = tree.parent[v]
        closed[v] = above >= 0 and (closed[above] or full[above])
        if closed[v] or not touched[v] or tree.hi[v] - tree.lo[v] < 2:
            continue
        kids = tree.children(v)
        out.append({"node": v, "lo": int(tree.lo[v]), "hi": int(tree.hi[v]), "depth": int(tree.depth[v]),
                    "fully_gold": bool(full[v]),
                    "child_nodes": kids.tolist(), "child_gold": (touched[kids] > 0).tolist()})
    return out


def build_instances(gold: Iterable[Mapping[str, Any]], split: Mapping[str, str],
                    branching: int) -> list[dict[str, Any]]:
    """Instances of all located gold rows.

    An item that is gold whole because its gold could not be located gives none.
    """
    out = []
    for g in gold:
        if g["coverage"] != "located" or g["count"] < 2:
            continue
        for instance in item_instances(g["count"], g["fragments"], branching):
            out.append({"question_id": g["question_id"], "item_id": g["item_id"], "group": g["group"],
                        "modality": g["modality"],
                        "split": split[g["question_id"]], "count": g["count"], **instance})
    return out
