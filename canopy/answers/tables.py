"""Writes answers.parquet and rounds.parquet out of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.journal import Journal
from canopy.answers.matrix import Cell
from canopy.answers.rows import ANSWER_SCHEMA, ROUND_SCHEMA, Measures
from canopy.answers.run import Run

_LONG = ("steps", "evidence", "prediction")  # columns that no comparison needs


class AnswerCounts(NamedTuple):
    """Counts over all answers, for people: cut evidence, replies that could not be used, and all calls."""

    cap_cut: int
    fallbacks: int
    calls: int


def write_tables(folder: Path, run: Run, journal: Journal) -> tuple[list[Mapping[str, object]], AnswerCounts]:
    """Write both tables, a row group a cell.

    Returns
    -------
    rows : list of mapping
        The rows of answers.parquet without predictions and evidence.
    counts : AnswerCounts
    """
    rows: list[Mapping[str, object]] = []
    everything: list[AnswerCounts] = []
    with pq.ParquetWriter(folder / "answers.parquet", ANSWER_SCHEMA, compression="zstd") as answers, \
            pq.ParquetWriter(folder / "rounds.parquet", ROUND_SCHEMA, compression="zstd") as rounds:
        for cell in run.cells:
            measures: dict[str, Measures] = {q.id: journal.get(cell.key(q.id))["row"] for q in run.questions(cell)}
            copies = ("own",) if run.copies_own and cell.corpus_scope == "unified" else ()
            for corpus_scope in (cell.corpus_scope, *copies):
                full = _answer_rows(run, cell, corpus_scope, measures)
                flat = [{k: v for k, v in r.items() if k != "steps"} for r in full]
                answers.write_table(pa.Table.from_pylist(flat, schema=ANSWER_SCHEMA))
                steps = [{"question_id": q, **cell.columns, "corpus_scope": corpus_scope, **step}
                         for q, m in measures.items() for step in m["steps"]]
                rounds.write_table(pa.Table.from_pylist(steps, schema=ROUND_SCHEMA))
                rows += [{k: v for k, v in r.items() if k not in _LONG} for r in full]
            everything += [_count(m) for m in measures.values()]
    return rows, AnswerCounts(*(sum(c[n] for c in everything) for n in range(3)))


def _answer_rows(run: Run, cell: Cell, corpus_scope: str,
                 measures: Mapping[str, Measures]) -> list[Mapping[str, object]]:
    """The rows of one cell: each seed's questions with the answers that hold for the seed."""
    return [{"question_id": q, **cell.columns, "corpus_scope": corpus_scope, "seed": seed, **cell.sizes, **measures[q]}
            for seed in cell.seeds for q in run.by_seed[seed]]


def _count(row: Measures) -> AnswerCounts:
    calls = row["calls"]
    return AnswerCounts(row["cap_cut"], sum(c["fallbacks"] for c in calls), sum(c["count"] for c in calls))
