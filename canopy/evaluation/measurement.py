"""Every system measured on the same cases: the rows of decisions, regions, systems and levels that the report reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

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
from canopy.evaluation.systems import GOLD, TUNED, WHOLE, any_level, flat_leaf
from canopy.selection.any_level import select_any_level
from canopy.selection.flat import select_leaves
from canopy.selection.layout import fragments_kept
from canopy.selection.outcomes import Refined, judge
from canopy.selection.whole import select_whole

SCHEMAS: dict[str, pa.Schema] = {
    "decisions": pa.schema([
        ("question_id", pa.string()), ("item_id", pa.string()), ("group", pa.int32()), ("alternatives", pa.int32()),
        ("modality", pa.string()), ("node", pa.int32()), ("depth", pa.int32()), ("kind", pa.string()), ("system", pa.string()),
        ("held", pa.bool_()),
    ]),
    "regions": pa.schema([
        ("question_id", pa.string()), ("item_id", pa.string()), ("system", pa.string()), ("modality", pa.string()),
        ("fragments", pa.int32()), ("kept", pa.list_(pa.int32())), ("kept_tokens", pa.int64()), ("whole_tokens", pa.int64()),
        ("gold_fragments", pa.int32()), ("recall", pa.float64()), ("pruned", pa.bool_()), ("state", pa.string()),
        ("nodes_kept", pa.int32()), ("nodes_split", pa.int32()), ("nodes_dropped", pa.int32()),
    ]),
    "systems": pa.schema([
        ("question_id", pa.string()), ("system", pa.string()), ("decision_accuracy", pa.float64()), ("gold_recall", pa.float64()),
        ("kept_tokens", pa.int64()), ("whole_tokens", pa.int64()), ("pruned", pa.float64()), ("answer_in_evidence", pa.float64()),
        ("decisions", pa.int32()), ("decisions_held", pa.int32()), ("refinable", pa.int32()), ("pruned_items", pa.int32()),
    ]),
    "retrieval": pa.schema([("question_id", pa.string()), ("k", pa.int32()), ("recall", pa.float64()), ("rank", pa.int32())]),
    "levels": pa.schema([
        ("system", pa.string()), ("modality", pa.string()), ("depth", pa.int32()), ("gold", pa.bool_()), ("n", pa.int64()),
        ("mean", pa.float64()), ("quantiles", pa.list_(pa.float64())), ("sample", pa.list_(pa.float64())),
    ]),
}


@dataclass(slots=True)
class Tables:
    """Rows of the evaluation's tables, in the schemas above."""

    decisions: list[dict[str, Any]]
    regions: list[dict[str, Any]]
    systems: list[dict[str, Any]]
    levels: list[dict[str, Any]]
    retrieval: list[dict[str, Any]] = field(default_factory=list)


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
        merged = _decisions(cases, decisions_held(cases.decisions, s), name)
        refined = judge(layout, s)
        tables.decisions += merged
        _add(tables, cases, words, name, fragments_kept(layout, refined.kept), gold, merged, refined)
        tables.levels += [{"system": name, **r} for r in level_rows(
            layout, s, gold_node, cases.modality[layout.owner], cases.located[layout.owner])]
    tuned = scores[TUNED]
    chosen = {flat_leaf(m): select_leaves(layout, tuned, m) for m in settings.flat_m}
    chosen |= {any_level(m): select_any_level(layout, tuned, m) for m in settings.flat_m}
    chosen[WHOLE] = select_whole(layout)
    for name, nodes in chosen.items():
        _add(tables, cases, words, name, fragments_kept(layout, nodes), gold)
    _add(tables, cases, words, GOLD, gold, gold)
    return tables


def _decisions(cases: Cases, held: np.ndarray, system: str) -> list[dict[str, Any]]:
    """One row per (question, item, node), alternatives folded: held under any; kind 'either' where they disagree on it."""
    if not len(held):
        return []
    node, first, inverse, count = np.unique(cases.decisions.node, return_index=True, return_inverse=True, return_counts=True)
    any_held, full = np.bincount(inverse, held) > 0, np.bincount(inverse, cases.decisions.fully_gold)
    pair = cases.decision_pair[first]
    kind = np.where(full == count, "stop", np.where(full == 0, "descend", "either"))
    return [{"question_id": cases.questions[cases.pair_question[p]], "item_id": cases.pair_item[p],
             "group": int(cases.decision_group[f]), "alternatives": int(c), "modality": cases.modality[p],
             "node": int(v - cases.layout.nodes[p]), "depth": int(cases.decision_depth[f]), "kind": str(k), "system": system,
             "held": bool(h)} for v, f, c, p, k, h in zip(node, first, count, pair, kind, any_held, strict=True)]


def _add(tables: Tables, cases: Cases, words: Words, system: str, kept: np.ndarray, gold: np.ndarray,
         merged: Sequence[Mapping[str, Any]] = (), refined: Refined | None = None) -> None:
    layout, questions, asked = cases.layout, len(cases.questions), cases.pair_question
    start = layout.fragments[:-1]
    size = np.diff(layout.fragments)
    tokens = kept_tokens(layout, kept, words.once, words.each)
    whole = kept_tokens(layout, np.ones(len(kept), dtype=bool), words.once, words.each)
    hits, sizes = gold_recall(kept, cases.row_fragments, cases.row_offsets)
    recall = best_alternative(hits, sizes, asked[cases.row_pair], cases.row_group, questions)
    item_recall = best_alternative(hits, sizes, cases.row_pair, cases.row_group, layout.pairs)
    held = np.add.reduceat(kept, start, dtype=np.int64) if len(start) else size
    marked = np.add.reduceat(gold, start, dtype=np.int64) if len(start) else size
    refinable, lost = size > 1, held < size
    regions = np.ones(layout.pairs)
    nodes: list[list[int | None]] = [[None] * layout.pairs] * 3
    if refined is not None:
        nodes = [np.bincount(layout.owner[part], minlength=layout.pairs).tolist()
                 for part in (refined.kept, refined.split, refined.dropped)]
        regions = np.array(nodes[0])
    state = np.where(lost, "dropped", np.where(regions > 1, "split", "kept"))
    tables.regions += [
        {"question_id": cases.questions[asked[p]], "item_id": cases.pair_item[p], "system": system, "modality": cases.modality[p],
         "fragments": int(size[p]), "kept": np.flatnonzero(kept[start[p]:start[p] + size[p]]).tolist(), "kept_tokens": int(tokens[p]),
         "whole_tokens": int(whole[p]), "gold_fragments": int(marked[p]), "recall": float(item_recall[p]),
         "pruned": bool(lost[p]) if refinable[p] else None, "state": str(state[p]), "nodes_kept": nodes[0][p],
         "nodes_split": nodes[1][p], "nodes_dropped": nodes[2][p]} for p in range(layout.pairs)]

    place = {q: n for n, q in enumerate(cases.questions)}
    decided = np.array([place[d["question_id"]] for d in merged], dtype=np.int64)
    right = np.bincount(decided, [d["held"] for d in merged], minlength=questions)
    taken = np.bincount(decided, minlength=questions)
    answer = answers_kept(kept, words.lo, words.hi, words.question, questions)
    can, did = np.bincount(asked, refinable, questions), np.bincount(asked, refinable & lost, questions)
    used, full = np.bincount(asked, tokens, questions), np.bincount(asked, whole, questions)
    decides = refined is not None
    tables.systems += [
        {"question_id": name, "system": system, "decision_accuracy": right[n] / taken[n] if taken[n] else float("nan"),
         "gold_recall": float(recall[n]), "kept_tokens": int(used[n]), "whole_tokens": int(full[n]),
         "pruned": did[n] / can[n] if can[n] else float("nan"), "answer_in_evidence": float(answer[n]),
         "decisions": int(taken[n]) if decides else None, "decisions_held": int(right[n]) if decides else None,
         "refinable": int(can[n]), "pruned_items": int(did[n])} for n, name in enumerate(cases.questions)]
