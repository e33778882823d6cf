"""Questions that say the same, and gold items that say the same or hold one another's gold, across benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import pyarrow as pa

from canopy.corpus.containment import contained_texts
from canopy.corpus.duplicates import near_duplicate_groups
from canopy.corpus.groups import Groups
from canopy.gold.texts import GoldText
from canopy.items import Question

# ``sides``: those of another benchmark's member; null for the benchmark's own, whose sides its splits say.
GROUP_SCHEMA = pa.schema([("kind", pa.string()), ("group", pa.int32()), ("benchmark", pa.string()), ("id", pa.string()),
                          ("sides", pa.list_(pa.string()))])


class Member(NamedTuple):
    """A question or a gold item of a benchmark."""

    kind: Literal["question", "item"]
    benchmark: str
    id: str

    @property
    def name(self) -> str:
        """Its id, with its benchmark before it if the id does not begin with that."""
        return self.id if self.id.startswith(f"{self.benchmark}/") else f"{self.benchmark}: {self.id}"


def find_groups(questions: Mapping[str, Sequence[Question]], texts: Mapping[str, Sequence[GoldText]],
                threshold: float) -> list[list[Member]]:
    """Groups of questions and of gold items, of any benchmarks, that may not be on both sides of a split.

    Questions are in one group if they say the same. Gold items are, if they say the same, if one stands whole inside
    the other, or if a gold part of one does. Items of different modalities are never compared: a table and a text
    that list the same names are no copies of each other. The order of the benchmarks does not matter.

    Parameters
    ----------
    questions, texts : mapping
        A benchmark's name to its questions and to its gold texts.
    threshold : float
        The least Jaccard similarity of word triples at which two texts say the same; 1: copies only (and texts inside
        others), 0: nothing is compared.

    Returns
    -------
    list of list of Member
        Groups of two or more, sorted.
    """
    connected = Groups[Member]()
    members: set[Member] = set()

    def join(a: Member, b: Member) -> None:
        members.update((a, b))
        connected.join(a, b)

    everything = [(Member("item", b, t.item_id), t) for b in sorted(texts) for t in texts[b]] if threshold else []
    compared = {"question": {Member("question", b, q.id): q.question for b in sorted(questions)
                             for q in questions[b]} if threshold else {}}
    for member, t in everything:
        if not t.part:
            compared.setdefault(t.modality, {})[member] = t.text
    for modality, wholes in compared.items():
        names = {str(n): member for n, member in enumerate(wholes)}
        for alike in near_duplicate_groups({n: wholes[member] for n, member in names.items()}, threshold):
            for n in alike[1:]:
                join(names[alike[0]], names[n])
        if modality in ("text", "table"):
            parts = {(n, member): t.text for n, (member, t) in enumerate(everything) if t.modality == modality}
            for (_, part), whole in contained_texts(parts, wholes):
                if part != whole:
                    join(part, whole)
    groups: dict[Member, list[Member]] = {}
    for member in sorted(members):
        groups.setdefault(connected.root(member), []).append(member)
    return sorted(groups.values())
