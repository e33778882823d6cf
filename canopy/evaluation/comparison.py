"""f_theta against the frozen encoder, in one measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canopy.scoring.bootstrap import Interval, Ratio, paired_ratio_bootstrap, ratio_intervals


@dataclass(frozen=True, slots=True)
class Comparison:
    """f_theta against the better of the f0 modes (by the point value, on this very test), and against each.

    Attributes
    ----------
    measure, baseline : str
        What is compared, and the better f0 mode.
    before : float
        The baseline's value.
    after : Interval
        f_theta's value.
    against : mapping
        The difference to each f0 mode.
    """

    measure: str
    baseline: str
    before: float
    after: Interval
    against: dict[str, Interval]

    @property
    def difference(self) -> Interval:
        """Against the better f0 mode."""
        return self.against[self.baseline]


def compare(name: str, tuned: Ratio, baselines: Mapping[str, Ratio], higher_is_better: bool, resamples: int, seed: int,
            confidence: float) -> Comparison | None:
    """Compare per-question (numerator, denominator) pairs; None if one side has nothing to measure."""
    if not tuned[1].any() or not baselines or not all(d.any() for _, d in baselines.values()):
        return None
    values = {b: float(n.sum() / d.sum()) for b, (n, d) in baselines.items()}
    best = (max if higher_is_better else min)(sorted(values), key=lambda b: values[b])
    after = ratio_intervals([tuned], resamples, seed, confidence)[0]
    against = {b: paired_ratio_bootstrap(tuned, pair, resamples, seed, confidence) for b, pair in baselines.items()}
    return Comparison(name, best, values[best], after, against)
