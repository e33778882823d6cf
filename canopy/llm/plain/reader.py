"""The extractive reader: picks a short answer out of the shown regions, without a language model.

Weak, fast, and the same every time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from canopy.items import Question
from canopy.llm.plain.asking import Kind, alternatives, asks_for_several, direction_of, kind_of
from canopy.llm.plain.candidates import LONGEST, Candidate, amounts, find_candidates, years
from canopy.llm.plain.sentences import Likeness, Sentence, cut_evidence
from canopy.llm.plain.words import bare_title, content, names, quoted, stem, words
from canopy.llm.roles import RegionView, Reply, Trace
from canopy.scoring.options import may_list, options_of

# What a candidate's score is made of (`featured`). Fitted as a conditional logit on the 150 training questions of a
# HotpotQA slice (their gold among five retrieved paragraphs), but for what that has no say in: the weights of a cell's
# column and of repeating the question, from halves of NQ's, OTT-QA's and TAT-QA's.
WEIGHTS = {"likeness": 0.5, "overlap": 1.3, "fit": 3.0, "near": 1.0, "column": 1.0, "votes": 0.6, "linked": 0.5,
           "title": 0.2, "asked": -2.0, "rest": 3.4, "hop": 1.5}


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate of a sentence and its score."""

    candidate: Candidate
    sentence: Sentence
    score: float


class ExtractiveReader:
    """See `canopy.llm.roles.Reader`; it sees words alone.

    - Options: the one whose words, after the question's, are most like some sentence of the evidence. Without evidence,
      the one most like the question: a guess, noted.
    - ``Is ...?``: yes if one sentence for each name in the question holds the question's other words, otherwise no.
    - ``A or B?``: by the years or amounts beside each if the question compares them, else the one whose sentences
      are more like the question.
    - All others: the best candidate span (`canopy.llm.plain.candidates`) by ``WEIGHTS``. If the benchmark has
      answers of several parts and the question asks for several, the spans of the best one's sentence or column, joined
      by ``"; "``.

    Without evidence the answer is empty but for options.
    """

    name: str = "extractive"
    sees_media: bool = False

    def __init__(self, likeness: Likeness, count: Callable[[Sequence[str]], np.ndarray]) -> None:
        self._likeness, self._count = likeness, count

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Word pieces of the encoder."""
        return [int(n) for n in self._count(list(texts))] if len(texts) else []

    def read(self, question: Question, evidence: Sequence[RegionView], trace: Trace) -> Reply:
        """A span of the evidence, a verdict, or an option's letter. ``raw`` is the sentence it was found in."""
        sentences, options = cut_evidence(evidence), options_of(question)
        if options:
            return self._choose_option(question, options, sentences, trace)
        if not sentences:
            return Reply("")
        text = question.question
        scores = self._likeness.to_question(text, sentences)
        kind = kind_of(text)
        if kind == "verdict":
            return _judge(text, sentences)
        if kind == "choice":
            return _choose(text, sentences, scores)
        ranked = rank_candidates(text, kind, sentences, scores)
        if not ranked:
            trace.note("plain reader: no candidate")
            return Reply("")
        best = ranked[0]
        several = asks_for_several(text) and may_list(question)
        return Reply("; ".join(_companions(ranked)) if several else best.candidate.text, best.sentence.text)

    def _choose_option(self, question: Question, options: dict[str, str], sentences: Sequence[Sentence],
                       trace: Trace) -> Reply:
        stem_words = re.split(r"\n\s*\(?A[).]", question.question)[0].strip()
        letters = list(options)
        if not sentences:
            trace.note("plain reader: an option guessed without evidence")
            near = self._likeness.vectors(list(options.values())) @ self._likeness.vectors([stem_words])[0]
            return Reply(letters[int(np.argmax(near))])
        scores = self._likeness.to_question(stem_words, sentences)
        best = [sentences[n] for n in np.argsort(-scores, kind="stable")[:16]]
        near = self._likeness.vectors([f"{stem_words} {o}"
                                       for o in options.values()]) @ self._likeness.vectors([s.full for s in best]).T
        shares = [max(_share(content(o), content(s.full)) for s in best) for o in options.values()]
        return Reply(letters[int(np.argmax(near.max(axis=1) + 0.2 * np.array(shares)))],
                     best[int(near.max(axis=0).argmax())].text)


def _share(part: frozenset[str], there: frozenset[str]) -> float:
    return len(part & there) / len(part) if part else 0.0


def _subjects(question: str) -> list[str]:
    """The names a question is about."""
    subjects: list[str] = []
    for name in [*quoted(question), *names(question)]:
        subjects += [p for p in re.split(r"\s+and\s+|\s*,\s+", name) if p]
    return list(dict.fromkeys(subjects))


def _judge(question: str, sentences: Sequence[Sentence]) -> Reply:
    """Yes if for each name the question is about some sentence holds it and most of the question's other words,
    and no other value stands in both."""
    subjects = _subjects(question) or [""]
    rest = content(question) - content(" ".join(subjects)) - {stem("same"), stem("located"), stem("type")}
    best_shares, best = [], sentences[0]
    for subject in subjects:
        about = [s for s in sentences if content(subject) <= content(s.full)]
        shares = [_share(rest, content(s.full)) if rest else 1.0 for s in about]
        best_shares.append(max(shares, default=0.0))
        if shares and shares[int(np.argmax(shares))] >= max(best_shares):
            best = about[int(np.argmax(shares))]
    return Reply("yes" if best_shares and min(best_shares) >= 0.5 else "no", best.text)


def _choose(question: str, sentences: Sequence[Sentence], scores: np.ndarray) -> Reply:
    """One of the two names that the question lets choose between."""
    pair = alternatives(question)
    assert pair is not None  # kind_of says choice only then
    about = [[n for n, s in enumerate(sentences) if content(name) <= content(s.title)
              or content(name) <= content(s.text)] for name in pair]
    titled = [[n for n in numbers if content(name) <= content(sentences[n].title)] or numbers for name,
              numbers in zip(pair, about, strict=True)]
    what, sign = direction_of(question)
    read = years if what == "time" else amounts if what == "size" else None
    values = [[v for n in numbers for v in read(sentences[n].text)][:1] for numbers in titled] if read else [[], []]
    if values[0] and values[1] and values[0] != values[1]:
        won = int(np.argmax([sign * values[0][0], sign * values[1][0]]))
    else:
        rest = content(question) - content(" ".join(pair))
        won = int(np.argmax([max((_share(rest, content(sentences[n].full)) + float(scores[n]) for n in numbers),
                                 default=-1.0) for numbers in titled]))
    return Reply(pair[won], sentences[titled[won][0]].text if titled[won] else "")


def rank_candidates(question: str, kind: Kind, sentences: Sequence[Sentence], scores: np.ndarray) -> list[Scored]:
    """All candidates, best first; equals in reading order."""
    out = [Scored(c, sentences[n], sum(WEIGHTS[k] * v for k, v in features.items())) for c, n,
           features in featured(question, kind, sentences, scores)]
    return sorted(out, key=lambda s: -s.score)


def featured(question: str, kind: Kind, sentences: Sequence[Sentence],
             scores: np.ndarray) -> list[tuple[Candidate, int, dict[str, float]]]:
    """Candidates of all sentences with the number of their sentence and their features.

    Spans that only repeat the question are none, but for cells. ``likeness``: the sentence's cosine to the question.
    ``overlap``: share of the question's content words in it. ``rest``: the same of those that the most similar sentence
    lacks. ``hop``: its item's title stands in the most similar sentence. ``fit``: form against kind. ``near``: distance
    to the closest of the question's words. ``column``: share of the column name's words in the question. ``votes``:
    other regions with the same span. ``linked``: it is another item's title; ``title``: its own item's. ``asked``: it
    repeats the question.
    """
    question_stems, spoken = content(question), f" {' '.join(words(question))} "
    overlaps = [_share(question_stems, content(s.full)) for s in sentences]
    best = int(np.argmax(scores))
    rest, lead = question_stems - content(sentences[best].full), sentences[best].text.lower()
    hops = [float(len(s.title) > 3 and s.title != sentences[best].title and bare_title(s.title).lower() in lead)
            for s in sentences]
    pages = {" ".join(words(bare_title(s.title))) for s in sentences if s.title}
    spots = {n: [m.start() for m in re.finditer(r"\w+", s.text) if stem(m.group().lower()) in question_stems] for n,
             s in enumerate(sentences)}
    votes: dict[str, set[int]] = {}
    rows: list[tuple[Candidate, int, float]] = []
    for n, sentence in enumerate(sentences):
        if scores[n] <= -1.0:
            continue
        for c in find_candidates(sentence, kind):
            key = " ".join(words(c.text))
            if not key or (len(key.split()) > LONGEST and not c.column) or c.fit <= 0:
                continue
            stems = content(c.text)
            repeats = f" {key} " in spoken or (bool(stems) and stems <= question_stems)
            if repeats and not c.column:
                continue
            votes.setdefault(key, set()).add(sentence.region)
            rows.append((c, n, float(repeats)))
    out = []
    for c, n, repeated in rows:
        key = " ".join(words(c.text))
        gap = min((min(abs(c.at - p), abs(c.at + len(c.text) - p)) for p in spots[n]), default=200)
        out.append((c, n, {
            "likeness": float(scores[n]), "overlap": overlaps[n], "fit": c.fit, "near": 1.0 / (1.0 + gap / 20.0),
            "column": _share(content(c.column), question_stems) if c.column else 0.0,
            "votes": min(3, len(votes[key]) - 1) / 3.0, "linked": float(key in pages and c.text != sentences[n].title),
            "title": float(c.text == sentences[n].title), "asked": repeated,
            "rest": _share(rest, content(sentences[n].full)), "hop": hops[n]}))
    return out


def _companions(ranked: Sequence[Scored]) -> list[str]:
    """The best candidate's like: of its column in a table, of its sentence and form elsewhere.

    At most ten, in reading order of their score.
    """
    best = ranked[0]
    same = [s for s in ranked if (s.candidate.column == best.candidate.column and s.sentence.title
                                  == best.sentence.title if best.candidate.column else
                                  s.sentence is best.sentence and s.candidate.fit >= best.candidate.fit)]
    return list(dict.fromkeys(s.candidate.text for s in same))[:10]
