"""Gold annotations to fragments of their items: what the training instances and the recall are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from canopy.hierarchy.leaves import Leaves, cut_item, gold_fragments
from canopy.items import Annotation, Item

GOLD_SCHEMA = pa.schema([
    ("question_id", pa.string()), ("item_id", pa.string()), ("group", pa.int32()), ("fragments", pa.list_(pa.int32())),
    ("count", pa.int32()), ("modality", pa.string()), ("coverage", pa.string()),
    ("pseudo", pa.bool_()),
])


def map_annotations(annotations: Iterable[Annotation], items: Mapping[str, Item],
                    segment_seconds: float) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Map each question's annotations to fragments, one row per (question, item, group).

    An annotation whose spans touch no fragment counts as gold whole (``coverage`` 'whole'), like one without spans: it
    gives no training instance. Groups of one question that say the same are folded. A row is ``pseudo`` if all of
    its annotations are.

    Returns
    -------
    rows : list of dict
        In the order of the annotations, with ``fragments`` sorted.
    unlocated : list of dict
        Annotations whose spans touch nothing, with the reason.
    """
    merged: dict[tuple[str, str, int], tuple[set[int], str]] = {}
    annotated: set[tuple[str, str, int]] = set()
    leaves: dict[str, Leaves] = {}
    unlocated = []
    for a in annotations:
        item = items[a.item_id]
        if a.item_id not in leaves:
            leaves[a.item_id] = cut_item(item, segment_seconds)
        touched = gold_fragments(item, leaves[a.item_id], a)
        coverage = "whole" if a.unit == "item" else "located"
        if not len(touched):
            unlocated.append({"question_id": a.question_id, "item_id": a.item_id,
                              "reason": f"spans {list(a.spans)} touch none of {leaves[a.item_id].count} fragments"})
            touched, coverage = np.arange(leaves[a.item_id].count), "whole"
        if not a.pseudo:
            annotated.add((a.question_id, a.item_id, a.group))
        entry = merged.setdefault((a.question_id, a.item_id, a.group), (set(), coverage))
        entry[0].update(int(f) for f in touched)
        if coverage == "whole":
            merged[a.question_id, a.item_id, a.group] = (entry[0], "whole")
    evidence: dict[str, dict[int, list[tuple[str, tuple[int, ...]]]]] = {}
    for (q, i, g), (fragments, _) in merged.items():
        evidence.setdefault(q, {}).setdefault(g, []).append((i, tuple(sorted(fragments))))
    repeated = set()
    for q, groups in evidence.items():
        seen: set[Any] = set()
        for g, parts in groups.items():
            group_parts = frozenset(parts)
            if group_parts in seen:
                repeated.add((q, g))
            seen.add(group_parts)
    rows = [{"question_id": q, "item_id": i, "group": g, "fragments": sorted(fragments), "count": leaves[i].count,
             "modality": items[i].modality, "coverage": coverage, "pseudo": (q, i, g) not in annotated}
            for (q, i, g), (fragments, coverage) in merged.items() if (q, g) not in repeated]
    return rows, unlocated
