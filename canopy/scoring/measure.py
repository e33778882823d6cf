"""What a measure is: its name, label, direction and unit, and how it is computed and pooled.

The room ``measures`` declares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from canopy.discovery import modules_of

Unit = Literal["percent", "count", "number"]
Source = Literal["evaluation", "answers"]
EVALUATION: Source = "evaluation"
ANSWERS: Source = "answers"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as a ratio of two per-question columns.

    Attributes
    ----------
    name : str
        Its key in metrics, CSV files and ``promotion.metric``.
    label : str
        Its title in tables.
    numerator, denominator : str
        Columns of ``systems.parquet`` (source ``evaluation``) or ``answers.parquet`` (source ``answers``). Without a
        denominator it is the mean of the numerator over the questions on which that is defined. With one it is the
        ratio of the sums over questions, as the paper pools decisions.
    source : str
        ``evaluation``: measured on gold items without a reader. ``answers``: measured on what systems answered.
    higher_is_better : bool
        The direction of an improvement.
    unit : str
        ``percent`` (a share), ``count`` (shown without decimals) or ``number``.
    official : bool
        Whether a benchmark's official metric gives it; such a column is null for benchmarks that do not.
    counted : bool
        Whether it counts what need not occur: a table leaves it out if it is 0 for every system.
    summary : bool
        Whether the summary of the stage ``answers`` shows it.
    """

    name: str
    label: str
    numerator: str
    denominator: str = ""
    source: Source = EVALUATION
    higher_is_better: bool = True
    unit: Unit = "percent"
    official: bool = False
    counted: bool = False
    summary: bool = False

    @property
    def percent(self) -> bool:
        """Whether it is a share."""
        return self.unit == "percent"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is computed from."""
        return (self.numerator, self.denominator) if self.denominator else (self.numerator,)

    def ratio(self, columns: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and denominator for each question, float64.

        Both are 0 if the measure is not defined on the question.
        """
        top = np.asarray(columns[self.numerator], dtype=np.float64)
        if self.denominator:
            low = np.asarray(columns[self.denominator], dtype=np.float64)
        else:
            low = np.isfinite(top).astype(np.float64)
        counts = np.isfinite(top) & np.isfinite(low) & (low > 0)
        return np.where(counts, top, 0.0), np.where(counts, low, 0.0)


def measures_of(source: Source) -> dict[str, Measure]:
    """The measures of a source, by name, in the order in which tables show them.

    Raises
    ------
    ValueError
        If two modules of the room declare one name.
    """
    from canopy.scoring import measures

    declared: dict[str, Measure] = {}
    for module in modules_of(measures):
        for measure in getattr(module, "MEASURES", ()):
            if measure.source == source:
                if measure.name in declared:
                    raise ValueError(f"{module.__name__}: a measure of {source} is already called {measure.name!r}")
                declared[measure.name] = measure
    return declared


def label_of(name: str) -> str:
    """The title of an answers' measure in tables."""
    measure = measures_of(ANSWERS).get(name)
    return measure.label if measure else name.replace("_", " ")
