"""Every system measured on the same cases: the rows of decisions, regions, systems and levels that the report reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from canopy.config import Evaluation as Settings
from canopy.evaluation.cases import Cases, Words
from canopy.evaluation.metrics import (
    answers_kept,
    best_alternative,
    decisions_held,
    gold_recall,
    kept_tokens,
    level_rows,
)
from canopy.evaluation.rows import DecisionRow, Tables
from canopy.evaluation.systems import GOLD, TUNED, WHOLE, any_level, flat_leaf
from canopy.selection.any_level import select_any_level
from canopy.selection.flat import select_leaves
from canopy.selection.layout import fragments_kept
from canopy.selection.outcomes import Refined, judge
from canopy.selection.whole import select_whole


def measure(cases: Cases, words: Words, scores: Mapping[str, np.ndarray], settings: Settings) -> Tables:
    """Measure every system; ``scores`` maps a system that scores nodes (f0 modes, f_theta) to its flat node scores."""
    layout, tables = cases.layout, Tables([], [], [], [])
    gold = np.zeros(int(layout.fragments[-1]), dtype=bool)
    gold[cases.row_fragments] = True
    touched = np.zeros(len(gold) + 1, dtype=np.int64)
    np.cumsum(gold, out=touched[1:])
    start = layout.fragments[layout.owner]
    gold_node = touched[start + layout.forest.hi] > touched[start + layout.forest.lo]
    for name, s in scores.items():
        decisions = _decisions(cases, decisions_held(cases.decisions, s), name)
        outcome = judge(layout, s)
        tables.decisions += decisions
        _add(tables, cases, words, name, fragments_kept(layout, outcome.kept), gold, decisions, outcome)
        levels = level_rows(layout, s, gold_node, cases.modality[layout.owner], cases.located[layout.owner])
        tables.levels += [{"system": name, **level} for level in levels]
    tuned = scores[TUNED]
    selections = {flat_leaf(m): select_leaves(layout, tuned, m) for m in settings.flat_m}
    selections |= {any_level(m): select_any_level(layout, tuned, m) for m in settings.flat_m}
    selections[WHOLE] = select_whole(layout)
    for name, nodes in selections.items():
        _add(tables, cases, words, name, fragments_kept(layout, nodes), gold)
    _add(tables, cases, words, GOLD, gold, gold)
    return tables


def _decisions(cases: Cases, holds: np.ndarray, system: str) -> list[DecisionRow]:
    """One row per (question, item, node): a decision holds if it does under any alternative.

    The kind is ``either`` if alternatives disagree on it.
    """
    if not len(holds):
        return []
    node, first, inverse, count = np.unique(cases.decisions.node, return_index=True, return_inverse=True,
                                            return_counts=True)
    any_holds, full = np.bincount(inverse, holds) > 0, np.bincount(inverse, cases.decisions.fully_gold)
    pair = cases.decision_pair[first]
    kind = np.where(full == count, "stop", np.where(full == 0, "descend", "either"))
    return [{
        "question_id": cases.questions[cases.pair_question[p]], "item_id": cases.pair_item[p],
        "group": int(cases.decision_group[f]), "alternatives": int(c), "modality": cases.modality[p],
        "node": int(v - cases.layout.nodes[p]), "depth": int(cases.decision_depth[f]), "kind": str(k),
        "system": system, "held": bool(h),
    } for v, f, c, p, k, h in zip(node, first, count, pair, kind, any_holds, strict=True)]


def _add(tables: Tables, cases: Cases, words: Words, system: str, kept: np.ndarray, gold: np.ndarray,
         decisions: Sequence[DecisionRow] = (), outcome: Refined | None = None) -> None:
    """Add a system's rows of regions and of questions.

    Parameters
    ----------
    kept, gold : ndarray of bool
        Per fragment: whether the system keeps it, whether it is gold.
    decisions, outcome : optional
        The system's decisions and what became of the nodes, if it runs the rule.
    """
    layout = cases.layout
    tokens = kept_tokens(layout, kept, words.once, words.each)
    whole = kept_tokens(layout, np.ones(len(kept), dtype=bool), words.once, words.each)
    hits, sizes = gold_recall(kept, cases.row_fragments, cases.row_offsets)
    start, size = layout.fragments[:-1], np.diff(layout.fragments)
    kept_count = np.add.reduceat(kept, start, dtype=np.int64) if len(start) else size
    refinable, lost = size > 1, kept_count < size

    gold_count = np.add.reduceat(gold, start, dtype=np.int64) if len(start) else size
    item_recall = best_alternative(hits, sizes, cases.row_pair, cases.row_group, layout.pairs)
    regions = np.ones(layout.pairs)
    nodes: list[list[int | None]] = [[None] * layout.pairs] * 3
    if outcome is not None:
        nodes = [np.bincount(layout.owner[part], minlength=layout.pairs).tolist()
                 for part in (outcome.kept, outcome.split, outcome.dropped)]
        regions = np.array(nodes[0])
    state = np.where(lost, "dropped", np.where(regions > 1, "split", "kept"))
    tables.regions += [{
        "question_id": cases.questions[cases.pair_question[p]], "item_id": cases.pair_item[p], "system": system,
        "modality": cases.modality[p], "fragments": int(size[p]),
        "kept": np.flatnonzero(kept[start[p]:start[p] + size[p]]).tolist(), "kept_tokens": int(tokens[p]),
        "whole_tokens": int(whole[p]), "gold_fragments": int(gold_count[p]), "recall": float(item_recall[p]),
        "pruned": bool(lost[p]) if refinable[p] else None, "state": str(state[p]), "nodes_kept": nodes[0][p],
        "nodes_split": nodes[1][p], "nodes_dropped": nodes[2][p],
    } for p in range(layout.pairs)]

    questions, owner = len(cases.questions), cases.pair_question
    recall = best_alternative(hits, sizes, owner[cases.row_pair], cases.row_group, questions)
    place = {q: n for n, q in enumerate(cases.questions)}
    decision_owner = np.array([place[d["question_id"]] for d in decisions], dtype=np.int64)
    right = np.bincount(decision_owner, [d["held"] for d in decisions], minlength=questions)
    all_decisions = np.bincount(decision_owner, minlength=questions)
    answer = answers_kept(kept, words.lo, words.hi, words.question, questions)
    can_lose, loses = np.bincount(owner, refinable, questions), np.bincount(owner, refinable & lost, questions)
    used, full = np.bincount(owner, tokens, questions), np.bincount(owner, whole, questions)
    decides = outcome is not None
    tables.systems += [{
        "question_id": name, "system": system,
        "decision_accuracy": float(right[n] / all_decisions[n]) if all_decisions[n] else float("nan"),
        "gold_recall": float(recall[n]), "kept_tokens": int(used[n]), "whole_tokens": int(full[n]),
        "pruned": float(loses[n] / can_lose[n]) if can_lose[n] else float("nan"),
        "answer_in_evidence": float(answer[n]), "decisions": int(all_decisions[n]) if decides else None,
        "decisions_held": int(right[n]) if decides else None, "refinable": int(can_lose[n]),
        "pruned_items": int(loses[n]),
    } for n, name in enumerate(cases.questions)]
