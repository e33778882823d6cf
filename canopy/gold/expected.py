"""Counts that benchmarks' publishers and the paper state, to print beside what was found in a release folder.

Never figures of a run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, TypedDict

from canopy.gold.selection import located_questions
from canopy.items import Question

Source = Literal["the release", "the paper"]
Counted = Literal["questions", "located questions", "train side", "test side", "gold sources", "videos", "video items"]
# all benchmarks together (paper, section 4)
PAPER_TRAINING: Mapping[str, int] = {"questions": 4_162, "instances": 18_575}
_SIDES: Mapping[str, str] = {"train side": "train", "test side": "test"}
_SEGMENT = re.compile(r"(?:[_-]\d+(?:\.\d+)?){1,2}$")


class Comparison(TypedDict):
    """A published count beside what was found here; ``found`` is None if it was not counted."""

    what: str
    published: int
    source: Source
    found: int | None


@dataclass(frozen=True, slots=True)
class Expected:
    """A published count: what it is of, who states it, and how the same is counted here.

    ``counted`` questions and what is derived from them are those of ``split`` (empty: all). ``gold sources``: documents
    that gold items of theirs come from; ``train side`` and ``test side``: of the split that is used.
    """

    what: str
    published: int
    source: Source
    counted: Counted = "questions"
    split: str = ""


def compare_counts(published: Iterable[Expected], questions: Sequence[Question], mapped: Collection[str],
                   rows: Iterable[Mapping[str, Any]],
                   sources: Mapping[str, str], videos: Sequence[str]) -> list[Comparison]:
    """Published counts of a benchmark beside what was mapped here: rows of ``what``, ``published``, ``source``,
    ``found``; those of a split's sides are `compare_sides`'.

    Parameters
    ----------
    published : iterable of Expected
        The counts that the benchmark's adapter declares.
    questions : sequence of Question
        All that were read, before any selection.
    mapped : collection of str
        Ids of those whose gold was mapped. If it was not mapped for all that a count is of, ``found`` is None.
    rows : iterable of dict
        Their gold rows (``canopy.gold.fragments.map_annotations``).
    sources : mapping
        Gold item id to the document it comes from.
    videos : sequence of str
        Media paths of the benchmark's video items.
    """
    rows = list(rows)
    located = located_questions(rows)
    comparison: list[Comparison] = []
    for e in published:
        if e.counted in _SIDES:
            continue
        of = {q.id for q in questions if not e.split or q.split == e.split}
        counts: dict[str, int | None] = {
            "questions": len(of), "video items": len(videos),
            "videos": len({_SEGMENT.sub("", PurePosixPath(v).stem) for v in videos})}
        if of <= set(mapped):
            counts["located questions"] = sum(located.get(q, False) for q in of)
            counts["gold sources"] = len({sources[r["item_id"]] for r in rows if r["question_id"] in of})
        comparison.append({"what": e.what, "published": e.published, "source": e.source,
                           "found": counts.get(e.counted)})
    return comparison


def compare_sides(published: Iterable[Expected], side: Mapping[str, str]) -> list[Comparison]:
    """Published counts of a benchmark's train and test questions beside those of the split that is used.

    Parameters
    ----------
    side : mapping
        Question id to ``train`` or ``test``.
    """
    return [{"what": e.what, "published": e.published, "source": e.source,
             "found": sum(s == _SIDES[e.counted] for s in side.values())} for e in published if e.counted in _SIDES]
