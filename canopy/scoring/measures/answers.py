"""Measures on answers: the official ones, and those beside them, from columns of the stage's ``answers.parquet``."""

from functools import partial

from canopy.scoring.measure import ANSWERS, Measure


def _official(name: str, label: str) -> Measure:
    return Measure(name, label, name, source=ANSWERS, official=True)


_measure = partial(Measure, source=ANSWERS)
_cost = partial(_measure, higher_is_better=False)
MEASURES = (
    _official("em", "EM"),
    _official("f1", "F1"),
    _official("accuracy", "accuracy"),
    _official("sp_em", "supporting-fact EM"),
    _official("sp_f1", "supporting-fact F1"),
    _official("sp_precision", "sp precision"),
    _official("sp_recall", "sp recall"),
    _official("joint_em", "joint EM"),
    _official("joint_f1", "joint F1"),
    _cost("parse_failed", "unusable answers", "parse_failed", official=True, counted=True),
    _official("table_em", "table em"),
    _official("table_f1", "F1, answer in a table"),
    _official("passage_em", "passage em"),
    _official("passage_f1", "F1, answer in a passage"),
    _official("scale_right", "scale right"),
    _measure("gold_recall", "gold recall", "gold_recall", summary=True),
    _measure("gold_item_recall", "gold items found", "gold_items_found", "gold_items", summary=True),
    _measure("answer_in_evidence", "answer in evidence", "answer_in_evidence", summary=True),
    _cost("tokens", "tokens a question", "tokens", unit="count", summary=True),
    _cost("kept_share", "tokens, of the items'", "tokens", "whole_tokens", summary=True),
    _cost("calls", "LLM calls", "calls", unit="number", counted=True, summary=True),
    _cost("rounds", "rounds", "rounds", unit="number", summary=True),
    _cost("duplicate_share", "duplicates in follow-ups", "duplicates", "follow_up_retrieved", summary=True),
    _measure("pruned", "pruned", "items_pruned", "items_refinable"),
    _cost("cap_cut", "cut by the cap", "cap_cut", counted=True),
    _cost("fallbacks", "fallbacks a question", "fallbacks", unit="number", counted=True),
    _cost("prompt_tokens", "prompt tokens", "prompt_tokens", unit="count", counted=True),
    _cost("completion_tokens", "tokens written", "completion_tokens", unit="count", counted=True),
)
