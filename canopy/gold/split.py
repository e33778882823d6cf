"""A benchmark's own split: train/test by connected component of questions and gold items.

No gold item, nor one that says the same, is ever on both sides. `canopy.gold.joint` joins the splits of several
benchmarks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from canopy.corpus.groups import Groups
from canopy.digests import text_key
from canopy.errors import DataError
from canopy.gold.sharing import Member
from canopy.items import Question

SPLIT_SCHEMA = pa.schema([("question_id", pa.string()), ("split", pa.string())])


def connect(pairs: Iterable[tuple[Member, Member]], groups: Iterable[Sequence[Member]]) -> Groups[Member]:
    """The graph whose edges are (question, gold item) pairs and the members of groups that may not be parted."""
    connected = Groups[Member]()
    for q, i in pairs:
        connected.join(i, q)
    for group in groups:
        for other in group[1:]:
            connected.join(group[0], other)
    return connected


def components(connected: Groups[Member], questions: Sequence[Member]) -> dict[Member, int]:
    """Number the connected components that hold a question, in question order."""
    numbers: dict[Member, int] = {}
    return {q: numbers.setdefault(connected.root(q), len(numbers)) for q in questions}


def split_questions(component: Mapping[str, int], test_share: float, seed: int,
                    train_only: Collection[str] = ()) -> dict[str, str]:
    """Give whole components to test until ``test_share`` of the questions is reached, in an order drawn by the seed.

    The order is a hash of the seed and the component's least question id, so that adding questions elsewhere moves
    few components. A component that would overshoot the share by more than it closes the gap goes to train.

    Parameters
    ----------
    component : mapping
        Question id to the number of its component.
    train_only : collection of str
        Questions whose components go to train.
    """
    members: dict[int, list[str]] = {}
    for q, c in component.items():
        members.setdefault(c, []).append(q)
    kept = {component[q] for q in train_only}
    order = sorted(members.items(), key=lambda entry: text_key(f"{seed}\x1f{min(entry[1])}"))
    target, size = test_share * len(component), 0
    side: dict[str, str] = {}
    for c, qs in order:
        test = c not in kept and size < target and abs(size + len(qs) - target) <= abs(size - target)
        size += len(qs) if test else 0
        side.update((q, "test" if test else "train") for q in qs)
    return {q: side[q] for q in component}


def official_sides(questions: Sequence[Question], use_official: bool) -> dict[str, str] | None:
    """The split that the data brings, by question id; None if it brings none.

    The data brings one if every question says train or test, or if ``use_official`` is set. An official split may
    share gold between its sides; the stage's validation then stops the run and says so.

    Raises
    ------
    DataError
        If only some questions say train or test, or the official split is asked for and a question has none.
    """
    labelled = [q for q in questions if q.split in ("train", "test")]
    # Official test sets have names such as "annotated test" and "blind test"; development sets count as test too.
    side = {q.id: "test" if q.split in ("dev", "validation") or q.split.endswith("test") else q.split
            for q in questions}
    bare = [q for q in questions if side[q.id] not in ("train", "test")]
    if use_official and bare:
        raise DataError(f"split.use_official is set, but {len(bare)} of {len(questions)} questions have no split, "
                        f"the first {bare[0].id!r}")
    # HotpotQA's and OTT-QA's own files say train and dev; only a folder of the user's says test.
    if any(q.split == "test" for q in questions) and len(labelled) < len(questions):
        silent = next(q.id for q in questions if q.split not in ("train", "test"))
        raise DataError(f"{len(labelled)} of {len(questions)} questions say train or test; {silent!r} does not: "
                        "give a split to all or to none")
    complete = questions and len(labelled) == len(questions) and any(q.split == "test" for q in questions)
    return side if use_official or complete else None
