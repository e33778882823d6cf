"""What may stand in one table: systems with one reader over one corpus, on the same questions, resampled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from canopy.answers.comparison import Columns, Name, SystemComparison, select_measures
from canopy.config import CORPUS_SCOPES, CorpusScope
from canopy.report.answered import Answered, reader_title
from canopy.report.results import Settings

CANOPY, LOOKAHEAD, VANILLA = ("canopy", ""), ("canopy-lookahead", ""), ("vanilla", "")


class Group(SystemComparison):
    """One benchmark's systems with one reader over one corpus.

    Attributes
    ----------
    answered : Answered
        The benchmark's answers.
    questions : int
        How many questions the systems answered.
    """

    def __init__(self, answered: Answered, frame: pd.DataFrame, settings: Settings) -> None:
        ids = sorted(set(frame["question_id"]))
        measures = select_measures(answered.primary)
        columns = dict.fromkeys(c for m in measures.values() for c in m.columns)
        values: dict[Name, Columns] = {}
        for (system, variant), part in frame.groupby(["system", "variant"], sort=False):
            rows = part.set_index("question_id").reindex(ids)
            values[str(system), str(variant)] = {c: rows[c].to_numpy(dtype=np.float64) for c in columns}
        super().__init__(values, measures, *settings.arguments)
        self.answered, self.questions, self.confidence = answered, len(ids), settings.confidence

    @property
    def systems(self) -> list[str]:
        """The systems that ran, without their variants."""
        return list(dict.fromkeys(s for s, _ in self.names))

    @property
    def first(self) -> str:
        """The official measure that systems are compared on."""
        return self.answered.primary[0]


@dataclass(slots=True)
class View:
    """All benchmarks' groups of one reader over one kind of corpus. ``label`` is who answered.

    ``suffix`` tells readers apart in files.
    """

    reader: str
    label: str
    kind: str
    corpus_scope: CorpusScope
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
    readers = {r["name"]: r for a in answers for r in a.readers}
    views = []
    for number, reader in enumerate(readers.values()):
        for corpus_scope in CORPUS_SCOPES:
            groups = []
            for a in answers:
                if corpus_scope == "own" and a.own_is_unified and "unified" in a.corpus_scopes:
                    continue
                part = a.frame[(a.frame["reader"] == reader["name"]) & (a.frame["corpus_scope"] == corpus_scope)]
                if len(part):
                    groups.append(Group(a, part, settings))
            if groups:
                suffix = f"-reader{number + 1}" if number else ""
                views.append(View(reader["name"], reader_title(reader), reader["kind"], corpus_scope, groups, suffix))
    return views
