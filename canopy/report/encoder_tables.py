"""Tables on the encoder that stand beside the paper's: gold recall by modality, and its published figures beside our f0 and f_theta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from canopy.evaluation.measures import TUNED
from canopy.report.paper import find_published
from canopy.report.tables import Column, Results, Settings, Table
from canopy.scoring.bootstrap import Paired


def published_columns(quality: Table, results: Sequence[Results]) -> Table:
    """The table of f0 against f_theta with the paper's decision accuracies beside it, where a benchmark is one of the paper's."""
    paper_names = {r.name: r.paper_name for r in results}
    for row in quality.rows:
        if row["measure"] == "decision accuracy":
            for system, column in (("f0", "paper_f0"), (TUNED, "paper_f_theta")):
                if (v := find_published(("Table 4",), paper_names[row["benchmark"]], system).get("decision_accuracy")) is not None:
                    row[column] = v
    if any("paper_f0" in r for r in quality.rows):
        quality.columns += [Column("paper_f0", "the paper: f0", "percent"), Column("paper_f_theta", "the paper: f_theta", "percent")]
    return quality


def gold_recall_table(results: Sequence[Results], settings: Settings) -> Table:
    """Gold-fragment recall of f0 and f_theta by modality, over gold items; of alternative annotations the best one counts."""
    rows: list[dict[str, Any]] = []
    for r in results:
        questions = list(dict.fromkeys(r.systems["question_id"]))
        regions = r.regions[r.regions["system"].isin([TUNED, r.better])]
        modalities = sorted(set(regions["modality"]))
        for modality in [*(["all"] if len(modalities) > 1 else []), *modalities]:
            part = regions[(regions["modality"] == modality) | (modality == "all")]
            pairs = {s: _per_question(part[part["system"] == s], questions) for s in (r.better, TUNED)}
            both = Paired(pairs, settings.resamples, settings.seed, settings.confidence)
            difference = both.difference(TUNED, r.better)
            row = {"benchmark": r.name, "modality": modality, "f0": both.value(r.better), TUNED: both.value(TUNED), "difference": difference,
                   "items": int(pairs[TUNED][1].sum()), "baseline": r.better, "_good": bool(difference.estimate > 0)}
            published = find_published(("Table 11",), r.paper_name, TUNED).get("gold_recall")  # the paper's is over all of a benchmark's items
            rows.append(row | ({"paper": published} if published is not None and modality in ("all", *modalities[:len(modalities) == 1]) else {}))
    columns = [Column("benchmark", "benchmark"), Column("modality", "modality"), Column("f0", "f0", "percent"), Column(TUNED, TUNED, "percent"),
               Column("difference", "difference", "points"), Column("baseline", "against"), Column("items", "gold items", "count")]
    if any("paper" in r for r in rows):
        columns.append(Column("paper", "the paper: f_theta", "percent"))
    return Table("gold-recall", "Gold recall after refinement", columns, rows, "Mean over gold items, of every question again.")


def _per_question(regions: pd.DataFrame, questions: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum of recalls, and number of items, of each question."""
    held = regions[np.isfinite(regions["recall"].to_numpy(dtype=np.float64))].groupby("question_id")["recall"].agg(["sum", "count"]).reindex(questions, fill_value=0)
    return held["sum"].to_numpy(dtype=np.float64), held["count"].to_numpy(dtype=np.float64)
