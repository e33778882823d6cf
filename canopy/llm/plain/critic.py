"""The LLM-free critic: an entity-coverage stop rule, and a follow-up query out of the best kept evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from canopy.llm.plain.sentences import Likeness, Sentence, cut_evidence
from canopy.llm.plain.words import bare_title, content, names, question_entities, words
from canopy.llm.roles import Memory, RegionView, Trace, Verdict

# Chosen on the 150 training questions of a HotpotQA slice: with 5 (10) of its pooled paragraphs in evidence these stop
# on 53% (63%) of the questions, and 89% (95%) of those have both of their supporting paragraphs.
LINKED_SHARE = 0.85
ALONE_SHARE = 1.0
NAMES = 5


@dataclass(frozen=True, slots=True)
class Page:
    """What is kept of one item: its title without brackets, its words in lower case, their content stems."""

    title: str
    text: str
    stems: frozenset[str]


class EvidenceCritic:
    """See `canopy.llm.roles.Critic`.

    *Sufficient* is evidence that covers every name in the question (capitalised spans, quoted strings, numbers) and, of
    the question's content words, enough in one place: one item alone holds ``ALONE_SHARE`` of them, or two items of
    which one names the other hold ``LINKED_SHARE`` together, or the question names two of the items by their titles (a
    comparison).

    Otherwise the *query* is what the question still asks, that is its words which the best sentence (by cosine) and its
    title do not hold, and after them the first ``NAMES`` names in the evidence that the question does not mention and
    no item's title is: the bridges to what is not found yet. Sentences most like the question are read first.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    def judge(self, question: str, evidence: Sequence[RegionView], memory: Memory | None, trace: Trace) -> Verdict:
        """A verdict. Evidence that gives no lead to follow is taken as sufficient, and noted."""
        if evidence and is_sufficient(question, evidence):
            return Verdict(True)
        verdict = self.follow_up(question, evidence, memory)
        if verdict.sufficient:
            trace.note("plain critic: no lead to follow")
        return verdict

    def follow_up(self, question: str, evidence: Sequence[RegionView], memory: Memory | None = None) -> Verdict:
        """What to search for next, whether or not the evidence suffices.

        A verdict of sufficient if there is nothing to search for.
        """
        sentences, pages = cut_evidence(evidence), _pages(evidence)
        order = np.argsort(-self._likeness.to_question(question, sentences), kind="stable").tolist()
        searched = {n for s in (memory.searched if memory else ()) for n in s.split("; ")}
        bridges, missing = find_bridges(question, [sentences[n] for n in order], pages,
                                        searched), uncovered(question, pages)
        rest = remaining(question, sentences[order[0]]) if order else question
        query = f"{rest} {', '.join(bridges)}".strip() if bridges or missing else ""
        if not query or query == question.strip():
            return Verdict(True)
        return Verdict(False, "; ".join(bridges or missing), query, (sentences[order[0]].full,) if memory is not None
                       and order else ())


def _pages(evidence: Sequence[RegionView]) -> list[Page]:
    """The evidence by item, in order of first sight."""
    texts: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for region in evidence:
        texts.setdefault(region.item_id, []).append(region.text)
        titles[region.item_id] = titles.get(region.item_id) or bare_title(region.title)
    return [Page(titles[i], " ".join(t).lower(), content(f"{titles[i]} {' '.join(t)}")) for i, t in texts.items()]


def uncovered(question: str, pages: Sequence[Page]) -> list[str]:
    """Names in the question of which some word stands nowhere in the evidence's titles and texts."""
    there = frozenset().union(*(p.stems for p in pages))
    return [e for e in question_entities(question) if not content(e) <= there]


def is_sufficient(question: str, evidence: Sequence[RegionView]) -> bool:
    """Whether the evidence covers every name in the question and holds together what it asks; see `EvidenceCritic`."""
    pages = _pages(evidence)
    return not uncovered(question, pages) and supports(question, pages)


def supports(question: str, pages: Sequence[Page]) -> bool:
    """Whether the evidence holds together what the question asks; see `EvidenceCritic`."""
    stems, spoken = content(question), f" {' '.join(words(question))} "
    if not stems:
        return bool(pages)
    if sum(bool(words(p.title)) and f" {' '.join(words(p.title))} " in spoken for p in pages) >= 2:
        return True
    if any(len(stems & p.stems) >= ALONE_SHARE * len(stems) for p in pages):
        return True
    return any(a is not b and len(b.title) > 3 and len(stems & (a.stems | b.stems)) >= LINKED_SHARE * len(stems)
               and b.title.lower() in a.text
               for a in pages for b in pages)


def find_bridges(question: str, sentences: Sequence[Sentence], pages: Sequence[Page], searched: frozenset[str]
                 | set[str] = frozenset()) -> list[str]:
    """Up to ``NAMES`` names in the sentences that the question does not mention, that are no item's title and were
    not searched for."""
    own, lowered = set(words(question)), question.lower()
    titles = {p.title.lower() for p in pages}
    bridges: list[str] = []
    for sentence in sentences:
        for name in names(sentence.text):
            low = name.lower()
            if (
                low in lowered
                or low in titles
                or low in sentence.title.lower()
                or name in bridges
                or name in searched
                or own.issuperset(words(name))
            ):
                continue
            bridges.append(name)
            if len(bridges) == NAMES:
                return bridges
    return bridges


def remaining(question: str, best: Sentence) -> str:
    """The question's words, in order, that the best sentence and its title do not hold."""
    known = set(words(best.full))
    return " ".join(w for w in question.replace("?", " ").split() if not known.issuperset(words(w)))
