"""What the stage ``answers`` wrote, as the report reads it: one benchmark's systems on the same questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.compression import CompressionFile
from canopy.answers.gold import OF_GOLD
from canopy.answers.listing import ReaderRow, SystemRow, read_systems
from canopy.benchmarks.declaration import Benchmark
from canopy.errors import DataError
from canopy.gold.kinds import GoldKinds
from canopy.scoring.measure import ANSWERS, measures_of

COMPRESSION = "compression.json"
CELL = ("reader", "corpus_scope", "system", "variant")
_OF_CALLS = ("count", "prompt_tokens", "completion_tokens", "fallbacks")
_NOT_COLUMNS = frozenset({"calls", *_OF_CALLS})


@dataclass(slots=True)
class Answered:
    """One benchmark's answers.

    Attributes
    ----------
    frame : DataFrame
        A row for every reader, corpus scope, system, variant and question; what several seeds answered is averaged.
    outcomes : DataFrame
        Items kept whole, split and pruned, by reader, corpus scope, system and modality (no variants).
    notes : DataFrame
        What differed from the protocol, by reader, corpus scope, system and note: how often (no variants).
    primary : tuple of str
        The official measures, first the one that systems are compared on.
    rules : str
        The official rules, in a sentence.
    own_is_unified : bool
        Whether the benchmark's own corpus is all that there is.
    trained : bool
        Whether f_theta was trained on questions of this benchmark.
    compression : dict, optional
        Compressors without a reader; None if they were not measured.
    readers, systems : tuple of dict
        As systems.json lists them.
    paper_name : str
        What the paper calls the benchmark; empty if the paper has no figure of it.
    out_of_domain : bool
        Whether the paper tests on it without training on it.
    gold : GoldKinds
        How many of the questions have annotated gold, and how many pseudo-gold.
    """

    name: str
    frame: pd.DataFrame
    outcomes: pd.DataFrame
    notes: pd.DataFrame
    primary: tuple[str, ...]
    rules: str
    readers: tuple[ReaderRow, ...]
    corpus_scopes: tuple[str, ...]
    systems: tuple[SystemRow, ...]
    own_is_unified: bool = False
    trained: bool = True
    compression: CompressionFile | None = None
    paper_name: str = ""
    out_of_domain: bool = False
    gold: GoldKinds = field(default_factory=GoldKinds)

    def headline(self) -> Answered:
        """These answers without what they say of pseudo-gold, if headline figures leave that out.

        Every answer stays, since official measures ask for no gold; of questions that are left out the recall of gold
        is not defined.
        """
        kinds = self.gold.among(set(self.frame["question_id"]))
        if not kinds.left_out:
            return replace(self, gold=kinds)
        frame, rows = self.frame.copy(), self.frame["question_id"].isin(kinds.left_out)
        for column, blank in OF_GOLD.items():
            if column in frame:
                frame[column] = frame[column].astype(np.float64)
                frame.loc[rows, column] = np.nan if blank is None else blank
        return replace(self, gold=kinds, frame=frame)

    def system(self, name: str) -> SystemRow | None:
        """A system by its name, or None if the stage does not list it."""
        return next((s for s in self.systems if s["name"] == name), None)


def read_answered(folder: Path, name: str, trained: bool = True, declaration: Benchmark
                  | None = None) -> Answered | None:
    """Read ``data/answers/<name>``; None if the stage has not run.

    Raises
    ------
    DataError
        If its files cannot be read, or an earlier version wrote them.
    """
    if not (folder / "systems.json").is_file():
        return None
    declared = declaration or Benchmark(name)
    listed = read_systems(folder)
    primary = tuple(listed["metric"]["primary"])
    columns = ["question_id", *CELL, "seed", *_plain_columns(primary), "calls", "outcomes", "notes"]
    try:
        table = pq.read_table(folder / "answers.parquet", columns=columns)
        compression: CompressionFile | None = None
        if (folder / COMPRESSION).is_file():
            compression = json.loads((folder / COMPRESSION).read_text("utf-8"))
    except (OSError, ValueError, pa.ArrowInvalid) as e:
        raise DataError(f"{folder}: these answers cannot be read ({type(e).__name__}: {e}); "
                        "`canopy evaluate` makes them again") from None
    return Answered(
        name, _by_question(table), _nested(table, "outcomes", "modality"), _nested(table, "notes", "note"), primary,
        listed["metric"]["rules"], tuple(listed["readers"]), tuple(listed["corpus_scopes"]), tuple(listed["systems"]),
        listed["own_is_unified"], trained, compression, declared.paper_name, declared.out_of_domain)


def reader_title(reader: ReaderRow) -> str:
    """A reader's label, in words that cannot be mistaken for a language model's if none took part."""
    label = reader["label"]
    if reader["kind"] == "llm" or "LLM-free" in label:
        return label
    return f"{label} (LLM-free: no language model)"


def _plain_columns(primary: Sequence[str]) -> list[str]:
    """The columns of answers.parquet that measures are computed from, without those inside ``calls``."""
    columns = [c for m in measures_of(ANSWERS).values() if not m.official for c in m.columns if c not in _NOT_COLUMNS]
    return list(dict.fromkeys([*columns, "parse_failed", *primary]))


def _by_question(table: pa.Table) -> pd.DataFrame:
    """Flat rows, one a question; of several seeds the mean."""
    calls = table["calls"].combine_chunks()
    flat = calls.flatten()
    owner = _owners(calls, len(table))
    frame = table.drop_columns(["calls", "outcomes", "notes"]).to_pandas()
    for name in _OF_CALLS:
        counts = flat.field(name).to_numpy(zero_copy_only=False) if len(flat) else np.zeros(0)
        frame["calls" if name == "count" else name] = np.bincount(owner, counts, minlength=len(frame))
    numbers = [c for c in frame.columns if c not in ("question_id", *CELL, "seed")]
    frame[numbers] = frame[numbers].astype(np.float64)
    if not frame.duplicated([*CELL, "question_id"]).any():
        return frame.drop(columns="seed")
    return frame.groupby([*CELL, "question_id"], sort=False, as_index=False)[numbers].mean()


def _nested(table: pa.Table, column: str, by: str) -> pd.DataFrame:
    """The structs of a list column, summed over questions by cell and ``by``.

    Variants are left out, and of a question all seeds but the first.
    """
    cells = table.select([*CELL, "question_id"]).to_pandas()
    table = table.filter(pa.array(((cells["variant"] == "") & ~cells.duplicated()).to_numpy(dtype=bool)))
    lists = table[column].combine_chunks()
    owner = _owners(lists, len(table))
    if len(owner):
        rows = pa.Table.from_struct_array(lists.flatten()).to_pandas()
    else:
        rows = pd.DataFrame({f.name: [] for f in lists.type.value_type})
    cells = table.select(list(CELL)).to_pandas().iloc[owner].reset_index(drop=True)
    joined = pd.concat([cells, rows.reset_index(drop=True)], axis=1).drop(columns="variant")
    return joined.groupby(["reader", "corpus_scope", "system", by], sort=False, as_index=False).sum()


def _owners(lists: pa.ListArray, rows: int) -> np.ndarray:
    """For each element of a list column, the row that it is in."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    return np.repeat(np.arange(rows), lists.value_lengths().to_numpy(zero_copy_only=False))
