"""Compares a challenger's per-question values with the champion's or f0's: pooled difference and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from canopy.config import Config
from canopy.errors import DataError
from canopy.evaluation.systems import TUNED, frozen
from canopy.scoring.bootstrap import Interval, Ratio, paired_ratio_bootstrap
from canopy.scoring.measure import EVALUATION, Measure, measures_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class BenchmarkScores:
    """A measure on one benchmark's test questions: the challenger's and each opponent's, over the same questions."""

    challenger: Ratio
    opponents: Mapping[str, Ratio]


@dataclass(frozen=True, slots=True)
class Difference:
    """How the challenger differs from its opponent; ``gain`` is above zero if it is better, whatever the measure."""

    gain: float
    lowest_gain: float
    highest_gain: float
    description: str
    questions: int

    def questions_needed(self, required: float) -> int | None:
        """About how many questions would put the whole interval above a required gain; None: as many as there are.

        An interval narrows with the root of the number of questions, so that this holds if the gain stays the same.
        None also if the gain itself is not above what is required.
        """
        if not self.gain > required or self.lowest_gain > required:
            return None
        return math.ceil(self.questions * ((self.gain - self.lowest_gain) / (self.gain - required)) ** 2)

    @property
    def loses(self) -> bool:
        """Whether the whole interval lies below zero."""
        return bool(np.isfinite(self.highest_gain) and self.highest_gain < 0)


def fewest_questions(confidence: float) -> int:
    """The fewest questions with which an interval of this confidence says anything: 6 at 95%.

    With fewer, all of them may be better by chance (sign test, two-sided), whatever resampling makes of them: one
    question gives an interval without width.
    """
    return 1 + math.ceil(round(-math.log2(1 - confidence), 9))


def plural(questions: int) -> str:
    """``1 question``, ``2 questions``."""
    return f"{questions:,} question{'' if questions == 1 else 's'}"


def find_measure(metric: str) -> Measure:
    """The measure that ``promotion.metric`` names.

    Raises
    ------
    DataError
        If no measure has that name.
    """
    measures = measures_of(EVALUATION)
    measure = measures.get(metric)
    if measure is None:
        raise DataError(f"params.yaml: promotion.metric: {metric!r} is not measured; there are {', '.join(measures)}")
    return measure


def read_scores(table: pd.DataFrame, metric: str, champion: tuple[str, pd.DataFrame] | None) -> BenchmarkScores:
    """The values of one benchmark.

    Parameters
    ----------
    table : DataFrame
        The challenger's ``systems.parquet``.
    champion : (version, DataFrame) or None
        The champion's. Without a champion, the opponents are the two ways to encode with f0.
    """
    measure = find_measure(metric)
    questions = sorted(set(table[table["system"] == TUNED]["question_id"]))
    if champion is not None:
        version, theirs = champion
        opponents = {f"version {version}": _ratio(theirs, TUNED, questions, measure)}
    else:
        systems = [s for s in map(frozen, ("one_pass", "separate")) if (table["system"] == s).any()]
        opponents = {s: _ratio(table, s, questions, measure) for s in systems}
    return BenchmarkScores(_ratio(table, TUNED, questions, measure), opponents)


def _ratio(table: pd.DataFrame, system: str, questions: list[str], measure: Measure) -> Ratio:
    missing = {*measure.columns} - {*table.columns}
    if missing:
        raise DataError(f"a registered evaluation has no column {', '.join(sorted(missing))}: another version of "
                        "canopy wrote it; `canopy run --force evaluation` evaluates the workspace's model and "
                        "registers it again")
    rows = table[table["system"] == system].set_index("question_id").reindex(questions)
    columns = {c: rows[c].to_numpy(dtype=np.float64) for c in rows.columns if c != "system"}
    return measure.ratio(columns)


class Comparison:
    """The challenger against the strongest opponent over all benchmarks.

    Parameters
    ----------
    config : Config
        Gives the measure (``promotion.metric``), resamples, seed and confidence (``evaluation``).
    scores : dict
        The values of each benchmark.

    Raises
    ------
    DataError
        If no opponent was measured on every benchmark.
    """

    def __init__(self, config: Config, scores: Mapping[str, BenchmarkScores]) -> None:
        self._settings, self._scores = config.evaluation, scores
        self._measure = find_measure(config.promotion.metric)
        self._sign = 1 if self._measure.higher_is_better else -1
        self._opponent = self._strongest()

    @property
    def scale(self) -> tuple[int, str]:
        """The factor from the measure's values to those of messages, and their unit."""
        return (100, " points") if self._measure.percent else (1, "")

    def compare(self, benchmarks: Sequence[str]) -> Difference:
        """The difference of the pooled ratios over the questions of some benchmarks."""
        mine = _pool([self._scores[b].challenger for b in benchmarks])
        theirs = _pool([self._scores[b].opponents[self._opponent] for b in benchmarks])
        e = self._settings
        interval = paired_ratio_bootstrap(mine, theirs, e.resamples, e.seed, e.confidence)
        ends = sorted((self._sign * interval.low, self._sign * interval.high))
        return Difference(float(self._sign * interval.estimate), float(ends[0]), float(ends[1]),
                          self._describe(mine, theirs, interval), len(mine[0]))

    def _describe(self, mine: Ratio, theirs: Ratio, interval: Interval) -> str:
        scale, unit = self.scale
        before, after = (scale * float(np.divide(n.sum(), m.sum())) if m.sum() else float("nan")
                         for n, m in (theirs, mine))
        return (f"{self._measure.label} {before:.1f} ({self._opponent}) -> {after:.1f}: "
                f"{scale * interval.estimate:+.1f}{unit}, {self._settings.confidence:.0%} interval "
                f"{scale * interval.low:+.1f} to {scale * interval.high:+.1f}, {plural(len(mine[0]))}")

    def _strongest(self) -> str:
        """The champion, or the better of the two ways to encode with f0."""
        names = set.intersection(*({*s.opponents} for s in self._scores.values())) if self._scores else set()
        if not names:
            raise DataError("the evaluation holds no system to compare with (f0-one-pass, f0-separate); run "
                            "`canopy run` to evaluate again")

        def value(name: str) -> float:
            ratios = [s.opponents[name] for s in self._scores.values()]
            top, low = (sum(float(r[i].sum()) for r in ratios) for i in (0, 1))
            return (top / low if low else 0.0) * self._sign

        return max(sorted(names), key=value)


def _pool(ratios: Sequence[Ratio]) -> Ratio:
    return np.concatenate([r[0] for r in ratios]), np.concatenate([r[1] for r in ratios])
