"""Systems on the same questions: means with intervals, and differences to a reference, from one resampling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.scoring.bootstrap import Interval, Paired

Name = tuple[str, str]  # a system and its variant
REFERENCES = {"gold": ("gold-item", "vanilla"), "": ("vanilla", "no-retrieval")}
FlatRow = dict[str, str | int | float | None]
# Measures beside the official ones.
BESIDE = ("gold_recall", "gold_item_recall", "answer_in_evidence", "tokens", "kept_share", "calls", "rounds",
          "duplicate_share")
# Shares that are pooled over questions, as (numerator, denominator). Others are means over the questions that define
# them.
POOLED = {"gold_item_recall": ("gold_items_found", "gold_items"), "kept_share": ("tokens", "whole_tokens"),
          "duplicate_share": ("duplicates", "follow_up_retrieved")}


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
    pooled = {c for pair in POOLED.values() for c in pair}
    means = [m for m in BESIDE if m not in POOLED]
    return ["question_id", "reader", "corpus_scope", "system", "variant",
            *dict.fromkeys((*primary, *means, *sorted(pooled)))]


def measure_pair(column: Callable[[str], np.ndarray], measure: str,
                 pooled: Mapping[str, tuple[str, str]] = POOLED) -> tuple[np.ndarray, np.ndarray]:
    """Numerator and denominator of a measure for each question; both are 0 for a question on which it is not defined.

    Parameters
    ----------
    column : callable
        A column's name to its values, float64, one a question; NaN if a value is not defined.
    pooled : mapping
        Measures that are pooled over questions, as (numerator, denominator). Others are means of one column.
    """
    top, low = pooled.get(measure, (measure, ""))
    a = column(top)
    b = column(low) if low else np.isfinite(a).astype(np.float64)
    counts = np.isfinite(a) & np.isfinite(b) & (b > 0)
    return np.where(counts, a, 0.0), np.where(counts, b, 0.0)


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
    measures = [*primary, *BESIDE]
    for (reader, corpus_scope), systems in groups.items():
        ids = sorted({q for answers in systems.values() for q in answers})
        paired = Paired({(*name, m): measure_pair(_columns_of(answers, ids), m)
                         for name, answers in systems.items() for m in measures}, resamples, seed, confidence)
        candidates = REFERENCES.get(corpus_scope, REFERENCES[""])
        reference = next((n for n in candidates if (n, "") in systems), "")
        for name, answers in systems.items():
            values = {m: paired.value((*name, m)) for m in measures}
            difference = None
            if reference and name != (reference, ""):
                difference = paired.difference((*name, primary[0]), (reference, "", primary[0]))
            lines[reader, corpus_scope, name] = Line(reader, corpus_scope, *name, len(answers), values, reference,
                                                     difference)
    order = dict.fromkeys((r["reader"], r["corpus_scope"], (r["system"], r["variant"])) for r in rows)
    return [lines[key] for key in order]


def _columns_of(answers: Mapping[str, Mapping[str, Any]], ids: Sequence[str]) -> Callable[[str], np.ndarray]:
    """A system's columns over the questions of its group; NaN if it did not answer one, or the value is not defined."""
    def value(row: Mapping[str, Any], name: str) -> float:
        if name == "calls" and row:
            return float(sum(c["count"] for c in row["calls"]))
        number = row.get(name)
        return float("nan") if number is None else float(number)

    return lambda name: np.array([value(answers.get(q, {}), name) for q in ids], dtype=np.float64)


def flat(lines: Sequence[Line], primary: Sequence[str]) -> list[FlatRow]:
    """Lines as flat rows for tables of numbers; a value that is not defined is None."""
    rows: list[FlatRow] = []
    for line in lines:
        row: FlatRow = {"corpus_scope": line.corpus_scope, "system": f"{line.system} {line.variant}".strip(),
                        "questions": line.questions}
        for m in (*primary, *BESIDE):
            row[m] = _number(line.values[m].estimate)
            if m in (*primary, "gold_recall", "answer_in_evidence", "tokens"):
                row[f"{m}_low"], row[f"{m}_high"] = _number(line.values[m].low), _number(line.values[m].high)
        difference = line.difference
        row["difference_to"] = line.reference if difference else ""
        row["difference"] = _number(difference.estimate) if difference else None
        row["difference_low"] = _number(difference.low) if difference else None
        row["difference_high"] = _number(difference.high) if difference else None
        rows.append(row)
    return rows


def _number(v: float) -> float | None:
    return float(v) if np.isfinite(v) else None
