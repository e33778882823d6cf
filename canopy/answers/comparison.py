"""Systems on the same questions: values, differences and changes of every measure, from one resampling."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property

import numpy as np

from canopy.scoring.bootstrap import Interval, Paired
from canopy.scoring.measure import ANSWERS, Measure, measures_of

Name = tuple[str, str]  # a system and its variant
Columns = Mapping[str, np.ndarray]  # a column's name to its values, float64, one a question; NaN if it is not defined


class SystemComparison:
    """Compares systems that answered the same questions.

    Parameters
    ----------
    columns : mapping
        Each system's columns of ``answers.parquet``, the questions in the same order. A system that did not answer a
        question has NaN there.
    measures : mapping
        What is measured, by name.
    resamples, seed, confidence
        As `canopy.scoring.bootstrap.Paired` takes them.
    """

    def __init__(self, columns: Mapping[Name, Columns], measures: Mapping[str, Measure], resamples: int, seed: int,
                 confidence: float) -> None:
        self._columns, self._measures = columns, measures
        self._settings = (resamples, seed, confidence)
        self._values: dict[tuple[str, ...], Interval | None] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @property
    def names(self) -> list[Name]:
        """The systems, in the order in which they came."""
        return list(self._columns)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self._measures)

    @cached_property
    def paired(self) -> Paired:
        """Every system's every measure, keyed by (system, variant, measure)."""
        pairs: dict[Hashable, tuple[np.ndarray, np.ndarray]] = {
            (*name, m): measure.ratio(columns)
            for name, columns in self._columns.items() for m, measure in self._measures.items()
        }
        return Paired(pairs, *self._settings)

    def value(self, name: Name, measure: str) -> Interval | None:
        """A system's measure; None if the system did not run or the measure is not defined."""
        key = (*name, measure)
        if key not in self._values:
            self._values[key] = _defined(self.paired.value(key)) if key in self.paired else None
        return self._values[key]

    def difference(self, name: Name, reference: Name, measure: str) -> Interval | None:
        """A system's measure less the reference's, over the questions that count for both."""
        return self._against(self.paired.difference, name, reference, measure)

    def change(self, name: Name, reference: Name, measure: str) -> Interval | None:
        """A system's measure as a share more or less than the reference's."""
        return self._against(self.paired.change, name, reference, measure)

    def _against(self, compare: Callable[[Hashable, Hashable], Interval], name: Name, reference: Name,
                 measure: str) -> Interval | None:
        a, b = (*name, measure), (*reference, measure)
        if name == reference or a not in self.paired or b not in self.paired:
            return None
        return _defined(compare(a, b))


def _defined(interval: Interval) -> Interval | None:
    return interval if np.isfinite(interval.estimate) else None


def select_measures(primary: tuple[str, ...], *, summary: bool = False) -> dict[str, Measure]:
    """The official measures of a benchmark, then those beside them; ``summary``: only those of the stage's summary."""
    declared = measures_of(ANSWERS)
    official = {m: declared.get(m, Measure(m, m.replace("_", " "), m)) for m in primary}
    beside = {k: m for k, m in declared.items() if (m.summary if summary else not m.official or m.counted)}
    return official | {k: m for k, m in beside.items() if k not in official}
