"""Compression curves: quality by mean tokens over a compressor's sizes, and compressors at equal mean tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np

from canopy.scoring.bootstrap import Interval, interval_of, ratio_intervals, resampled_sums

Measure = Literal["gold_recall", "answer_in_evidence"]
MEASURES: tuple[Measure, ...] = ("gold_recall", "answer_in_evidence")
NO_SIZE = -1.0
Key = tuple[str, str, float]  # compressor, scorer, size (`NO_SIZE` if it has none)


class CompressionRow(TypedDict):
    """What one compressor kept for one question; a measure that is not defined for the question is None."""

    question_id: str
    corpus_scope: str
    compressor: str
    scorer: str
    size: float | None
    tokens: int
    gold_recall: float | None
    answer_in_evidence: float | None


class CurvePoint(TypedDict):
    """One compressor of one size: means over questions, each with its interval."""

    corpus_scope: str
    compressor: str
    scorer: str
    size: float | None
    questions: int
    tokens: float | None
    tokens_low: float | None
    tokens_high: float | None
    gold_recall: float | None
    gold_recall_low: float | None
    gold_recall_high: float | None
    answer_in_evidence: float | None
    answer_in_evidence_low: float | None
    answer_in_evidence_high: float | None


class Comparison(TypedDict):
    """A reference and another compressor at the reference's mean tokens.

    ``reached`` says whether the reference's length lies between the other's own sizes. Otherwise the other is mixed
    with nothing or with everything, which is a poorer compressor than the one it is named after.
    """

    questions: int
    tokens: float
    reached: bool
    ours: float
    theirs: float
    difference: float
    low: float
    high: float


class EqualTokens(Comparison):
    """A `Comparison` with what is compared."""

    corpus_scope: str
    reference: str
    compressor: str
    scorer: str
    measure: Measure


Points = Mapping[Key, Mapping[str, CompressionRow]]
REFERENCES: tuple[Key, ...] = (("canopy", "f_theta", NO_SIZE), ("canopy-lookahead", "f_theta", 0.01))


def group_points(rows: Iterable[CompressionRow]) -> dict[str, dict[Key, dict[str, CompressionRow]]]:
    """Rows by corpus scope, by compressor of one scorer and size, by question."""
    scopes: dict[str, dict[Key, dict[str, CompressionRow]]] = {}
    for r in rows:
        size = NO_SIZE if r["size"] is None or math.isnan(r["size"]) else float(r["size"])
        points = scopes.setdefault(r["corpus_scope"], {})
        points.setdefault((r["compressor"], r["scorer"], size), {})[r["question_id"]] = r
    return scopes


def summarise_points(rows: Iterable[CompressionRow], *, resamples: int, seed: int,
                     confidence: float) -> list[CurvePoint]:
    """The curves: a row a compressor and size with its mean tokens and its measures, each with an interval."""
    curves: list[CurvePoint] = []
    for corpus_scope, points in group_points(rows).items():
        for (name, scorer, size), by_question in points.items():
            of = [by_question[q] for q in sorted(by_question)]
            tokens, recall, answer = (
                _mean(values, resamples, seed, confidence)
                for values in ([r["tokens"] for r in of], [r["gold_recall"] for r in of],
                               [r["answer_in_evidence"] for r in of]))
            curves.append({
                "corpus_scope": corpus_scope, "compressor": name, "scorer": scorer,
                "size": None if size < 0 else size, "questions": len(of),
                "tokens": _number(tokens.estimate), "tokens_low": _number(tokens.low),
                "tokens_high": _number(tokens.high),
                "gold_recall": _number(recall.estimate), "gold_recall_low": _number(recall.low),
                "gold_recall_high": _number(recall.high),
                "answer_in_evidence": _number(answer.estimate), "answer_in_evidence_low": _number(answer.low),
                "answer_in_evidence_high": _number(answer.high),
            })
    return curves


def _mean(values: Sequence[float | None], resamples: int, seed: int, confidence: float) -> Interval:
    """The mean over the questions on which the value is defined."""
    defined = np.array([v is not None for v in values], dtype=np.float64)
    return ratio_intervals([(np.array([float(v or 0) for v in values]), defined)], resamples, seed, confidence)[0]


def compare_at_equal_tokens(rows: Iterable[CompressionRow], references: Sequence[Key] = REFERENCES, *, resamples: int,
                            seed: int, confidence: float) -> list[EqualTokens]:
    """Each reference against every other compressor at the reference's mean tokens.

    The other compressor's curve runs over its sizes in the order of their mean tokens, from nothing to everything.
    Between two neighbouring sizes it is a straight line: that is what choosing one of them at random for each question
    gives, so the lengths are equal exactly. Question ids are resampled once for all; each resample has its own lengths
    and its own point on the line.
    """
    comparisons: list[EqualTokens] = []
    for corpus_scope, points in group_points(rows).items():
        ends = [k for k in points if k[0] in ("none", "whole")]
        families: dict[tuple[str, str], list[Key]] = {}
        for k in points:
            if k not in ends:
                families.setdefault(k[:2], []).append(k)
        for reference in references:
            if reference not in points:
                continue
            label = reference[0] + (f" {reference[2]:g}" if reference[2] >= 0 else "")
            for family, sizes in families.items():
                if family == reference[:2]:
                    continue
                for measure in MEASURES:
                    comparison = _compare(points, reference, sizes, ends, measure, resamples, seed, confidence)
                    if comparison is not None:
                        comparisons.append({"corpus_scope": corpus_scope, "reference": label, "compressor": family[0],
                                            "scorer": family[1], "measure": measure, **comparison})
    return comparisons


def _compare(points: Points, reference: Key, sizes: Sequence[Key], ends: Sequence[Key], measure: Measure,
             resamples: int, seed: int, confidence: float) -> Comparison | None:
    """One comparison; None if the measure is defined for no question."""
    keys = [*sizes, *ends]
    ids = sorted(q for q, r in points[reference].items()
                 if r[measure] is not None and all(q in points[k] for k in keys))
    if not ids:
        return None
    columns = np.array([[v for k in (reference, *keys) for v in _tokens_and_value(points[k][q], measure)] for q in ids])

    def read(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The reference's value and the other's at its tokens, for each row of sums."""
        tokens, values = sums[:, 0::2] / len(ids), sums[:, 1::2] / len(ids)
        theirs = np.empty(len(sums))
        for n, (t, v) in enumerate(zip(tokens, values, strict=True)):
            order = np.argsort(t[1:], kind="stable")
            theirs[n] = np.interp(t[0], t[1:][order], v[1:][order])
        return values[:, 0], theirs

    (ours,), (theirs,) = read(columns.sum(axis=0, keepdims=True))
    our_draws, their_draws = read(resampled_sums(columns, resamples, seed))
    difference = interval_of(float(ours - theirs), our_draws - their_draws, confidence)
    lengths = columns[:, 0::2].mean(axis=0)
    own = lengths[1:1 + len(sizes)]
    return {"questions": len(ids), "tokens": float(lengths[0]), "reached": bool(own.min() <= lengths[0] <= own.max()),
            "ours": float(ours), "theirs": float(theirs), "difference": difference.estimate, "low": difference.low,
            "high": difference.high}


def _tokens_and_value(row: CompressionRow, measure: Measure) -> tuple[float, float]:
    """A row's tokens and its measure, which is defined for the same questions in every compressor."""
    value = row[measure]
    return float(row["tokens"]), math.nan if value is None else float(value)


def _number(v: float) -> float | None:
    return float(v) if np.isfinite(v) else None
