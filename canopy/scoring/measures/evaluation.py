"""Measures on the gold items, without a reader: ratios of columns of the evaluation's ``systems.parquet``."""

from canopy.scoring.measure import Measure

MEASURES = (
    Measure("decision_accuracy", "decision accuracy", "decisions_held", "decisions"),
    Measure("gold_recall", "gold recall", "gold_recall"),
    Measure("pruned", "pruned", "pruned_items", "refinable"),
    Measure("kept_share", "kept tokens", "kept_tokens", "whole_tokens", higher_is_better=False),
    Measure("kept_tokens", "tokens a question", "kept_tokens", higher_is_better=False, unit="number"),
    Measure("answer_in_evidence", "answer in evidence", "answer_in_evidence"),
)
