"""The split over all benchmarks at once: training pools them, so gold of one benchmark's test questions trains none.

Every benchmark is split alone first. Where questions of several benchmarks hang together through their gold, they
all go to one side, by rules that look at nothing else:

1. An official split stays as it is, and the other questions follow it.
2. A question that something shipped with canopy was fitted on keeps the others in train.
3. Otherwise the side wins that more of the questions have alone; if as many have either, the side of the part that
   the seed draws.

So a benchmark that is added, or taken away, moves a question only where it joins that question, by gold of its own or
as a bridge, to one that has the other side; the order of the benchmarks does not matter. If nearly all questions hang
together they are all on one side, train if ``split.test_share`` is below a half: what lies outside is the test side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from canopy.digests import text_key, text_sha256
from canopy.gold.sharing import Member, find_groups
from canopy.gold.split import components, connect, split_questions
from canopy.gold.texts import GoldText
from canopy.items import Question

COMPONENT_SCHEMA = pa.schema([
    ("question_id", pa.string()), ("component", pa.int32()), ("alone", pa.string()), ("others", pa.list_(pa.string())),
    ("through", pa.list_(pa.string())), ("fitted", pa.bool_())])


@dataclass(frozen=True, slots=True)
class BenchmarkGold:
    """What the split knows of a benchmark.

    ``pairs`` are (question id, gold item id); ``official`` the sides that the data brings, None if it brings none.
    """

    questions: Sequence[Question]
    pairs: Sequence[tuple[str, str]]
    texts: Sequence[GoldText]
    official: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a question is put.

    ``alone``: its side without the other benchmarks. ``component``: a number within its benchmark, in question
    order. ``others``: the other benchmarks that it hangs together with; ``through``: gold or questions that join it
    to one of them, as an example; ``fitted``: whether its component is in train, or should be, for what was fitted.
    """

    question_id: str
    split: str
    alone: str
    component: int
    others: tuple[str, ...] = ()
    through: tuple[Member, ...] = ()
    fitted: bool = False


@dataclass(slots=True)
class JointSplit:
    """Placements by benchmark, questions in their order, and groups of what may not be on both sides.

    ``sides``: those of every question, and of the questions of every gold item.
    """

    placements: dict[str, list[Placement]]
    groups: list[list[Member]]
    sides: dict[Member, set[str]]


def join_splits(benchmarks: Mapping[str, BenchmarkGold], *, test_share: float, seed: int, threshold: float,
                fitted: frozenset[str] = frozenset()) -> JointSplit:
    """Split the questions of all benchmarks.

    Parameters
    ----------
    benchmarks : mapping
        By name; their order does not matter.
    test_share, seed, threshold
        ``split.test_share``, ``split.seed`` and ``split.near_duplicates`` of params.yaml.
    fitted : frozenset of str
        ``canopy.digests.text_sha256`` of the questions that something shipped with canopy was fitted on.
    """
    benchmarks = dict(sorted(benchmarks.items()))
    questions = [Member("question", b, q.id) for b, gold in benchmarks.items() for q in gold.questions]
    teaching = {Member("question", b, q.id) for b, gold in benchmarks.items() for q in gold.questions
                if text_sha256(q.question) in fitted}
    lone: dict[Member, _Lone] = {}
    for b, gold in benchmarks.items():
        lone |= _split_alone(b, gold, test_share, seed, threshold, teaching)
    pairs = [pair for b, gold in benchmarks.items() for pair in _pairs(b, gold)]
    groups = find_groups({b: gold.questions for b, gold in benchmarks.items()},
                         {b: gold.texts for b, gold in benchmarks.items()}, threshold)
    connected = connect(pairs, groups)
    component = components(connected, questions)
    members: dict[int, list[Member]] = {}
    for q in questions:
        members.setdefault(component[q], []).append(q)
    side = {n: _choose_side(qs, lone, teaching, seed) for n, qs in members.items()}
    names = {n: {q.benchmark for q in qs} for n, qs in members.items()}
    taught = {n for n, qs in members.items() if not teaching.isdisjoint(qs)}
    bridges = _find_bridges(groups)
    # Of a component and a benchmark: shown where a question's own gold joins nothing.
    first: dict[tuple[Member, str], tuple[Member, Member]] = {}
    for member, other in sorted(bridges.items()):
        first.setdefault((connected.root(member), member.benchmark), (member, other))
    near: dict[Member, set[Member]] = {q: {q} for q in questions}
    for q, i in pairs:
        near.setdefault(q, set()).add(i)
    placements: dict[str, list[Placement]] = {b: [] for b in benchmarks}
    sides: dict[Member, set[str]] = {}
    numbers: dict[str, dict[int, int]] = {b: {} for b in benchmarks}
    for q in questions:
        n, own = component[q], numbers[q.benchmark]
        own_bridge = [(m, bridges[m]) for m in sorted(near[q]) if m in bridges]
        through = own_bridge[0] if own_bridge else first.get((connected.root(q), q.benchmark), ())
        place = Placement(
            q.id, lone[q].side if lone[q].official else side[n], lone[q].side, own.setdefault(n, len(own)),
            tuple(sorted(names[n] - {q.benchmark})), through, n in taught)
        placements[q.benchmark].append(place)
        for member in near[q]:
            sides.setdefault(member, set()).add(place.split)
    return JointSplit(placements, groups, sides)


def _find_bridges(groups: Sequence[Sequence[Member]]) -> dict[Member, Member]:
    """Each member of a group that spans benchmarks, and the group's first member of another benchmark."""
    bridges = {}
    for group in groups:
        first: dict[str, Member] = {}
        for m in group:
            first.setdefault(m.benchmark, m)
        if len(first) > 1:
            for m in group:
                bridges[m] = next(other for b, other in first.items() if b != m.benchmark)
    return bridges


class _Lone(NamedTuple):
    """A question without the other benchmarks: its side, whether the data says it, and its component's least id."""

    side: str
    official: bool
    part: str


def _pairs(name: str, gold: BenchmarkGold) -> list[tuple[Member, Member]]:
    return [(Member("question", name, q), Member("item", name, i)) for q, i in gold.pairs]


def _split_alone(name: str, gold: BenchmarkGold, test_share: float, seed: int, threshold: float,
                 teaching: Collection[Member]) -> dict[Member, _Lone]:
    """One benchmark's own split."""
    questions = [Member("question", name, q.id) for q in gold.questions]
    groups = find_groups({name: gold.questions}, {name: gold.texts}, threshold)
    component = components(connect(_pairs(name, gold), groups), questions)
    least: dict[int, str] = {}
    for q, n in component.items():
        least[n] = min(q.id, least.get(n, q.id))
    own = split_questions({q.id: n for q, n in component.items()}, test_share, seed,
                          {q.id for q in questions if q in teaching})
    sides = own if gold.official is None else gold.official
    return {q: _Lone(sides[q.id], gold.official is not None, least[component[q]]) for q in questions}


def _choose_side(questions: Sequence[Member], lone: Mapping[Member, _Lone], teaching: Collection[Member],
                 seed: int) -> str:
    """The side of a component's questions, but for those of an official split."""
    official = {lone[q].side for q in questions if lone[q].official}
    if official:
        return "train" if "train" in official else "test"
    if any(q in teaching for q in questions):
        return "train"
    votes = Counter(lone[q].side for q in questions)
    if votes["train"] != votes["test"]:
        return "train" if votes["train"] > votes["test"] else "test"
    return lone[min(questions, key=lambda q: text_key(f"{seed}\x1f{q.benchmark}\x1f{lone[q].part}"))].side
