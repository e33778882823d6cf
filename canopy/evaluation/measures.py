"""The names of what is compared, and the measures it is compared by: what the evaluation writes and the report reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from canopy.scoring.bootstrap import Interval, paired_ratio_bootstrap, ratio_intervals

TUNED = "f_theta"
WHOLE = "whole item"
GOLD = "gold span"


def frozen(mode: str) -> str:
    """Name of the system that runs the rule on f0 in one encoding mode."""
    return f"f0 {mode}"


def flat_leaf(m: int) -> str:
    """Name of the flat selector of m leaves an item."""
    return f"flat leaf m={m}"


def any_level(m: int) -> str:
    """Name of the selector of m nodes of any level an item."""
    return f"any-level m={m}"


def slug(system: str) -> str:
    """A system's name as a metric key: ``flat leaf m=2`` is ``flat_leaf_m2``."""
    return system.replace("=", "").replace("-", "_").replace(" ", "_")


DEPTH_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as a ratio of two columns of ``systems.parquet``.

    Without ``denominator`` it is the mean of ``numerator`` over the questions on which that is defined; with one it is the
    ratio of the sums over questions, as the paper pools decisions.
    """

    label: str
    numerator: str
    denominator: str | None = None
    higher_is_better: bool = True
    percent: bool = True


MEASURES: dict[str, Measure] = {
    "decision_accuracy": Measure("decision accuracy", "decisions_held", "decisions"),
    "gold_recall": Measure("gold recall", "gold_recall"),
    "pruned": Measure("pruned", "pruned_items", "refinable"),
    "kept_share": Measure("kept tokens", "kept_tokens", "whole_tokens", higher_is_better=False),
    "kept_tokens": Measure("tokens a question", "kept_tokens", higher_is_better=False, percent=False),
    "answer_in_evidence": Measure("answer in evidence", "answer_in_evidence"),
}


def measured(columns: Mapping[str, np.ndarray], measure: Measure) -> tuple[np.ndarray, np.ndarray]:
    """Numerator and denominator of a measure for each question; a question without a value weighs nothing."""
    top = np.asarray(columns[measure.numerator], dtype=np.float64)
    low = np.ones(len(top)) if measure.denominator is None else np.asarray(columns[measure.denominator], dtype=np.float64)
    defined = np.isfinite(top) & np.isfinite(low)
    return np.where(defined, top, 0.0), np.where(defined, low, 0.0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """f_theta against the better of the f0 modes (by the point value, on this very test), and against each."""

    measure: str
    baseline: str
    before: float
    after: Interval
    against: dict[str, Interval]

    @property
    def difference(self) -> Interval:
        """Against the better f0 mode."""
        return self.against[self.baseline]


def compare(name: str, tuned: tuple[np.ndarray, np.ndarray], baselines: Mapping[str, tuple[np.ndarray, np.ndarray]],
            higher_is_better: bool, resamples: int, seed: int, confidence: float) -> Comparison | None:
    """Compare per-question (numerator, denominator) pairs; None where one side has nothing to measure."""
    if not tuned[1].any() or not baselines or not all(d.any() for _, d in baselines.values()):
        return None
    values = {b: float(n.sum() / d.sum()) for b, (n, d) in baselines.items()}
    best = (max if higher_is_better else min)(sorted(values), key=lambda b: values[b])
    return Comparison(name, best, values[best], ratio_intervals([tuned], resamples, seed, confidence)[0],
                      {b: paired_ratio_bootstrap(tuned, pair, resamples, seed, confidence) for b, pair in baselines.items()})
