"""Train/test by connected component of questions and gold items.

No gold item, nor one that says the same, is ever on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from canopy.corpus.duplicates import comparable, near_duplicate_groups
from canopy.corpus.groups import Groups
from canopy.digests import text_key
from canopy.items import Item, Question

SPLIT_SCHEMA = pa.schema([("question_id", pa.string()), ("split", pa.string()), ("component", pa.int32())])
DUPLICATE_SCHEMA = pa.schema([("kind", pa.string()), ("group", pa.int32()), ("id", pa.string())])


def find_duplicates(questions: Sequence[Question], gold_items: Sequence[Item],
                    threshold: float) -> list[dict[str, Any]]:
    """Groups of questions and of gold items that say the same, one row a member; none with threshold 0.

    Items of different modalities are never compared: a table and a text that list the same names are no copies of each
    other.
    """
    kinds = [("question", {q.id: q.question for q in questions})]
    kinds += [("item", {i.id: comparable(i) for i in gold_items if i.modality == m})
              for m in dict.fromkeys(i.modality for i in gold_items)]
    groups = [(kind, ids) for kind, texts in kinds for ids in (near_duplicate_groups(texts, threshold) if threshold
                                                               else ())]
    return [{"kind": kind, "group": n, "id": i} for n, (kind, ids) in enumerate(groups) for i in ids]


def same_sayings(pairs: Iterable[tuple[str, str]], duplicates: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(question, gold item) pairs with a group's items as one item, and one more item that the questions of a group
    share."""
    as_one: dict[str, str] = {}
    shared = []
    for d in duplicates:
        name = f"\x1f{d['kind']} group {d['group']}"
        if d["kind"] == "item":
            as_one[d["id"]] = name
        else:
            shared.append((d["id"], name))
    return [*((q, as_one.get(i, i)) for q, i in pairs), *shared]


def components(pairs: Iterable[tuple[str, str]], questions: Sequence[str]) -> dict[str, int]:
    """Number the connected components of the graph whose edges are (question, gold item) pairs, in question order."""
    connected = Groups[tuple[str, str]]()
    for q, i in pairs:
        connected.join(("i", i), ("q", q))
    numbers: dict[tuple[str, str], int] = {}
    return {q: numbers.setdefault(connected.root(("q", q)), len(numbers)) for q in questions}


def split_questions(component: Mapping[str, int], test_share: float, seed: int) -> dict[str, str]:
    """Give whole components to test until ``test_share`` of the questions is reached, in an order drawn by the seed.

    The order is a hash of the seed and the component's least question id, so that adding questions elsewhere moves
    few components. A component that would overshoot the share by more than it closes the gap goes to train.
    """
    members: dict[int, list[str]] = {}
    for q, c in component.items():
        members.setdefault(c, []).append(q)
    order = sorted(members.values(), key=lambda qs: text_key(f"{seed}\x1f{min(qs)}"))
    target, size = test_share * len(component), 0
    side: dict[str, str] = {}
    for qs in order:
        test = size < target and abs(size + len(qs) - target) <= abs(size - target)
        size += len(qs) if test else 0
        side.update((q, "test" if test else "train") for q in qs)
    return {q: side[q] for q in component}
