"""What may stand in one table: systems with one reader over one corpus, on the same questions, resampled once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from canopy.config import CORPUS_SCOPES
from canopy.report.answered import Answered
from canopy.report.results import Settings
from canopy.scoring.bootstrap import Interval, Paired
from canopy.scoring.measure import ANSWERS, Measure, measures_of

Name = tuple[str, str]  # a system and its variant
CANOPY, LOOKAHEAD, VANILLA = ("canopy", ""), ("canopy-lookahead", ""), ("vanilla", "")


class Group:
    """One benchmark's systems with one reader over one corpus: the same questions, resampled once for all of them.

    Attributes
    ----------
    names : list of (system, variant)
        In the order in which the answers were written.
    questions : int
    """

    def __init__(self, answered: Answered, frame: pd.DataFrame, settings: Settings) -> None:
        self.answered, self._settings = answered, settings
        self._values: dict[tuple[str, ...], Interval | None] = {}
        self._ids = sorted(set(frame["question_id"]))
        self._parts: dict[Name, pd.DataFrame] = {
            (str(s), str(v)): part.set_index("question_id").reindex(self._ids)
            for (s, v), part in frame.groupby(["system", "variant"], sort=False)}
        self.names, self.questions = list(self._parts), len(self._ids)

    @cached_property
    def _declared(self) -> dict[str, Measure]:
        """The official measures, then those beside them."""
        declared = measures_of(ANSWERS)
        official = {m: declared.get(m, Measure(m, m.replace("_", " "), m)) for m in self.answered.primary}
        return official | {k: m for k, m in declared.items() if k not in official and (not m.official or m.counted)}

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures that systems have here."""
        return tuple(self._declared)

    @property
    def systems(self) -> list[str]:
        """The systems that ran, without their variants."""
        return list(dict.fromkeys(s for s, _ in self.names))

    @property
    def first(self) -> str:
        """The official measure that systems are compared on."""
        return self.answered.primary[0]

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    @cached_property
    def paired(self) -> Paired:
        """Every system's every measure, keyed by (system, variant, measure)."""
        pairs = {(*n, m): self.columns(n, m) for n in self.names for m in self.measures}
        s = self._settings
        return Paired(pairs, s.resamples, s.seed, s.confidence)

    def columns(self, name: Name, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """A measure's numerator and denominator for each question; both are 0 if it is not defined on the question."""
        part = self._parts[name]
        return self._declared[measure].ratio({c: part[c].to_numpy(dtype=np.float64) for c in self._declared[measure].columns})

    def value(self, name: Name, measure: str) -> Interval | None:
        """A system's measure; None if the system did not run or the measure is not defined."""
        key = (*name, measure)
        if key not in self._values:
            self._values[key] = _defined(self.paired.value(key)) if key in self.paired else None
        return self._values[key]

    def difference(self, name: Name, reference: Name, measure: str) -> Interval | None:
        """A system's measure less the reference's, on the same questions."""
        return self._against(self.paired.difference, name, reference, measure)

    def change(self, name: Name, reference: Name, measure: str) -> Interval | None:
        """A system's measure as a share more or less than the reference's."""
        return self._against(self.paired.change, name, reference, measure)

    def _against(self, compare: Callable[[Hashable, Hashable], Interval], name: Name, reference: Name, measure: str) -> Interval | None:
        a, b = (*name, measure), (*reference, measure)
        return None if name == reference or a not in self.paired or b not in self.paired else _defined(compare(a, b))


def _defined(interval: Interval) -> Interval | None:
    return interval if np.isfinite(interval.estimate) else None


@dataclass(slots=True)
class View:
    """All benchmarks' groups of one reader over one kind of corpus. ``label`` is who answered; ``suffix`` tells readers apart in files."""

    reader: str
    label: str
    kind: str
    corpus_scope: str
    groups: list[Group]
    suffix: str = ""

    @property
    def about(self) -> dict[str, str]:
        """What every table of this view says of itself."""
        return {"read by": self.label, "corpus": CORPUS_SCOPES[self.corpus_scope]}

    def key(self, table: str) -> str:
        """A table's name in files."""
        return f"{table}-{self.corpus_scope}{self.suffix}"

    def only(self, groups: Sequence[Group]) -> View:
        """This view of some of its benchmarks."""
        return View(self.reader, self.label, self.kind, self.corpus_scope, list(groups), self.suffix)


def build_views(answers: Sequence[Answered], settings: Settings) -> list[View]:
    """All views, by reader and corpus. A benchmark whose own corpus is all there is has one corpus, the unified one."""
    readers = {r.name: r for a in answers for r in a.readers}
    views = []
    for number, reader in enumerate(readers.values()):
        for corpus_scope in CORPUS_SCOPES:
            groups = []
            for a in answers:
                if corpus_scope == "own" and a.own_is_unified and "unified" in a.corpus_scopes:
                    continue
                part = a.frame[(a.frame["reader"] == reader.name) & (a.frame["corpus_scope"] == corpus_scope)]
                if len(part):
                    groups.append(Group(a, part, settings))
            if groups:
                suffix = f"-reader{number + 1}" if number else ""
                views.append(View(reader.name, reader.title, reader.kind, corpus_scope, groups, suffix))
    return views
