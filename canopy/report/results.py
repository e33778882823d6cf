"""What the report knows of one benchmark from the evaluation and the stages before it, and every system's measures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.errors import DataError
from canopy.evaluation.comparison import Comparison, compare
from canopy.evaluation.systems import FROZEN, TUNED, current_name
from canopy.gold.kinds import GoldKinds
from canopy.report.model import Row
from canopy.scoring.bootstrap import Interval, ratio_intervals
from canopy.scoring.measure import EVALUATION, measures_of

NOBODY = "nobody: no answer is read (LLM-free: no language model took part)"
ABOUT = {"read by": NOBODY, "corpus": "gold items given"}
TABLES = ("systems", "decisions", "regions", "retrieval", "levels")
Values = Mapping[str, Mapping[str, Interval]]  # a system's name to its measures


class Summary(TypedDict, total=False):
    """summary.json of a stage: its counts, and tables of rows by name."""

    metrics: dict[str, float]
    tables: dict[str, list[Row]]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are computed."""

    resamples: int
    seed: int
    confidence: float

    @property
    def arguments(self) -> tuple[int, int, float]:
        """As the functions of `canopy.scoring.bootstrap` take them."""
        return self.resamples, self.seed, self.confidence


@dataclass(slots=True)
class Results:
    """What the report knows of one benchmark.

    Attributes
    ----------
    systems, decisions, regions, retrieval, levels : DataFrame
        The evaluation's tables.
    splits : DataFrame
        The questions' sides of the split, and their components.
    benchmark_summary, gold_summary, split_summary : dict
        summary.json of the stages ``benchmark``, ``gold_spans`` and ``split``.
    examples : str
        Address of the page of examples; empty if there is none.
    paper_name : str
        What the paper calls the benchmark; empty if the paper has no figure of it.
    gold : GoldKinds
        How many of the measured questions have annotated gold, and how many pseudo-gold.
    """

    name: str
    systems: pd.DataFrame
    decisions: pd.DataFrame
    regions: pd.DataFrame
    retrieval: pd.DataFrame
    levels: pd.DataFrame
    splits: pd.DataFrame
    benchmark_summary: Summary = field(default_factory=Summary)
    gold_summary: Summary = field(default_factory=Summary)
    split_summary: Summary = field(default_factory=Summary)
    examples: str = ""
    paper_name: str = ""
    gold: GoldKinds = field(default_factory=GoldKinds)

    @property
    def names(self) -> list[str]:
        """Systems in the order in which the evaluation wrote them."""
        return list(dict.fromkeys(self.systems["system"]))

    @property
    def frozen(self) -> list[str]:
        """The f0 modes."""
        return [n for n in self.names if n.startswith(FROZEN)]

    @property
    def questions(self) -> int:
        """Test questions that something was measured on."""
        return int(self.systems["question_id"].nunique())

    @property
    def decided(self) -> int:
        """Decisions that f_theta was measured on."""
        return int((self.decisions["system"] == TUNED).sum())

    def headline(self) -> Results:
        """These results without the questions that headline figures leave out (`GoldKinds.left_out`)."""
        kinds = self.gold.among(set(self.systems["question_id"])) if len(self.systems) else self.gold
        if not kinds.left_out:
            return replace(self, gold=kinds)
        frames = {t: getattr(self, t) for t in TABLES if t != "levels"}
        kept = {t: f[~f["question_id"].isin(kinds.left_out)].reset_index(drop=True) for t, f in frames.items()}
        return replace(self, gold=kinds, **kept)

    def columns(self, system: str) -> dict[str, np.ndarray]:
        """The per-question columns of one system, float64, questions in file order."""
        rows = self.systems[self.systems["system"] == system]
        return {c: rows[c].to_numpy(dtype=np.float64, na_value=np.nan) for c in rows.columns
                if c not in ("question_id", "system")}

    @property
    def better(self) -> str:
        """The f0 mode with the higher decision accuracy: the one that figures show beside f_theta."""
        def accuracy(name: str) -> float:
            top, low = measures_of(EVALUATION)["decision_accuracy"].ratio(self.columns(name))
            return float(top.sum() / low.sum()) if low.sum() else -math.inf
        return max(sorted(self.frozen), key=accuracy)


def read_evaluation(folder: Path) -> dict[str, pd.DataFrame]:
    """The evaluation's tables, each by its name; evaluations of earlier versions get the systems' names of today.

    Raises
    ------
    DataError
        If a table is missing or cannot be read.
    """
    try:
        frames = {t: pq.read_table(folder / f"{t}.parquet").to_pandas() for t in TABLES}
    except (OSError, pa.ArrowInvalid) as e:
        raise DataError(f"{folder}: no evaluation that can be read ({type(e).__name__}); run `canopy run`") from None
    for frame in frames.values():
        if "system" in frame:
            frame["system"] = frame["system"].map({n: current_name(n) for n in frame["system"].unique()})
    return frames


def read_summary(path: Path) -> Summary:
    """summary.json of a stage; empty if there is no file."""
    summary: Summary = _read(path)
    return summary


def read_json(path: Path) -> Mapping[str, object]:
    """A JSON file's object; empty if there is no file.

    Raises
    ------
    DataError
        If it is not JSON.
    """
    values: Mapping[str, object] = _read(path)
    return values


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as e:
        raise DataError(f"{path}: not JSON ({e}); rerun the stage that writes it") from None


def compare_measures(r: Results, settings: Settings) -> dict[str, Comparison]:
    """f_theta against f0 for each measure that has something to measure."""
    comparisons = {}
    tuned, baselines = r.columns(TUNED), {b: r.columns(b) for b in r.frozen}
    for key, m in measures_of(EVALUATION).items():
        pairs = {b: m.ratio(columns) for b, columns in baselines.items()}
        c = compare(key, m.ratio(tuned), pairs, m.higher_is_better, *settings.arguments)
        if c:
            comparisons[key] = c
    return comparisons


def system_values(r: Results, settings: Settings) -> dict[str, dict[str, Interval]]:
    """Every system's every measure, with intervals from one resampling of the questions."""
    measures = measures_of(EVALUATION)
    keys = [(n, k) for n in r.names for k in measures]
    columns = {n: r.columns(n) for n in r.names}
    pairs = [measures[k].ratio(columns[n]) for n, k in keys]
    values: dict[str, dict[str, Interval]] = {n: {} for n in r.names}
    for (n, k), interval in zip(keys, ratio_intervals(pairs, *settings.arguments), strict=True):
        if math.isfinite(interval.estimate):
            values[n][k] = interval
    return values


def recall_depths(r: Results) -> list[int]:
    """The k at which recall of gold items was measured."""
    return sorted({int(k) for k in r.retrieval["k"].tolist()})


def measured_results(results: Sequence[Results]) -> list[Results]:
    """Those on whose test questions something could be measured."""
    return [r for r in results if len(r.systems)]
