"""The gold that answers are measured against. A folded item counts as its representative does."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canopy.corpus.folds import Folds
from canopy.encoder.words import item_words
from canopy.evaluation.metrics import find_answers, matchable
from canopy.gold.kinds import GoldKinds, kinds_of
from canopy.hierarchy.leaves import Leaves
from canopy.items import Item, Question
from canopy.scoring.metric import answer_words

Fragment = tuple[str, int]
# Columns of answers that say what became of the gold, and what stands in them where that is not counted.
OF_GOLD: Mapping[str, float | None] = {"gold_recall": None, "gold_items_found": 0, "gold_items": 0}
Lookup = Callable[[str], tuple[Item, Leaves]]  # item id to the item and its leaves


class Places:
    """Where an item's fragments are found, in the items that retrieval searches.

    An exact duplicate's fragments are its representative's. A near-duplicate's words are aligned with its
    representative's: a fragment is found in all fragments that hold any of its words. A fragment whose words the
    representative lacks stays the near-duplicate's own, and retrieval cannot find it.
    """

    def __init__(self, folds: Folds, look_up: Lookup) -> None:
        self._folds, self._look_up = folds, look_up
        self._aligned: dict[str, list[frozenset[Fragment]]] = {}

    def item(self, item_id: str) -> str:
        """The item that is searched in place of this one."""
        return self._folds.representative(item_id)

    def fragments(self, item_id: str, numbers: Iterable[int]) -> frozenset[Fragment]:
        """An item's fragments as (item searched, fragment)."""
        if item_id not in self._folds.near:
            return frozenset((self._folds.exact_representative(item_id), int(n)) for n in numbers)
        if item_id not in self._aligned:
            self._aligned[item_id] = self._align(item_id)
        return frozenset().union(*(self._aligned[item_id][int(n)] for n in numbers))

    def _align(self, item_id: str) -> list[frozenset[Fragment]]:
        other = self._folds.near[item_id]
        (mine, owner), (theirs, place) = (self._words(i) for i in (item_id, other))
        aligned: list[set[Fragment]] = [set() for _ in range(self._look_up(item_id)[1].count)]
        for a, b, n in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
            for k in range(n):
                aligned[owner[a + k]].add((other, place[b + k]))
        return [frozenset(f) or frozenset({(item_id, n)}) for n, f in enumerate(aligned)]

    def _words(self, item_id: str) -> tuple[list[str], list[int]]:
        each = [answer_words(t) for t in item_words(*self._look_up(item_id))[1]]
        return [w for words in each for w in words], [n for n, words in enumerate(each) for _ in words]


@dataclass(frozen=True, slots=True)
class AnswerGold:
    """The gold of a benchmark's test questions.

    Attributes
    ----------
    fragments, items : mapping
        Question to its alternatives (by group), each the fragments, or items, that retrieval should find, as `Places`
        names them.
    annotations : mapping
        Question to (item, fragments) of its best-annotated group, as annotated: the items under the corpus scope
        ``gold``. The best group has the largest share of located rows; of several, it is the one with the lowest
        number.
    stated : frozenset of str
        Questions of which some gold item states an accepted answer; of questions without gold, those whose answers
        could be stated. Whether the answer is in the evidence is defined for these alone.
    kinds : GoldKinds
        Which questions have annotated gold, and which pseudo-gold.
    """

    fragments: Mapping[str, Mapping[int, frozenset[Fragment]]] = field(default_factory=dict)
    items: Mapping[str, Mapping[int, frozenset[str]]] = field(default_factory=dict)
    annotations: Mapping[str, tuple[tuple[str, tuple[int, ...]], ...]] = field(default_factory=dict)
    stated: frozenset[str] = frozenset()
    kinds: GoldKinds = field(default_factory=GoldKinds)

    def recall(self, question_id: str, kept: frozenset[Fragment]) -> float | None:
        """Share of the gold fragments kept, of the alternative of which most is; None without gold."""
        groups = self.fragments.get(question_id, {})
        return max((len(g & kept) / len(g) for g in groups.values()), default=None)

    def best(self, question_id: str, kept: frozenset[Fragment]) -> frozenset[Fragment]:
        """The gold fragments of the alternative of which the largest share is kept; empty without gold."""
        groups = self.fragments.get(question_id, {})
        return max(groups.values(), key=lambda g: len(g & kept) / len(g), default=frozenset())

    def items_found(self, question_id: str, retrieved: frozenset[str]) -> tuple[int, int]:
        """How many gold items were retrieved, and how many there are, in the alternative with the largest share."""
        groups = self.items.get(question_id, {})
        best = max(groups.values(), key=lambda g: len(g & retrieved) / len(g), default=frozenset())
        return len(best & retrieved), len(best)


def build_gold(rows: Sequence[Mapping[str, Any]], questions: Sequence[Question], places: Places,
               look_up: Lookup) -> AnswerGold:
    """Gather gold rows (as gold_spans writes them) of some questions."""
    ids = {q.id for q in questions}
    groups: dict[str, dict[int, list[Mapping[str, Any]]]] = {}
    for r in rows:
        if r["question_id"] in ids:
            groups.setdefault(r["question_id"], {}).setdefault(int(r["group"]), []).append(r)
    fragments, items, annotations = {}, {}, {}
    for q, of in groups.items():
        of = dict(sorted(of.items()))
        fragments[q] = {g: frozenset().union(*(places.fragments(r["item_id"], r["fragments"]) for r in rs))
                        for g, rs in of.items()}
        items[q] = {g: frozenset(places.item(r["item_id"]) for r in rs) for g, rs in of.items()}
        best = max(of.values(), key=lambda rs: sum(r["coverage"] == "located" for r in rs) / len(rs))
        annotations[q] = tuple((r["item_id"], tuple(int(f) for f in r["fragments"])) for r in best)
    stated = frozenset(q.id for q in questions if _is_stated(q, groups.get(q.id, {}), look_up))
    return AnswerGold(fragments, items, annotations, stated, kinds_of(r for of in groups.values() for rs in of.values()
                                                                      for r in rs))


def leave_out(rows: Sequence[Mapping[str, Any]], questions: Collection[str]) -> Sequence[Mapping[str, Any]]:
    """Rows of answers, with nothing said of the gold of some questions."""
    if not questions:
        return rows
    return [{**r, **OF_GOLD} if r["question_id"] in questions else r for r in rows]


def _is_stated(question: Question, groups: Mapping[int, Sequence[Mapping[str, Any]]], look_up: Lookup) -> bool:
    """Whether some gold item states an accepted answer; without gold, whether there is an answer to look for."""
    answers = matchable(question.answers)
    if not groups or not answers:
        return bool(answers)
    for item_id in dict.fromkeys(r["item_id"] for rs in groups.values() for r in rs):
        item, leaves = look_up(item_id)
        if find_answers(answers, *item_words(item, leaves), across=item.modality in ("text", "video")):
            return True
    return False
