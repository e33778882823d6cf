"""Confidence intervals by resampling questions, with one resampling shared by everything that is compared."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Ratio = tuple[np.ndarray, np.ndarray]  # numerator and denominator of a measure, one value a question
_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate (of a value, a difference or a change) and its percentile interval.

    All NaN if nothing could be measured.
    """

    estimate: float
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
        sample = generator.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        weights = np.bincount(sample.ravel(), minlength=rows * n).reshape(rows, n)
        out[start:start + rows] = weights.astype(np.float64) @ columns
    return out


def interval_of(value: float, draws: np.ndarray, confidence: float) -> Interval:
    """A value with the percentile interval of its draws; draws that are not defined are left out."""
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
    """Pooled ratios (numerator and denominator summed over the same questions) and their intervals, from one
    resampling."""
    if not pairs or not len(pairs[0][0]):
        return [Interval(float("nan"), float("nan"), float("nan")) for _ in pairs]
    columns = np.stack([column for pair in pairs for column in pair], axis=1).astype(np.float64)
    values = _ratio(columns.sum(axis=0).reshape(-1, 2))
    draws = _ratio(resampled_sums(columns, resamples, seed).reshape(resamples, -1, 2))
    return [interval_of(v, draws[:, i], confidence) for i, v in enumerate(values)]


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
    return interval_of(_ratio(sums[:2]) - _ratio(sums[2:]), _ratio(draws[:, :2]) - _ratio(draws[:, 2:]), confidence)


def paired_bootstrap(a: np.ndarray, b: np.ndarray, resamples: int = 1000, seed: int = 13,
                     confidence: float = 0.95) -> Interval:
    """Difference of means a - b over the questions on which both are defined (NaN: not defined)."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values must be of the same questions: shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    one = both.astype(np.float64)
    return paired_ratio_bootstrap((np.where(both, a, 0), one), (np.where(both, b, 0), one), resamples, seed, confidence)


class Paired:
    """Many ratios over the same questions, resampled once: values, differences and changes all come out of the same
    draws.

    Parameters
    ----------
    pairs : mapping of key to (numerator, denominator)
        One value a question each, the questions in the same order; a question that does not count for a ratio is 0 in
        both.

    Attributes
    ----------
    resamples, seed, confidence
        As `ratio_intervals` takes them: equal seed and number of questions draw equal questions.
    """

    def __init__(self, pairs: Mapping[Hashable, tuple[np.ndarray, np.ndarray]], resamples: int = 1000, seed: int = 13,
                 confidence: float = 0.95) -> None:
        self._pairs, self.resamples, self.seed, self.confidence = dict(pairs), resamples, seed, confidence
        self._place = {key: n for n, key in enumerate(self._pairs)}
        columns = np.stack([c for pair in self._pairs.values() for c in pair],
                           axis=1).astype(np.float64) if self._pairs else np.zeros((0, 0))
        self._values = _ratio(columns.sum(axis=0).reshape(-1, 2))
        sums = resampled_sums(columns, resamples, seed) if len(columns) else np.zeros((resamples, 2 * len(self._pairs)))
        self._draws = _ratio(sums.reshape(resamples, -1, 2))

    def __contains__(self, key: object) -> bool:
        return key in self._place

    def draws(self, key: Hashable) -> tuple[float, np.ndarray]:
        """A ratio and its value in every resample; NaN if its denominator is 0."""
        n = self._place[key]
        return float(self._values[n]), self._draws[:, n]

    def value(self, key: Hashable) -> Interval:
        """A ratio and its interval."""
        return interval_of(*self.draws(key), self.confidence)

    def difference(self, a: Hashable, b: Hashable) -> Interval:
        """Ratio ``a`` less ratio ``b``, over the questions that count for both."""
        (x, xs), (y, ys) = self._both(a, b)
        return interval_of(x - y, xs - ys, self.confidence)

    def change(self, a: Hashable, b: Hashable) -> Interval:
        """``a / b - 1`` over the questions that count for both: +0.25 is a quarter more."""
        (x, xs), (y, ys) = self._both(a, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            return interval_of(float(np.float64(x) / y - 1), xs / ys - 1, self.confidence)

    def _both(self, a: Hashable, b: Hashable) -> tuple[tuple[float, np.ndarray], tuple[float, np.ndarray]]:
        """Both ratios, restricted to the questions that count for both if these are not the same."""
        (p, q), (r, s) = self._pairs[a], self._pairs[b]
        counted, other = np.asarray(q) != 0, np.asarray(s) != 0
        if (counted == other).all():
            return self.draws(a), self.draws(b)
        both = counted & other
        shared = Paired({0: (np.where(both, p, 0), np.where(both, q, 0)),
                         1: (np.where(both, r, 0), np.where(both, s, 0))},
                        self.resamples, self.seed, self.confidence)
        return shared.draws(0), shared.draws(1)
