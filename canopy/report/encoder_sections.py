"""The report's parts on the encoder: f0 against f_theta on the gold items, without any reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from canopy.evaluation.measures import TUNED, Comparison
from canopy.report import plots
from canopy.report.drawing import file_name
from canopy.report.encoder_tables import gold_recall_table, published_columns
from canopy.report.sections import Drawn, Section, section
from canopy.report.tables import (
    Results,
    Settings,
    decisions_table,
    quality_table,
    retrieval_table,
    selectors_table,
)

ABOUT = {"read by": "nobody: no answer is read", "corpus": "gold items given"}


def encoder_sections(results: Sequence[Results], values: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Mapping[str, Comparison]],
                     cells: Sequence[dict[str, Any]], settings: Settings) -> list[Section]:
    """f0 against f_theta, decisions, gold recall, selectors, what the rule does with nodes, scores by level."""
    quality = published_columns(quality_table(results, values, compared), results)
    decided, selectors = decisions_table(cells), selectors_table(results, values)
    recall = gold_recall_table(results, settings)
    for t in (quality, decided, selectors, recall):
        t.about = ABOUT
    dots = [Drawn("decisions", "", "Decision accuracy of f0 (grey) and f_theta (green).", plots.decision_plot(cells))] if cells else []
    trade = [Drawn(file_name("tradeoff", r.name), r.name, "quality against tokens; up and left is better. Crosses: 95% intervals.",
                   plots.tradeoff_plot(r, values[r.name])) for r in results if "kept_share" in values[r.name][TUNED]]
    outcome = [Drawn(file_name("outcomes", r.name), r.name, "what became of each node that the rule looked at.", plots.outcomes_plot(r)) for r in results]
    levels = [Drawn(file_name("levels", r.name), r.name, "median and middle half of s(v) − s(root).", plots.levels_plot(r)) for r in results if len(r.levels)]
    return [
        section("quality", "The encoder: f0 against f_theta", ["All on the same gold items of the same test questions."], [quality], places=("Table 4",)),
        section("decisions", "Decisions", ["Each inner node of a gold item that touches the gold asks for one of two things: to stop at it, or to descend into a part of it."],
                [decided], dots, places=("Figure 8",)),
        section("gold-recall", "Gold recall after refinement", ["Of the fragments of each gold item that are gold, the share that is kept; by modality."], [recall],
                places=("Table 11",)),
        section("selectors", "Selectors, and quality against tokens", [], [selectors], trade),
        section("outcomes", "Kept, split and dropped nodes", ["A node that the rule looks at is kept whole, split into its children, or dropped because it "
                "scores below its parent."], [], outcome, places=("Figure 9",)),
        section("levels", "Scores by level", ["A node is explored when it scores at least what its parent does. Gold nodes should rise above the root "
                "and others fall below it, more so the deeper they lie. Located gold only; levels with fewer than 5 nodes are left out."], [], levels,
                places=("Figure 6",)),
    ]


def support_sections(results: Sequence[Results], curve: pd.DataFrame | None, settings: Settings) -> list[Section]:
    """Retrieval by f0 and the training curve."""
    retrieved = retrieval_table(results, settings)
    search = [Drawn("retrieval", "", "Recall of gold items at k, 95% band.", plots.retrieval_plot(retrieved.rows))] if retrieved.rows else []
    learned = [Drawn("training", "", "Preference loss of f_theta's training.", plots.training_plot(curve))] if curve is not None and len(curve) else []
    return [
        section("retrieval", "Retrieval", ["Whole items by f0, over the corpus of all configured benchmarks together."], [retrieved], search),
        section("training", "Training", ["No training curve was written."] if not learned else [], [], learned),
    ]
