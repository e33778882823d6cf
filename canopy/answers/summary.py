"""Systems on the same questions: means with intervals, and differences to a reference, from one resampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.answers.comparison import Name, SystemComparison, select_measures
from canopy.scoring.bootstrap import Interval

REFERENCES = {"gold": ("gold-item", "vanilla"), "": ("vanilla", "no-retrieval")}
FlatRow = dict[str, str | int | float | None]
_UNDEFINED = Interval(float("nan"), float("nan"), float("nan"))
_WITH_INTERVALS = ("gold_recall", "answer_in_evidence", "tokens")


@dataclass(frozen=True, slots=True)
class Line:
    """One system's row: means by measure, and the difference to the reference in the first official measure."""

    reader: str
    corpus_scope: str
    system: str
    variant: str
    questions: int
    values: Mapping[str, Interval]
    reference: str
    difference: Interval | None


def columns_read(primary: Sequence[str]) -> list[str]:
    """The columns of answers.parquet that `compare_systems` reads."""
    columns = [c for m in select_measures(tuple(primary), summary=True).values() for c in m.columns]
    return ["question_id", "reader", "corpus_scope", "system", "variant", *dict.fromkeys(columns)]


def compare_systems(rows: Sequence[Mapping[str, Any]], primary: Sequence[str], *, resamples: int, seed: int,
                    confidence: float) -> list[Line]:
    """A line for every (reader, corpus_scope, system, variant), in the order of the rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of answers.parquet of one benchmark; a question that several seeds ask counts once.
    primary : sequence of str
        The benchmark's official measures, first the one that systems are compared on.

    Notes
    -----
    The systems of one reader and corpus scope answer the same questions. These are resampled once for all of them.
    """
    groups: dict[tuple[str, str], dict[Name, dict[str, Mapping[str, Any]]]] = {}
    for r in rows:
        systems = groups.setdefault((r["reader"], r["corpus_scope"]), {})
        systems.setdefault((r["system"], r["variant"]), {}).setdefault(r["question_id"], r)
    lines: dict[tuple[str, str, Name], Line] = {}
    measures = select_measures(tuple(primary), summary=True)
    columns = list(dict.fromkeys(c for m in measures.values() for c in m.columns))
    for (reader, corpus_scope), systems in groups.items():
        ids = sorted({q for answers in systems.values() for q in answers})
        values = {name: {c: _column(answers, ids, c) for c in columns} for name, answers in systems.items()}
        comparison = SystemComparison(values, measures, resamples, seed, confidence)
        candidates = REFERENCES.get(corpus_scope, REFERENCES[""])
        reference = next((n for n in candidates if (n, "") in systems), "")
        for name, answers in systems.items():
            intervals = {m: comparison.value(name, m) or _UNDEFINED for m in measures}
            difference = None
            if reference and name != (reference, ""):
                difference = comparison.difference(name, (reference, ""), primary[0]) or _UNDEFINED
            lines[reader, corpus_scope, name] = Line(reader, corpus_scope, *name, len(answers), intervals, reference,
                                                     difference)
    order = dict.fromkeys((r["reader"], r["corpus_scope"], (r["system"], r["variant"])) for r in rows)
    return [lines[key] for key in order]


def _column(answers: Mapping[str, Mapping[str, Any]], ids: Sequence[str], column: str) -> np.ndarray:
    """A system's column over the questions of its group; NaN if it did not answer one, or the value is not defined."""
    def value(row: Mapping[str, Any]) -> float:
        if column == "calls" and row:
            return float(sum(c["count"] for c in row["calls"]))
        number = row.get(column)
        return float("nan") if number is None else float(number)

    return np.array([value(answers.get(q, {})) for q in ids], dtype=np.float64)


def flat(lines: Sequence[Line], primary: Sequence[str]) -> list[FlatRow]:
    """Lines as flat rows for tables of numbers; a value that is not defined is None."""
    rows: list[FlatRow] = []
    for line in lines:
        row: FlatRow = {"corpus_scope": line.corpus_scope, "system": f"{line.system} {line.variant}".strip(),
                        "questions": line.questions}
        for m, value in line.values.items():
            row[m] = _number(value.estimate)
            if m in (*primary, *_WITH_INTERVALS):
                row[f"{m}_low"], row[f"{m}_high"] = _number(value.low), _number(value.high)
        difference = line.difference
        row["difference_to"] = line.reference if difference else ""
        row["difference"] = _number(difference.estimate) if difference else None
        row["difference_low"] = _number(difference.low) if difference else None
        row["difference_high"] = _number(difference.high) if difference else None
        rows.append(row)
    return rows


def _number(v: float) -> float | None:
    return float(v) if np.isfinite(v) else None
