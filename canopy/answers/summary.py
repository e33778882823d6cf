"""Systems side by side on the same questions: means with intervals, and differences to a reference, from one resampling of question ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.scoring.bootstrap import Interval, paired_bootstrap, ratio_intervals

REFERENCES = {"gold": ("gold-item", "vanilla"), "": ("vanilla", "no-retrieval")}
# Measures beside the official ones: a row's columns.
BESIDE = ("gold_recall", "gold_item_recall", "answer_in_evidence", "tokens", "kept_share", "calls", "rounds", "duplicate_share")
# Shares that are pooled over questions, as (numerator, denominator); the rest are means over the questions on which they are defined.
POOLED = {"gold_item_recall": ("gold_items_found", "gold_items"), "kept_share": ("tokens", "whole_tokens"),
          "duplicate_share": ("duplicates", "follow_up_retrieved")}


@dataclass(frozen=True, slots=True)
class Line:
    """One system's row: means with intervals by measure, and the difference in the first official measure to the reference."""

    reader: str
    corpus_scope: str
    system: str
    variant: str
    questions: int
    values: Mapping[str, Interval]
    reference: str
    difference: Interval | None


def columns_read(primary: Sequence[str]) -> list[str]:
    """The columns of answers.parquet that `compare_systems` looks at."""
    pooled = {c for pair in POOLED.values() for c in pair}
    return ["question_id", "reader", "corpus_scope", "system", "variant", *dict.fromkeys((*primary, *(m for m in BESIDE if m not in POOLED), *sorted(pooled)))]


def values_of(rows: Sequence[Mapping[str, Any]], measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Numerator and denominator of a measure for each row; a row on which it is not defined weighs nothing."""
    if measure in POOLED:
        top, low = (np.array([float(r[c] or 0) for r in rows]) for c in POOLED[measure])
        return np.where(low > 0, top, 0.0), low
    raw = [sum(c["count"] for c in r["calls"]) if measure == "calls" else r[measure] for r in rows]
    defined = np.array([v is not None and np.isfinite(v) for v in raw], dtype=bool)
    return np.array([float(v) if d else 0.0 for v, d in zip(raw, defined, strict=True)]), defined.astype(np.float64)


def compare_systems(rows: Sequence[Mapping[str, Any]], primary: Sequence[str], *, resamples: int, seed: int, confidence: float) -> list[Line]:
    """A line for every (reader, corpus_scope, system, variant), in the order of the rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of answers.parquet of one benchmark; a question that several seeds drew counts once.
    primary : sequence of str
        The benchmark's official measures, first the one that systems are compared on.

    Notes
    -----
    The question ids are the same for all systems of a corpus scope and are resampled once: equal seed and number of questions draw equal questions.
    """
    cells: dict[tuple[str, str, str, str], dict[str, Mapping[str, Any]]] = {}
    for r in rows:
        cells.setdefault((r["reader"], r["corpus_scope"], r["system"], r["variant"]), {}).setdefault(r["question_id"], r)
    lines = []
    for (reader, corpus_scope, system, variant), held in cells.items():
        ids = sorted(held)
        mine = [held[i] for i in ids]
        measures = [*primary, *BESIDE]
        intervals = ratio_intervals([values_of(mine, m) for m in measures], resamples, seed, confidence)
        reference = next((n for n in REFERENCES.get(corpus_scope, REFERENCES[""]) if (reader, corpus_scope, n, "") in cells), "")
        difference = None
        if reference and (system, variant) != (reference, ""):
            theirs = cells[reader, corpus_scope, reference, ""]
            difference = difference_of(mine, [theirs.get(i, {}) for i in ids], primary[0], resamples, seed, confidence)
        lines.append(Line(reader, corpus_scope, system, variant, len(ids), dict(zip(measures, intervals, strict=True)), reference, difference))
    return lines


def difference_of(mine: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], measure: str, resamples: int, seed: int,
                  confidence: float) -> Interval:
    """The paired difference of a measure's means over the same questions."""
    a, b = (np.array([np.nan if r.get(measure) is None else float(r[measure]) for r in rows]) for rows in (mine, theirs))
    return paired_bootstrap(a, b, resamples, seed, confidence)


def flat(lines: Sequence[Line], primary: Sequence[str]) -> list[dict[str, Any]]:
    """Lines as flat rows for tables of numbers; what is not defined is left out as None."""
    def number(v: float) -> float | None:
        return float(v) if np.isfinite(v) else None

    out = []
    for line in lines:
        row: dict[str, Any] = {"corpus_scope": line.corpus_scope, "system": line.system + (f" {line.variant}" if line.variant else ""), "questions": line.questions}
        for m in (*primary, *BESIDE):
            row[m] = number(line.values[m].estimate)
            if m in (*primary, "gold_recall", "answer_in_evidence", "tokens"):
                row[f"{m}_low"], row[f"{m}_high"] = number(line.values[m].low), number(line.values[m].high)
        row["difference_to"] = line.reference if line.difference else ""
        for end, column in (("estimate", "difference"), ("low", "difference_low"), ("high", "difference_high")):
            row[column] = number(getattr(line.difference, end)) if line.difference else None
        out.append(row)
    return out
