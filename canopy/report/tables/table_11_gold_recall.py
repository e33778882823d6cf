"""Table 11: gold recall after refinement, by modality."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from canopy.evaluation.systems import TUNED
from canopy.report.model import Column, Row, Section, Table, section
from canopy.report.paper import find_published
from canopy.report.quotations import quote
from canopy.report.results import ABOUT, Results, Settings
from canopy.report.values import judged
from canopy.scoring.bootstrap import Paired, Ratio

PLACES = ("Table 11",)
TEXT = "Of the fragments of each gold item that are gold, the share that is kept; by modality."


def gold_recall_table(results: Sequence[Results], settings: Settings) -> Table:
    """Gold-fragment recall of f0 and f_theta by modality, over gold items.

    Of alternative annotations the best one counts.
    """
    rows = [row for r in results for row in _rows(r, settings)]
    columns = [Column("benchmark", "benchmark"), Column("modality", "modality"), Column("f0", "f0", "percent"),
               Column(TUNED, TUNED, "percent"), Column("difference", "difference", "points"),
               Column("baseline", "against"),
               Column("items", "gold items", "count")]
    if any("paper" in r for r in rows):
        columns.append(Column("paper", "the paper: f_theta", "percent"))
    note = "Mean over gold items, of every question again."
    return Table("gold-recall", "Gold recall after refinement", columns, rows, note, ABOUT)


def _rows(results: Results, settings: Settings) -> list[Row]:
    """A row a modality, and one over all if there are several.

    The paper's figure is over all of a benchmark's items.
    """
    questions = list(dict.fromkeys(results.systems["question_id"]))
    better = results.better
    regions = results.regions[results.regions["system"].isin([TUNED, better])]
    modalities = sorted(set(regions["modality"]))
    parts = ["all", *modalities] if len(modalities) > 1 else modalities
    rows: list[Row] = []
    for modality in parts:
        part = regions[(regions["modality"] == modality) | (modality == "all")]
        pairs: dict[Hashable, Ratio] = {s: _per_question(part[part["system"] == s], questions) for s in (better, TUNED)}
        both = Paired(pairs, *settings.arguments)
        row: Row = {"benchmark": results.name, "modality": modality, "f0": both.value(better), TUNED: both.value(TUNED),
                    **judged("difference", both.difference(TUNED, better)), "items": int(pairs[TUNED][1].sum()),
                    "baseline": better}
        published = find_published(PLACES, results.paper_name, TUNED).get("gold_recall")
        if published is not None and modality == parts[0]:
            row["paper"] = published
        rows.append(row)
    return rows


def _per_question(regions: pd.DataFrame, questions: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum of recalls, and number of items, of each question."""
    defined = regions[np.isfinite(regions["recall"].to_numpy(dtype=np.float64))]
    per = defined.groupby("question_id")["recall"].agg(["sum", "count"]).reindex(questions, fill_value=0)
    return per["sum"].to_numpy(dtype=np.float64), per["count"].to_numpy(dtype=np.float64)


def gold_recall_section(results: Sequence[Results], settings: Settings) -> Section:
    """Table 11."""
    table = gold_recall_table(results, settings)
    return section("gold-recall", "Gold recall after refinement", [TEXT], [table], places=PLACES,
                   quotation=quote(*PLACES))
