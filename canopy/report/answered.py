"""What the stage ``answers`` wrote, as the report reads it: one benchmark's systems on the same questions, by who read and by corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.summary import POOLED
from canopy.benchmarks.declaration import Benchmark
from canopy.config import CORPUS_SCOPES
from canopy.errors import DataError
from canopy.report.tables import Settings
from canopy.scoring.bootstrap import Interval, Paired

Name = tuple[str, str]  # a system and its variant
MAIN = ("no-retrieval", "vanilla", "universal-rag", "ircot", "canopy", "canopy-lookahead", "canopy-routed")  # in the order of the paper's main table
ORACLES = frozenset({"gold-item", "gold-span"})
COMPRESSION = "compression.json"
# Measures beside the official ones; further shares that are pooled over questions, as (numerator, denominator).
MEASURED = ("gold_recall", "gold_item_recall", "answer_in_evidence", "tokens", "kept_share", "rounds", "calls", "duplicate_share", "pruned", "cap_cut",
            "parse_failed", "prompt_tokens", "completion_tokens", "fallbacks")
SHARES = {**POOLED, "pruned": ("items_pruned", "items_refinable")}
_CELL = ["reader", "corpus_scope", "system", "variant"]
_COUNTED = ("count", "prompt_tokens", "completion_tokens", "fallbacks")
_PLAIN = ("gold_recall", "answer_in_evidence", "tokens", "whole_tokens", "rounds", "duplicates", "follow_up_retrieved", "gold_items_found", "gold_items",
          "items_pruned", "items_refinable", "cap_cut", "parse_failed")


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
        What went another way than the protocol, by reader, corpus scope, system and note: how often (no variants).
    listed : dict
        systems.json: who read, what was asked, what ran and what did not and why.
    trained : bool
        Whether f_theta was trained on questions of this benchmark.
    compression : dict
        compression.json, empty where there is none: ``curves`` and ``equal_tokens`` of compressors without a reader, as `canopy.answers.compression`
        summarises them.
    paper_name : str
        What the paper calls the benchmark; empty if the paper has no figure of it.
    out_of_domain : bool
        Whether the paper tests on it without training on it.
    """

    name: str
    frame: pd.DataFrame
    outcomes: pd.DataFrame
    notes: pd.DataFrame
    listed: dict[str, Any] = field(default_factory=dict)
    trained: bool = True
    compression: dict[str, Any] = field(default_factory=dict)
    paper_name: str = ""
    out_of_domain: bool = False

    @property
    def primary(self) -> tuple[str, ...]:
        """The official measures, first the one that systems are compared on."""
        return tuple(self.listed["metric"]["primary"])


def read_answered(folder: Path, name: str, trained: bool = True, declaration: Benchmark | None = None) -> Answered | None:
    """Read ``data/answers/<name>``; None where the stage has not run.

    Raises
    ------
    DataError
        Where its files cannot be read.
    """
    if not (folder / "systems.json").is_file():
        return None
    try:
        listed = json.loads((folder / "systems.json").read_text("utf-8"))
        columns = ["question_id", *_CELL, "seed", *dict.fromkeys((*_PLAIN, *listed["metric"]["primary"])), "calls", "outcomes", "notes"]
        table = pq.read_table(folder / "answers.parquet", columns=columns)
        alone = folder / COMPRESSION
        compression = json.loads(alone.read_text("utf-8")) if alone.is_file() else {}
    except (OSError, ValueError, KeyError, pa.ArrowInvalid) as e:
        raise DataError(f"{folder}: no answers that can be read ({type(e).__name__}); rerun the stage answers") from None
    declared = declaration or Benchmark(name)
    outcomes, notes = _nested(table, "outcomes", ["modality"]), _nested(table, "notes", ["note"])
    return Answered(name, _by_question(table), outcomes, notes, listed, trained, compression, declared.paper_name, declared.out_of_domain)


def _by_question(table: pa.Table) -> pd.DataFrame:
    """Flat rows, one a question: of several seeds the mean."""
    lists = table["calls"].combine_chunks()
    flat = lists.flatten()
    of = np.repeat(np.arange(len(table)), lists.value_lengths().to_numpy(zero_copy_only=False)) if len(table) else np.zeros(0, dtype=np.int64)
    frame = table.drop_columns(["calls", "outcomes", "notes"]).to_pandas()
    for name in _COUNTED:
        counts = flat.field(name).to_numpy(zero_copy_only=False) if len(flat) else np.zeros(0)
        frame["calls" if name == "count" else name] = np.bincount(of, counts, minlength=len(frame))
    numbers = [c for c in frame.columns if c not in ("question_id", *_CELL, "seed")]
    frame[numbers] = frame[numbers].astype(np.float64)
    several = frame.duplicated([*_CELL, "question_id"]).any()
    return frame.groupby([*_CELL, "question_id"], sort=False, as_index=False)[numbers].mean() if several else frame.drop(columns="seed")


def _nested(table: pa.Table, column: str, by: list[str]) -> pd.DataFrame:
    """The structs of a list column, summed over questions by cell and ``by``; variants are left out, and a question's other seeds."""
    cells = table.select([*_CELL, "question_id"]).to_pandas()
    table = table.filter(pa.array(((cells["variant"] == "") & ~cells.duplicated()).to_numpy(dtype=bool)))
    lists = table[column].combine_chunks()
    of = np.repeat(np.arange(len(table)), lists.value_lengths().to_numpy(zero_copy_only=False)) if len(table) else np.zeros(0, dtype=np.int64)
    rows = pa.Table.from_struct_array(lists.flatten()).to_pandas() if len(of) else pd.DataFrame({f.name: [] for f in lists.type.value_type})
    cells = table.select(_CELL).to_pandas().iloc[of].reset_index(drop=True)
    joined = pd.concat([cells, rows.reset_index(drop=True)], axis=1)
    return joined.drop(columns="variant").groupby(["reader", "corpus_scope", "system", *by], sort=False, as_index=False).sum()


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
        self._parts = {(str(s), str(v)): part.set_index("question_id").reindex(self._ids) for (s, v), part in frame.groupby(["system", "variant"], sort=False)}
        self.names, self.questions = list(self._parts), len(self._ids)

    @property
    def measures(self) -> tuple[str, ...]:
        """The official measures, then those beside them."""
        return *self.answered.primary, *(m for m in MEASURED if m not in self.answered.primary)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    @cached_property
    def paired(self) -> Paired:
        """Every system's every measure, keyed by (system, variant, measure)."""
        pairs = {(*n, m): self.columns(n, m) for n in self.names for m in self.measures}
        s = self._settings
        return Paired(pairs, s.resamples, s.seed, s.confidence)

    def columns(self, name: Name, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """A measure's numerator and denominator for each question; a question on which it is not defined is 0 in both."""
        part = self._parts[name]
        top, low = SHARES.get(measure, (measure, ""))
        a = part[top].to_numpy(dtype=np.float64)
        b = part[low].to_numpy(dtype=np.float64) if low else np.isfinite(a).astype(np.float64)
        counts = np.isfinite(a) & np.isfinite(b) & (b > 0)
        return np.where(counts, a, 0.0), np.where(counts, b, 0.0)

    def value(self, name: Name, measure: str) -> Interval | None:
        """A system's measure; None where the system did not run or it is not defined."""
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

    def _against(self, compare: Any, name: Name, reference: Name, measure: str) -> Interval | None:
        a, b = (*name, measure), (*reference, measure)
        return None if name == reference or a not in self.paired or b not in self.paired else _defined(compare(a, b))


def _defined(i: Interval) -> Interval | None:
    return i if np.isfinite(i.estimate) else None


@dataclass(slots=True)
class View:
    """What may stand in one table: all benchmarks' groups of one reader over one kind of corpus. ``label`` is who answered."""

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


def label_of(reader: Mapping[str, Any]) -> str:
    """Who read, in words that cannot be mistaken for a language model's where none took part."""
    told = str(reader["label"])
    return told if reader["kind"] == "llm" or "LLM-free" in told else f"{told} (LLM-free: no language model)"


def build_views(answers: Sequence[Answered], settings: Settings) -> list[View]:
    """All views, by reader and corpus. A benchmark whose own corpus is all there is has one corpus, which stands under the unified one alone."""
    readers = {r["name"]: r for a in answers for r in a.listed["readers"]}
    views = []
    for number, (name, reader) in enumerate(readers.items()):
        for corpus_scope in CORPUS_SCOPES:
            groups = []
            for a in answers:
                if corpus_scope == "own" and a.listed.get("own_is_unified") and "unified" in a.listed["corpus_scopes"]:
                    continue
                part = a.frame[(a.frame["reader"] == name) & (a.frame["corpus_scope"] == corpus_scope)]
                if len(part):
                    groups.append(Group(a, part, settings))
            if groups:
                views.append(View(name, label_of(reader), reader["kind"], corpus_scope, groups, f"-reader{number + 1}" if number else ""))
    return views
