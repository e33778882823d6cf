"""Checks the tables that a stage reads when it starts: it must not build on what broke since they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.errors import DataError

if TYPE_CHECKING:
    from canopy.config import Config
    from canopy.paths import Paths
    from canopy.validation.outcomes import CheckOutcome
    from canopy.validation.protocol import Validator

# Where a table lies, and the columns that rules look at; texts are read for their lengths, nothing of theirs is kept.
FILES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "items": ("benchmark", ("items.parquet",), ("id", "modality", "text", "rows", "duration")),
    "questions": ("benchmark", ("questions.parquet",), ("id", "question", "answers")),
    "annotations": ("benchmark", ("annotations.parquet",), ("question_id", "item_id", "unit", "spans")),
    "gold": ("gold_spans", ("gold.parquet",), ("question_id", "item_id", "fragments", "count", "modality")),
    "texts": ("gold_spans", ("texts.parquet",), ("item_id", "modality", "part", "text")),
    "splits": ("split", ("splits.parquet",), ("question_id", "split")),
    "groups": ("split", ("groups.parquet",), ("kind", "group", "benchmark", "id", "sides")),
    "instances": ("training_instances", ("instances.parquet",), (
        "question_id", "item_id", "group", "node", "split", "lo", "hi", "count", "fully_gold", "child_nodes",
        "child_gold")),
    "corpus": ("corpus", ("items.parquet",), ("id",)),
    "corpus_items": ("corpus", ("items.parquet", "near.parquet"), ("id", "modality", "text", "rows", "duration")),
    "folded": ("corpus", ("folded.parquet",), ("item_id", "into")),
}
Reads = Mapping[str, tuple[str, ...]]  # suites that a stage's inputs must meet, each with its tables
_ALIASES = {"corpus_items": "items"}  # a table that rules know by another name


def check_inputs(stage: str, reads: Reads, config: Config, paths: Paths, validator: Validator,
                 benchmark: str | None = None) -> list[CheckOutcome]:
    """Check what a stage reads, of one benchmark or of all configured ones.

    It reads a few columns again and takes milliseconds for thousands of rows; the texts themselves are not looked at.

    Returns
    -------
    list of CheckOutcome
        Outcomes of the stage's own suite, and those of other suites with their ``suite`` and ``source``.

    Raises
    ------
    ValidationFailed
        If a blocking rule is broken; the message names the output, the rule and the rows.
    DataError
        If a table is not there or cannot be read.
    """
    outcomes: list[CheckOutcome] = []
    for suite, tables, source in read_inputs(reads, config, paths, benchmark):
        for outcome in validator.check(suite, tables, source=source):
            if suite != stage:
                outcome["suite"], outcome["source"] = suite, source
            outcomes.append(outcome)
    return outcomes


def read_inputs(reads: Reads, config: Config, paths: Paths,
                benchmark: str | None = None) -> Iterator[tuple[str, dict[str, pa.Table], str]]:
    """The suites a stage's inputs must meet, each with its tables and the output they lie in.

    Tables are of one benchmark at a time.
    """
    for name in (benchmark,) if benchmark else tuple(config.benchmarks):
        cached: dict[str, pa.Table] = {}
        for suite, names in reads.items():
            if suite == "corpus" and name != next(iter(config.benchmarks)):
                continue  # one corpus for all
            for table in names:
                if table not in cached:
                    cached[table] = read_columns(table, paths, name)
            stage = FILES[names[0]][0]
            folder = paths.output(stage, name if stage != "corpus" else None)
            yield suite, {_ALIASES.get(t, t): cached[t] for t in names}, str(folder.relative_to(paths.root))


def read_columns(table: str, paths: Paths, benchmark: str) -> pa.Table:
    """The columns of a stage's table that rules look at.

    Raises
    ------
    DataError
        If the file is missing, is no Parquet or lacks a column.
    """
    stage, files, columns = FILES[table]
    folder: Path = paths.output(stage, None if stage == "corpus" else benchmark)
    return pa.concat_tables([_read(folder / file, columns, stage) for file in files])


def _read(path: Path, columns: tuple[str, ...], stage: str) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(columns)).select(list(columns))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; `canopy run --select {stage}` makes it") from None
    except (pa.ArrowInvalid, pa.ArrowKeyError, KeyError, OSError) as e:
        reason = str(e).splitlines()[0][:120]
        raise DataError(f"{path}: not a table of this version ({reason}); "
                        f"`canopy run --force {stage}` writes it again") from None
