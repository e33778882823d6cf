"""Compression alone, without a reader: how much of the gold each LLM-free compressor keeps, and at which length.

Every compressor gets the same items (the k retrieved for the question alone, or the gold ones) and keeps regions
of them. Tables are refined whatever the question asks: the classifier of aggregate questions is no part of a
compressor. A length is the reader's tokens of what would be shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np

from canopy.answers.compressors import WORDS, list_compressors
from canopy.answers.curves import CompressionRow, CurvePoint, EqualTokens, compare_at_equal_tokens, summarise_points
from canopy.answers.gold import AnswerGold, Places
from canopy.answers.scorekeeping import states
from canopy.compression.candidates import Scored
from canopy.config import Options
from canopy.embeddings.store import BRANCHING
from canopy.items import Evidence, Question
from canopy.llm.roles import Trace
from canopy.pipelines.compression import regions_of, score_items
from canopy.pipelines.evidence import count_tokens, show_regions
from canopy.pipelines.tools import Tools
from canopy.progress import progress
from canopy.scoring.metric import answer_words

Region = tuple[str, int, int]  # item, first fragment, end


class CompressionFile(TypedDict):
    """What ``compression.json`` holds, of every corpus scope."""

    curves: list[CurvePoint]
    equal_tokens: list[EqualTokens]


class CompressionMeter:
    """Measures what compressors keep of one corpus scope's items; a region's tokens are counted once."""

    def __init__(self, tools: Tools, gold: AnswerGold, places: Places) -> None:
        self._tools, self._gold, self._places = tools, gold, places
        self._tokens: dict[Region, int] = {}
        self._scorers = [s for s in tools.scorers if not s.startswith(BRANCHING)]  # those of one hierarchy
        self._compressors = list_compressors(self._scorers, tools.answers)

    def measure(self, question: Question) -> list[CompressionRow]:
        """A row for every compressor; no rows if the question has no item."""
        tools, trace = self._tools, Trace()
        ids = [i for i, _ in tools.find(question.id, question.question, tools.answers.k, trace)]
        if not ids:
            return []
        scored = {s: score_items(ids, question.question, tools, trace, s) for s in self._scorers}
        scored[WORDS] = self._score_by_words(question.question, next(iter(scored.values())))
        some = scored[WORDS]
        kept = [regions_of(some, c.select(some.layout, scored[c.scorer or WORDS].scores))
                for c in self._compressors]
        contents = self._read_regions(question, [r for regions in kept for r in regions])
        stated = question.id in self._gold.stated
        rows: list[CompressionRow] = []
        for c, regions in zip(self._compressors, kept, strict=True):
            fragments = frozenset().union(*(self._places.fragments(r.item_id, range(r.lo, r.hi)) for r in regions))
            parts = [contents[r.item_id, r.lo, r.hi] for r in regions]
            rows.append({
                "question_id": question.id, "corpus_scope": tools.corpus_scope, "compressor": c.name,
                "scorer": c.scorer, "size": c.size, "tokens": sum(tokens for tokens, _ in parts),
                "gold_recall": self._gold.recall(question.id, fragments),
                "answer_in_evidence": float(any(states_it for _, states_it in parts)) if stated else None,
            })
        return rows

    def _score_by_words(self, question: str, scored: Scored) -> Scored:
        """Leaves scored by the question's words; no other node can be chosen."""
        library = self._tools.library
        leaves = [(i, n) for i in scored.items for n in range(library.leaves(i).count)]
        texts = [frozenset(answer_words(library.show(Evidence(i, n, n + 1, 0.0, 0)).text)) for i, n in leaves]
        words = sorted(set(answer_words(question)))
        weight = {w: math.log((1 + len(texts)) / (1 + sum(w in t for t in texts))) for w in words}
        by_leaf = np.array([sum(weight[w] for w in words if w in t) for t in texts], dtype=np.float32)
        layout, forest = scored.layout, scored.layout.forest
        leaf = forest.hi - forest.lo == 1
        scores = np.full(len(forest), -np.inf, dtype=np.float32)
        scores[leaf] = by_leaf[layout.fragments[layout.owner[leaf]] + forest.lo[leaf]]
        return replace(scored, scores=scores)

    def _read_regions(self, question: Question, regions: Sequence[Evidence]) -> dict[Region, tuple[int, bool]]:
        """Tokens of each region, and whether it states an accepted answer."""
        tools = self._tools
        each = {(r.item_id, r.lo, r.hi): r for r in regions}
        views = dict(zip(each, show_regions(list(each.values()), tools, Options()), strict=True))
        new = [k for k in each if k not in self._tokens]
        self._tokens.update(zip(new, count_tokens([views[k] for k in new], tools), strict=True))
        return {k: (self._tokens[k], states(question, [views[k]])) for k in each}


def measure_compression(tools: Sequence[Tools], questions: Sequence[Question], gold: AnswerGold, places: Places, *,
                        resamples: int, seed: int, confidence: float) -> CompressionFile:
    """Curves (`summarise_points`) and the comparison at equal length (`compare_at_equal_tokens`) of all corpus scopes.

    Parameters
    ----------
    tools : sequence of Tools
        One a corpus scope; each one's own reader counts the tokens.
    """
    rows: list[CompressionRow] = []
    with progress("compression alone", len(tools) * len(questions), "questions") as advance:
        for each in tools:
            meter = CompressionMeter(each, gold, places)
            for q in questions:
                rows += meter.measure(q)
                advance(1)
    return {"curves": summarise_points(rows, resamples=resamples, seed=seed, confidence=confidence),
            "equal_tokens": compare_at_equal_tokens(rows, resamples=resamples, seed=seed, confidence=confidence)}
