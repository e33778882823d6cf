"""A benchmark's test questions and gold items as flat arrays, with the tokens and the answers in them: what is
measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.encoder.words import item_words
from canopy.errors import DataError
from canopy.evaluation.metrics import Decisions, find_answers, matchable
from canopy.hierarchy.leaves import cut_item
from canopy.items import Item, Question
from canopy.selection.layout import Layout, lay_out


@dataclass(frozen=True, slots=True)
class Cases:
    """The test questions of a benchmark and their gold items, as flat arrays.

    Attributes
    ----------
    pair_question, pair_item, modality : per (question, item) pair, questions in order
    row_pair, row_group, row_offsets, row_fragments : per gold row (pair, alternative), its fragments as flat indices
    located : per pair, whether its gold was located inside the item
    decisions : the instances, and ``decision_pair``, ``decision_group``, ``decision_depth`` of each
    """

    questions: list[str]
    layout: Layout
    pair_question: np.ndarray
    pair_item: list[str]
    modality: np.ndarray
    row_pair: np.ndarray
    row_group: np.ndarray
    row_offsets: np.ndarray
    row_fragments: np.ndarray
    located: np.ndarray
    decisions: Decisions
    decision_pair: np.ndarray
    decision_group: np.ndarray
    decision_depth: np.ndarray


def _flatten(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum([len(x) for x in lists], out=offsets[1:])
    flat = np.fromiter((v for x in lists for v in x), dtype=np.int64, count=int(offsets[-1]))
    return flat, offsets


def build_cases(gold: Sequence[Mapping[str, Any]], splits: Sequence[Mapping[str, Any]],
                instances: Sequence[Mapping[str, Any]], branching: int) -> Cases:
    """Gather the test split's gold rows and instances, as the stages before write them, into flat arrays."""
    test = {s["question_id"] for s in splits if s["split"] == "test"}
    rows = [g for g in gold if g["question_id"] in test]
    annotated = {g["question_id"] for g in rows}
    questions = [s["question_id"] for s in splits if s["question_id"] in annotated]
    number = {q: n for n, q in enumerate(questions)}
    rows.sort(key=lambda g: number[g["question_id"]])
    pair: dict[tuple[str, str], int] = {}
    first = []
    for g in rows:
        if (g["question_id"], g["item_id"]) not in pair:
            pair[g["question_id"], g["item_id"]] = len(pair)
            first.append(g)
    layout = lay_out([g["count"] for g in first], branching)
    row_pair = np.array([pair[g["question_id"], g["item_id"]] for g in rows], dtype=np.int64)
    fragments, row_offsets = _flatten([g["fragments"] for g in rows])
    located = np.zeros(len(pair), dtype=bool)
    located[row_pair[np.array([g["coverage"] == "located" for g in rows], dtype=bool)]] = True

    judged = [i for i in instances if (i["question_id"], i["item_id"]) in pair]
    at = np.array([pair[i["question_id"], i["item_id"]] for i in judged], dtype=np.int64)
    children, offsets = _flatten([i["child_nodes"] for i in judged])
    child_gold, _ = _flatten([i["child_gold"] for i in judged])
    start = layout.nodes[at]
    decisions = Decisions(start + np.array([i["node"] for i in judged], dtype=np.int64),
                            np.array([i["fully_gold"] for i in judged], dtype=bool), offsets,
                            children + np.repeat(start, np.diff(offsets)), child_gold.astype(bool))
    return Cases(questions, layout, np.array([number[g["question_id"]] for g in first], dtype=np.int64),
                 [g["item_id"] for g in first], np.array([g["modality"] for g in first], dtype=object), row_pair,
                 np.array([g["group"] for g in rows], dtype=np.int64), row_offsets,
                 fragments + np.repeat(layout.fragments[row_pair], np.diff(row_offsets)), located, decisions, at,
                 np.array([i["group"] for i in judged], dtype=np.int64),
                 np.array([i["depth"] for i in judged], dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Words:
    """Tokens and answers of the pairs: ``once``/``each`` as in ``metrics.kept_tokens``.

    Statements as in ``answers_kept``.
    """

    once: np.ndarray
    each: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    question: np.ndarray


def read_words(cases: Cases, items: Mapping[str, Item], questions: Mapping[str, Question], segment_seconds: float,
               count_tokens: Callable[[list[str]], np.ndarray]) -> Words:
    """Count the tokens of every fragment and find where the accepted answers are stated."""
    words: dict[str, tuple[str, list[str]]] = {}
    for p, i in enumerate(cases.pair_item):
        if i not in words:
            words[i] = item_words(items[i], cut_item(items[i], segment_seconds))
        count, expected = len(words[i][1]), int(cases.layout.fragments[p + 1] - cases.layout.fragments[p])
        if count != expected:
            raise DataError(f"item {i}: {count} fragments, but its gold was mapped onto {expected}; rerun gold_spans")
    texts = [t for once, each in words.values() for t in (once, *each)]
    counted = np.asarray(count_tokens(texts), dtype=np.int64) if texts else np.zeros(0, dtype=np.int64)
    tokens, start = {}, 0
    for i, (_, each) in words.items():
        tokens[i] = (int(counted[start]), counted[start + 1:start + 1 + len(each)])
        start += 1 + len(each)
    accepted = {q: matchable(questions[q].answers) for q in cases.questions}
    stated = []
    for p, i in enumerate(cases.pair_item):
        q = int(cases.pair_question[p])
        for lo, hi in find_answers(accepted[cases.questions[q]], *words[i],
                                   across=items[i].modality in ("text", "video")):
            stated.append((cases.layout.fragments[p] + lo, cases.layout.fragments[p] + hi, q))
    places = np.array(stated, dtype=np.int64).reshape(-1, 3)
    counts = [tokens[i][1] for i in cases.pair_item]
    once = np.array([tokens[i][0] for i in cases.pair_item], dtype=np.int64)
    each_flat = np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)
    return Words(once, each_flat, places[:, 0], places[:, 1], places[:, 2])
