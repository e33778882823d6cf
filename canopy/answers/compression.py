"""Compression alone, without a reader: how much of the gold each LLM-free compressor keeps at which length, and compared at equal length.

Every compressor gets the same items (the k retrieved for the question alone, or the annotated ones) and keeps regions of them. Tables are refined
whatever the question asks: the classifier of aggregate questions is no part of a compressor. A length is the reader's tokens of what would be shown.

==================  =================================================================================================
``canopy``          the paper's parent-relative rule; it has no size
``canopy-lookahead``  our rule that looks ahead, by its margin
``flat-leaf``       of each item the m best leaves
``any-level``       of each item the m best nodes of any level, none inside another
``near-best``       of each item the leaves within a distance of its best
``flat-share``      of each item the best leaves, a share of them
``flat-all``        of all items together the n best leaves (it compares scores between items, as the rules never do)
``whole``, ``none``  everything; nothing: the ends of every curve
==================  =================================================================================================

Node scores are f_theta's, f0's, or ``words``: how many of the question's words a leaf has, weighted by how few of the leaves have them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from canopy.answers.gold import AnswerGold, Places
from canopy.answers.rows import states
from canopy.compression.candidates import Scored
from canopy.config import Answers, Options
from canopy.embeddings.store import BRANCHING
from canopy.evaluation.metrics import answer_words
from canopy.items import Evidence, Question
from canopy.llm.roles import Shown, Trace
from canopy.pipelines.compression import regions_of, score_items
from canopy.pipelines.evidence import count_tokens, show_regions
from canopy.pipelines.tools import Tools
from canopy.progress import progress
from canopy.refinement import refine
from canopy.scoring.bootstrap import Interval, interval_of, ratio_intervals, resampled_sums
from canopy.selection.any_level import select_any_level
from canopy.selection.flat import select_leaves
from canopy.selection.layout import Layout
from canopy.selection.near_best import select_near_best
from canopy.selection.shares import select_share
from canopy.selection.whole import select_whole

WORDS = "words"
MARGINS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
LEAVES = (1, 2, 3, 4, 6, 8, 12, 16)
DISTANCES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
ALL_LEAVES = (1, 2, 5, 10, 20, 40, 80)
MEASURES = ("gold_recall", "answer_in_evidence")


@dataclass(frozen=True, slots=True)
class Compressor:
    """One compressor of one size over one kind of node scores; ``size`` is NaN where it has none."""

    name: str
    scorer: str
    size: float
    select: Callable[[Layout, np.ndarray], np.ndarray]


def select_best_of_all(layout: Layout, scores: np.ndarray, n: int) -> np.ndarray:
    """The n best leaves of all items together, as bool a node."""
    leaf = np.flatnonzero(layout.forest.hi - layout.forest.lo == 1)
    kept = np.zeros(len(scores), dtype=bool)
    kept[leaf[np.argsort(-scores[leaf], kind="stable")[:n]]] = True
    return kept


def list_compressors(scorers: Iterable[str], answers: Answers) -> list[Compressor]:
    """Every compressor, in the order of tables."""
    made: list[Compressor] = []
    for s in (*scorers, WORDS):
        if s != WORDS:
            made.append(Compressor("canopy", s, math.nan, lambda layout, scores: refine(layout.forest, scores)))
            made += [Compressor("canopy-lookahead", s, m, lambda layout, scores, m=m: refine(layout.forest, scores, rule="lookahead", margin=m)) for m in MARGINS]
            made += [Compressor("any-level", s, m, lambda layout, scores, m=m: select_any_level(layout, scores, m)) for m in LEAVES]
            made += [Compressor("near-best", s, d, lambda layout, scores, d=d: select_near_best(layout, scores, d)) for d in DISTANCES]
        made += [Compressor("flat-leaf", s, m, lambda layout, scores, m=m: select_leaves(layout, scores, m)) for m in LEAVES]
        made += [Compressor("flat-share", s, b, select_share(b)) for b in answers.budgets]
        made += [Compressor("flat-all", s, n, lambda layout, scores, n=n: select_best_of_all(layout, scores, n)) for n in ALL_LEAVES]
    whole = Compressor("whole", "", math.nan, lambda layout, scores: select_whole(layout))
    return [*made, whole, Compressor("none", "", math.nan, lambda layout, scores: np.zeros(len(scores), dtype=bool))]


class Ruler:
    """Measures what compressors keep of one corpus scope's items; a region's tokens are counted once."""

    def __init__(self, tools: Tools, gold: AnswerGold, places: Places) -> None:
        self._tools, self._gold, self._places = tools, gold, places
        self._tokens: dict[tuple[str, int, int], int] = {}
        self._scorers = [s for s in tools.scorers if not s.startswith(BRANCHING)]  # those of one hierarchy
        self._compressors = list_compressors(self._scorers, tools.answers)

    def measure(self, question: Question) -> list[dict[str, Any]]:
        """A row for every compressor: what it is, ``tokens`` and `MEASURES`; none where the question has no item. What cannot be said of a question is None."""
        tools, trace = self._tools, Trace()
        ids = [i for i, _ in tools.find(question.id, question.question, tools.answers.k, trace)]
        if not ids:
            return []
        scored = {s: score_items(ids, question.question, tools, trace, s) for s in self._scorers}
        scored[WORDS] = self._by_words(question.question, next(iter(scored.values())))
        some = scored[WORDS]
        kept = [regions_of(some, c.select(some.layout, scored[c.scorer or WORDS].scores)) for c in self._compressors]
        seen = self._look_at(question, [r for regions in kept for r in regions])
        stated = question.id in self._gold.stated
        rows = []
        for c, regions in zip(self._compressors, kept, strict=True):
            found = frozenset().union(*(self._places.fragments(r.item_id, range(r.lo, r.hi)) for r in regions))
            parts = [seen[r.item_id, r.lo, r.hi] for r in regions]
            rows.append({"question_id": question.id, "corpus_scope": tools.corpus_scope, "compressor": c.name, "scorer": c.scorer, "size": c.size,
                         "tokens": sum(t for t, _ in parts), "gold_recall": self._gold.recall(question.id, found),
                         "answer_in_evidence": float(any(s for _, s in parts)) if stated else None})
        return rows

    def _by_words(self, question: str, scored: Scored) -> Scored:
        """Leaves scored by the question's words; no other node can be chosen."""
        library = self._tools.library
        leaves = [(i, n) for i in scored.items for n in range(library.leaves(i).count)]
        texts = [frozenset(answer_words(library.show(Evidence(i, n, n + 1, 0.0, 0)).text)) for i, n in leaves]
        asked = sorted(set(answer_words(question)))
        weight = {w: math.log((1 + len(texts)) / (1 + sum(w in t for t in texts))) for w in asked}
        by_leaf = np.array([sum(weight[w] for w in asked if w in t) for t in texts], dtype=np.float32)
        layout, forest = scored.layout, scored.layout.forest
        leaf = forest.hi - forest.lo == 1
        scores = np.full(len(forest), -np.inf, dtype=np.float32)
        scores[leaf] = by_leaf[layout.fragments[layout.owner[leaf]] + forest.lo[leaf]]
        return replace(scored, scores=scores)

    def _look_at(self, question: Question, regions: Sequence[Evidence]) -> dict[tuple[str, int, int], tuple[int, bool]]:
        """Tokens of each region, and whether it states an accepted answer."""
        tools = self._tools
        each = {(r.item_id, r.lo, r.hi): r for r in regions}
        shown: dict[tuple[str, int, int], Shown] = dict(zip(each, show_regions(list(each.values()), tools, Options()), strict=True))
        new = [k for k in each if k not in self._tokens]
        self._tokens.update(zip(new, count_tokens([shown[k] for k in new], tools), strict=True))
        return {k: (self._tokens[k], states(question, [shown[k]])) for k in each}


def measure_compression(tools: Sequence[Tools], questions: Sequence[Question], gold: AnswerGold, places: Places, *, resamples: int, seed: int,
                        confidence: float) -> dict[str, Any]:
    """What ``compression.json`` holds: ``curves`` (`summarise_points`) and ``equal_tokens`` (`compare_at_equal_tokens`), of every corpus scope.

    Parameters
    ----------
    tools : sequence of Tools
        One a corpus scope; each one's own reader counts the tokens.
    """
    rows: list[dict[str, Any]] = []
    with progress("compression alone", len(tools) * len(questions), "questions") as advance:
        for each in tools:
            ruler = Ruler(each, gold, places)
            for q in questions:
                rows += ruler.measure(q)
                advance(1)
    return {"curves": summarise_points(rows, resamples=resamples, seed=seed, confidence=confidence),
            "equal_tokens": compare_at_equal_tokens(rows, resamples=resamples, seed=seed, confidence=confidence)}


Key = tuple[str, str, float]  # compressor, scorer, size


def group_points(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[Key, dict[str, Mapping[str, Any]]]]:
    """Rows by corpus scope, by compressor of one scorer and size (no size: -1), by question."""
    out: dict[str, dict[Key, dict[str, Mapping[str, Any]]]] = {}
    for r in rows:
        size = -1.0 if r["size"] is None or math.isnan(r["size"]) else float(r["size"])
        out.setdefault(r["corpus_scope"], {}).setdefault((r["compressor"], r["scorer"], size), {})[r["question_id"]] = r
    return out


def summarise_points(rows: Iterable[Mapping[str, Any]], *, resamples: int, seed: int, confidence: float) -> list[dict[str, Any]]:
    """The curves: a row a compressor and size with its mean tokens and its measures, each with an interval."""
    out = []
    for corpus_scope, points in group_points(rows).items():
        for (name, scorer, size), of in points.items():
            row: dict[str, Any] = {"corpus_scope": corpus_scope, "compressor": name, "scorer": scorer, "size": None if size < 0 else size, "questions": len(of)}
            for m in ("tokens", *MEASURES):
                values = [of[q][m] for q in sorted(of)]
                defined = np.array([v is not None for v in values], dtype=np.float64)
                i = ratio_intervals([(np.array([float(v or 0) for v in values]), defined)], resamples, seed, confidence)[0]
                row |= {m: _number(i.estimate), f"{m}_low": _number(i.low), f"{m}_high": _number(i.high)}
            out.append(row)
    return out


def compare_at_equal_tokens(rows: Iterable[Mapping[str, Any]], references: Sequence[tuple[str, str, float]] = (("canopy", "f_theta", -1.0), ("canopy-lookahead", "f_theta", 0.01)),
                            *, resamples: int, seed: int, confidence: float) -> list[dict[str, Any]]:
    """Each reference against every other compressor at the reference's mean tokens.

    The other compressor's curve runs over its sizes in the order of their mean tokens, from nothing to everything; between two neighbouring sizes
    it is a straight line, which is what tossing a coin between them for each question gives, so that the lengths are equal exactly. Question ids are
    resampled once for all; each resample has its own lengths and its own point on the line.

    Parameters
    ----------
    references : sequence of (compressor, scorer, size)
        Size -1 where there is none.

    Returns
    -------
    list of dict
        ``reference``, ``compressor``, ``scorer``, ``measure``, ``questions``, ``tokens``; ``ours``, ``theirs``, and ``difference`` with ``low`` and ``high``;
        ``reached``: whether the reference's length lies between the other's own sizes. Where it does not, the other is mixed with nothing or with
        everything, which is a poorer compressor than the one it is named after.
    """
    out = []
    for corpus_scope, points in group_points(rows).items():
        ends = [k for k in points if k[0] in ("none", "whole")]
        families: dict[tuple[str, str], list[Key]] = {}
        for k in points:
            if k not in ends:
                families.setdefault(k[:2], []).append(k)
        for reference in references:
            if reference not in points:
                continue
            for family, keys in families.items():
                if family == reference[:2]:
                    continue
                for measure in MEASURES:
                    held = _against(points, reference, keys, ends, measure, resamples, seed, confidence)
                    if held is not None:
                        said = reference[0] + (f" {reference[2]:g}" if reference[2] >= 0 else "")
                        out.append({"corpus_scope": corpus_scope, "reference": said, "compressor": family[0], "scorer": family[1], "measure": measure, **held})
    return out


def _against(points: Mapping[Key, Mapping[str, Mapping[str, Any]]], reference: Key, sizes: Sequence[Key], ends: Sequence[Key], measure: str, resamples: int,
             seed: int, confidence: float) -> dict[str, Any] | None:
    keys = [*sizes, *ends]
    ids = sorted(q for q, r in points[reference].items() if r[measure] is not None and all(q in points[k] for k in keys))
    if not ids:
        return None
    columns = np.array([[v for k in (reference, *keys) for v in (float(points[k][q]["tokens"]), float(points[k][q][measure]))] for q in ids])

    def read(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The reference's value and the other's at its tokens, for each row of sums."""
        tokens, values = sums[:, 0::2] / len(ids), sums[:, 1::2] / len(ids)
        theirs = np.empty(len(sums))
        for n, (t, v) in enumerate(zip(tokens, values, strict=True)):
            order = np.argsort(t[1:], kind="stable")
            theirs[n] = np.interp(t[0], t[1:][order], v[1:][order])
        return values[:, 0], theirs

    (ours,), (theirs,) = read(columns.sum(axis=0, keepdims=True))
    drawn = read(resampled_sums(columns, resamples, seed))
    difference: Interval = interval_of(float(ours - theirs), drawn[0] - drawn[1], confidence)
    lengths = columns[:, 0::2].mean(axis=0)
    own = lengths[1:1 + len(sizes)]
    return {"questions": len(ids), "tokens": float(lengths[0]), "reached": bool(own.min() <= lengths[0] <= own.max()), "ours": float(ours), "theirs": float(theirs), "difference": difference.estimate,
            "low": difference.low, "high": difference.high}


def _number(v: float) -> float | None:
    return float(v) if np.isfinite(v) else None
