"""Confidence intervals by resampling questions, with one resampling shared by everything that is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference (or a value) and its percentile interval; all NaN where nothing could be measured."""

    difference: float
    low: float
    high: float


def resampled_sums(columns: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sums of each column over questions drawn with replacement.

    Parameters
    ----------
    columns : ndarray of float64, shape (questions, k)
        What is summed, one row a question; equal seed and number of questions draw equal questions.

    Returns
    -------
    ndarray of float64, shape (resamples, k)
    """
    n = len(columns)
    generator = np.random.default_rng(seed)
    out = np.empty((resamples, columns.shape[1]))
    step = max(1, _CHUNK // max(1, n))
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        weights = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        out[start:start + rows] = weights.astype(np.float64) @ columns
    return out


def _interval(value: float, draws: np.ndarray, confidence: float) -> Interval:
    draws = draws[np.isfinite(draws)]
    if not np.isfinite(value) or not len(draws):
        return Interval(float("nan"), float("nan"), float("nan"))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(draws, [tail, 100 - tail])
    return Interval(float(value), float(low), float(high))


def _ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def ratio_intervals(pairs: Sequence[tuple[np.ndarray, np.ndarray]], resamples: int = 1000, seed: int = 13,
                    confidence: float = 0.95) -> list[Interval]:
    """Pooled ratios (numerator and denominator summed over the same questions) and their intervals, from one resampling."""
    if not pairs or not len(pairs[0][0]):
        return [Interval(float("nan"), float("nan"), float("nan")) for _ in pairs]
    columns = np.stack([column for pair in pairs for column in pair], axis=1).astype(np.float64)
    values = _ratio(columns.sum(axis=0).reshape(-1, 2))
    draws = _ratio(resampled_sums(columns, resamples, seed).reshape(resamples, -1, 2))
    return [_interval(v, draws[:, i], confidence) for i, v in enumerate(values)]


def paired_ratio_bootstrap(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray], resamples: int = 1000,
                           seed: int = 13, confidence: float = 0.95) -> Interval:
    """Difference a - b of two pooled ratios over the same questions.

    Parameters
    ----------
    a, b : (numerator, denominator)
        One value a question; both systems are resampled by the same draws of questions.
    """
    columns = np.stack([*a, *b], axis=1).astype(np.float64)
    if not columns[:, 1].any() or not columns[:, 3].any():
        return Interval(float("nan"), float("nan"), float("nan"))
    sums, draws = columns.sum(axis=0), resampled_sums(columns, resamples, seed)
    return _interval(_ratio(sums[:2]) - _ratio(sums[2:]), _ratio(draws[:, :2]) - _ratio(draws[:, 2:]), confidence)


def paired_bootstrap(a: np.ndarray, b: np.ndarray, resamples: int = 1000, seed: int = 13,
                     confidence: float = 0.95) -> Interval:
    """Difference of means a - b over the questions on which both are defined (NaN: not defined)."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values must be of the same questions: shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    one = both.astype(np.float64)
    return paired_ratio_bootstrap((np.where(both, a, 0), one), (np.where(both, b, 0), one), resamples, seed, confidence)
