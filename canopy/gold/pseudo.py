"""Evidence for questions that come with answers alone: where the answer occurs, marked as found and not annotated."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from canopy.gold.candidates import Coverage, Rule, ask
from canopy.items import Annotation, Item, Question, Unit
from canopy.scoring.metric import ARTICLE_WORDS

LIMIT = 10
MOST = 100_000  # items with an answer that are looked at; an answer in more says nothing about where
# Chosen on training questions (`bench/pseudo_gold.py FOLDER --side train --floors 0.15 0.2 0.25 0.3`): above this floor
# OTT-QA and HotpotQA lose evidence and Natural Questions win little. Of Natural Questions whose gold item is not in the
# corpus, 5% get evidence, and 11% under the rule before. Multi-hop questions pay: the item with their answer may have
# few of their words.
RULE = Rule(floor=0.2, overlap=0.7)
# Answers that occur everywhere and say nothing about where.
_NOWHERE = frozenset({"yes", "no", "true", "false", "none", "unknown", "n a", "and", "the", "both", "neither"})
_WORD = re.compile(r"\w+")
_GROUPING = frozenset({"", ",", " ", "'", "’", "\u00a0", "\u202f"})


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer as words, and which part of it as written those cover (a leading article is left off)."""

    written: str
    words: tuple[str, ...]
    start: int
    end: int
    gaps: tuple[str, ...]


@dataclass(slots=True)
class _Node:
    """Answers by their words, one after the other: where each next word leads, and the answers that end here."""

    after: dict[str, _Node] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Hits:
    """The items in which one answer occurs, as written and else by its words, by number and ascending."""

    exact: array[int] = field(default_factory=lambda: array("I"))
    loose: array[int] = field(default_factory=lambda: array("I"))


def locate_answers(questions: Iterable[Question], annotations: Iterable[Annotation], items: Iterable[Item], *,
                   limit: int = LIMIT, counts: Counter[str] | None = None, rule: Rule = RULE) -> list[Annotation]:
    """Annotations, all with ``pseudo`` set, of questions that have answers and no annotation at all.

    The rule: every item that holds an accepted answer is a candidate: a text by the characters of each occurrence, a
    table by the rows with the answer in a cell, a video by the seconds of the cues that say or show it, an image, by
    the words on it or its caption, whole. Occurrences as written, in whole words, win; only if there is none in any
    item does case, accents' encoding, punctuation and a leading article not count. Answers of fewer than three letters
    or digits, and yes, no and the like, are not looked for. Answers that are one answer together (TAT-QA's
    ``multi-span``) must all be in the item.

    A candidate stays if it covers the question (`canopy.gold.candidates.Rule`): an answer in an item about something
    else is no evidence. Those that stay are alternatives, a group each; if more than ``limit`` stay, the question has
    no gold.

    One pass over the items' words, whatever the number of questions, and one over the items that are chosen.

    Parameters
    ----------
    counts : Counter, optional
        Gets how the questions without annotation fared: ``located``, ``absent``, ``uncovered``, ``common``, ``short``,
        ``unanswered``.

    Returns
    -------
    list of Annotation
        In the order of the questions, then of the items.
    """
    counts = Counter() if counts is None else counts
    annotated = {a.question_id for a in annotations}
    open_questions = [q for q in questions if q.id not in annotated]
    counts["unanswered"] += sum(not q.answers for q in open_questions)
    open_questions = [q for q in open_questions if q.answers]
    answers = {a: parts for q in open_questions for a in q.answers if (parts := _answer(a)) is not None}
    if not answers:
        counts["short"] += len(open_questions)
        return []
    trie, corpus = _trie(answers), list(items)
    words = {q.id: ask(q.question, q.answers) for q in open_questions}
    coverage = Coverage(words.values())
    hits = _find_items(corpus, trie, answers, coverage)
    chosen: dict[str, list[int]] = {}
    for q in open_questions:
        matches = [hits[a] for a in dict.fromkeys(q.answers) if a in hits]
        together = _are_together(q)
        if not matches or (together and len(matches) < len(set(q.answers))):
            counts["short"] += 1
            continue
        candidates = _together(matches) if together else _either(matches)
        numbers = coverage.choose(words[q.id], candidates, rule) if len(candidates) <= MOST else candidates
        outcome = ("absent" if not candidates else "uncovered" if not numbers else
                   "common" if len(numbers) > limit else "located")
        counts[outcome] += 1
        if outcome == "located":
            chosen[q.id] = numbers
    return _annotate([q for q in open_questions if q.id in chosen], chosen, corpus, trie, answers)


def _find_items(corpus: Sequence[Item], trie: _Node, answers: Mapping[str, _Answer],
                coverage: Coverage) -> dict[str, _Hits]:
    """The items in which each answer occurs; every item's words go into the coverage on the way."""
    hits = {a: _Hits() for a in answers}
    for number, item in enumerate(corpus):
        coverage.add(item)
        for answer, exact, *_ in _search(item, trie, answers):
            tier = hits[answer].exact if exact else hits[answer].loose
            if len(tier) <= MOST and (not tier or tier[-1] != number):
                tier.append(number)
    return hits


def _annotate(questions: Sequence[Question], chosen: Mapping[str, Sequence[int]], corpus: Sequence[Item], trie: _Node,
              answers: Mapping[str, _Answer]) -> list[Annotation]:
    """The places of the answers in the chosen items, an alternative for each."""
    places: dict[int, dict[tuple[str, bool], list[tuple[Unit, float, float]]]] = {}
    for number in {n for numbers in chosen.values() for n in numbers}:
        of = places[number] = {}
        for answer, exact, unit, a, b in _search(corpus[number], trie, answers):
            of.setdefault((answer, exact), []).append((unit, a, b))
    evidence: list[Annotation] = []
    for q in questions:
        for group, number in enumerate(chosen[q.id]):
            tiers = [[s for a in dict.fromkeys(q.answers) for s in places[number].get((a, exact), [])]
                     for exact in (True, False)]
            # Answers that belong together may stand there in different forms.
            spans = tiers[0] + tiers[1] if _are_together(q) else tiers[0] or tiers[1]
            evidence.append(_annotation(q.id, corpus[number], spans, group))
    return evidence


def _are_together(question: Question) -> bool:
    """Whether a question's answers are one answer together."""
    return dict(question.details).get("answer_type") == "multi-span" and len(question.answers) > 1


def _either(of_answers: Sequence[_Hits]) -> list[int]:
    """Items with any of the answers, as written if there are such, ascending."""
    for tiers in ([h.exact for h in of_answers], [h.loose for h in of_answers]):
        numbers = sorted({n for tier in tiers for n in tier})
        if numbers:
            return numbers
    return []


def _together(of_answers: Sequence[_Hits]) -> list[int]:
    """Items with all of the answers, each as written where it is, ascending."""
    each = [set(h.exact or h.loose) for h in of_answers]
    return sorted(set.intersection(*each))


def _annotation(question: str, item: Item, spans: Sequence[tuple[Unit, float, float]], group: int) -> Annotation:
    unit = spans[0][0]
    return Annotation(question, item.id, unit, tuple(sorted({(a, b) for _, a, b in spans})) if unit != "item" else (),
                      group, pseudo=True)


@lru_cache(maxsize=1 << 16)
def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _answer(written: str) -> _Answer | None:
    """An answer to look for; None if it says too little."""
    text = written.strip()
    matches = list(_WORD.finditer(text))
    if len(matches) > 1 and _plain(matches[0].group()) in ARTICLE_WORDS:
        matches = matches[1:]
    words = tuple(_plain(m.group()) for m in matches)
    if sum(map(len, words)) < 3 or " ".join(words) in _NOWHERE:
        return None
    gaps = tuple(text[a.end():b.start()] for a, b in zip(matches[:-1], matches[1:], strict=True))
    return _Answer(text, words, matches[0].start(), matches[-1].end(), gaps)


def _trie(answers: Mapping[str, _Answer]) -> _Node:
    root = _Node()
    for key, answer in answers.items():
        node = root
        for word in answer.words:
            node = node.after.setdefault(word, _Node())
        node.answers.append(key)
    return root


def _search(item: Item, trie: _Node, answers: Mapping[str, _Answer]) -> Iterator[tuple[str, bool, Unit, float, float]]:
    """Every occurrence in an item: answer, whether as written, and its span in the item's unit."""
    if item.modality == "text":
        for key, exact, a, b in _occurrences(item.text, trie, answers):
            yield key, exact, "chars", float(a), float(b)
    elif item.modality == "table":
        for number, row in enumerate(item.rows):
            for cell in row:
                for key, exact, _, _ in _occurrences(cell, trie, answers):
                    yield key, exact, "rows", float(number), float(number + 1)
    elif item.modality == "video":
        for cues in (item.cues, item.screen):
            text = " ".join(c.text for c in cues)
            ends: list[int] = []
            for c in cues:
                ends.append((ends[-1] + 1 if ends else 0) + len(c.text))
            for key, exact, a, b in _occurrences(text, trie, answers):
                first, last = (next(i for i, end in enumerate(ends) if x <= end) for x in (a + 1, b))
                start = min(cues[first].start, item.duration)
                yield key, exact, "seconds", start, max(start, min(cues[last].end, item.duration))
    else:
        for text in (item.words, item.caption):
            for key, exact, _, _ in _occurrences(text, trie, answers):
                yield key, exact, "item", 0.0, 0.0


def _occurrences(text: str, trie: _Node, answers: Mapping[str, _Answer]) -> Iterator[tuple[str, bool, int, int]]:
    words = [(_plain(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]
    for i, (word, start, _) in enumerate(words):
        node, at = trie.after.get(word), i
        while node is not None:
            for key in node.answers:
                answer, end = answers[key], words[at][2]
                a, b = start - answer.start, end + len(answer.written) - answer.end
                if a >= 0 and text[a:b] == answer.written and not _inside_number(text, start, end):
                    yield key, True, a, b
                elif _same_gaps(text, words[i:at + 1], answer) and not _inside_number(text, start, end):
                    yield key, False, start, end
            at += 1
            node = node.after.get(words[at][0]) if at < len(words) else None


def _same_gaps(text: str, words: Sequence[tuple[str, int, int]], answer: _Answer) -> bool:
    """Whether what stands between the words joins them: digits as in the answer or grouped, words by little."""
    for (left, _, a), (right, b, _), published in zip(words[:-1], words[1:], answer.gaps, strict=True):
        gap = text[a:b]
        if left[-1].isdigit() and right[0].isdigit():
            if gap != published and not {gap, published} <= _GROUPING:
                return False
        elif len(gap) > 4:
            return False
    return True


def _inside_number(text: str, start: int, end: int) -> bool:
    """Whether the digits at an edge go on beyond a point or comma (``1911`` in ``1911.5``)."""
    before, after = text[max(0, start - 2):start], text[end:end + 2]
    return (text[start].isdigit() and len(before) == 2 and before[1] in ".," and before[0].isdigit()) or (
        text[end - 1].isdigit() and len(after) == 2 and after[0] in ".," and after[1].isdigit())


def describe(counts: Mapping[str, int], evidence: Sequence[Annotation]) -> list[str]:
    """What became of the questions without annotation, as sentences; none if every question has its evidence."""
    located = counts.get("located", 0)
    reasons = {"absent": "whose answer occurs in no item",
               "uncovered": "whose answer occurs only in items about something else",
               "common": "whose answer occurs in too many items about it",
               "short": "whose answer is too short to look for (yes, no, a letter)",
               "unanswered": "without an answer"}
    why = [f"{counts[k]} {reason}" for k, reason in reasons.items() if counts.get(k)]
    if not located and set(counts) - {k for k, n in counts.items() if not n} <= {"unanswered"}:
        return []
    sentence = (
        f"pseudo-gold: {located} questions have evidence where their answer occurs ({len(evidence)} items), "
        "found and not annotated"
    )
    return [sentence + ("; " + ", ".join(why) + " have none." if why else ".")]
