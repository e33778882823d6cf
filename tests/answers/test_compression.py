"""Compression alone: what compressors keep at which length, and the comparison at equal length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from canopy.answers.compression import CompressionMeter
from canopy.answers.compressors import MARGINS, list_compressors
from canopy.answers.curves import compare_at_equal_tokens, summarise_points
from canopy.answers.gold import Places, build_gold
from canopy.config import Answers
from canopy.corpus.folds import Folds
from canopy.items import Question
from canopy.selection.best_of_all import select_best_of_all
from canopy.selection.layout import lay_out
from tests.pipelines.served import Shelf

QUESTIONS = [Question("q1", "tiny", "Who shared the Nobel Prize in Physics in 1903?", ("Marie Curie",)),
             Question("q2", "tiny", "Which gas boils at 119.9 kelvin?", ("Krypton",)),
             Question("q3", "tiny", "Is it so?", ("yes",))]
GOLD = [{"question_id": "q1", "item_id": "tiny/curie", "group": 0, "fragments": [2], "coverage": "located"},
        {"question_id": "q2", "item_id": "tiny/elements", "group": 0, "fragments": [3], "coverage": "located"}]


def measured(shelf: Shelf, corpus_scope: str, answers: Answers = Answers(k=3)) -> list[dict[str, Any]]:
    def held(item_id: str) -> Any:
        return shelf.library.item(item_id), shelf.library.leaves(item_id)

    places = Places(Folds(), held)
    gold = build_gold(GOLD, QUESTIONS, places, held)
    meter = CompressionMeter(shelf.tools(None, answers, corpus_scope, gold=gold.annotations), gold, places)
    return [r for q in QUESTIONS for r in meter.measure(q)]


def pick(rows: Sequence[dict[str, Any]], name: str, scorer: str = "f_theta") -> list[dict[str, Any]]:
    return [r for r in rows if r["compressor"] == name and r["scorer"] == scorer]


@pytest.mark.parametrize("corpus_scope", ["gold", "unified"])
def test_curves_run_from_nothing_to_everything(shelf: Shelf, corpus_scope: str) -> None:
    rows = measured(shelf, corpus_scope)
    ids = {"gold": {"q1", "q2"}, "unified": {"q1", "q2", "q3"}}[corpus_scope]
    assert {r["question_id"] for r in rows} == ids and {r["corpus_scope"] for r in rows} == {corpus_scope}
    for q in ids:
        (none,), (whole,) = (pick([r for r in rows if r["question_id"] == q], n, "") for n in ("none", "whole"))
        assert (none["tokens"], none["answer_in_evidence"]) == (0, None if q == "q3"
                                                                else 0.0) and none["gold_recall"] in (None, 0.0)
        if corpus_scope == "gold":
            assert (whole["gold_recall"], whole["answer_in_evidence"]) == (1.0, 1.0)
        for name in ("flat-leaf", "any-level", "near-best", "flat-all"):
            of = [r for r in pick(rows, name) if r["question_id"] == q]
            assert all(a["tokens"] <= b["tokens"] and (a["gold_recall"] or 0) <= (b["gold_recall"] or 0) for a,
                       b in zip(of, of[1:], strict=False) if name != "any-level"), name
            assert all(r["tokens"] > 0 for r in of)
    if corpus_scope == "unified":
        assert all(r["gold_recall"] is None for r in rows if r["question_id"] == "q3")


def test_every_compressor_is_there_once_and_words_score_leaves_alone(shelf: Shelf) -> None:
    compressors = list_compressors(("f0", "f_theta"), Answers())
    assert len({(c.name, c.scorer, str(c.size)) for c in compressors}) == len(compressors)
    assert sum(c.name == "canopy" for c in compressors) == 2 and sum(c.name == "canopy-lookahead"
                                                              for c in compressors) == 2 * len(MARGINS)
    assert {c.name for c in compressors if c.scorer == "words"} == {"flat-leaf", "flat-share", "flat-all"}
    rows = [r for r in measured(shelf, "gold") if r["scorer"] == "words" and r["compressor"] == "flat-leaf"
            and r["size"] == 1]
    # The question's rarer words ("1903", "119.9") are in the very fragments that answer it.
    assert [r["gold_recall"] for r in rows] == [1.0, 1.0]


def test_the_best_leaves_of_all_items_are_taken_together() -> None:
    layout = lay_out([3, 2], 2)
    scores = np.zeros(len(layout.forest))
    leaf = np.flatnonzero(layout.forest.hi - layout.forest.lo == 1)
    scores[leaf] = [0.1, 0.9, 0.8, 0.2, 0.7][:len(leaf)]
    kept = select_best_of_all(layout, scores, 3)
    assert kept.sum() == 3 and set(np.flatnonzero(kept)) == set(leaf[np.argsort(-scores[leaf], kind="stable")[:3]])
    assert select_best_of_all(layout, scores, 99).sum() == len(leaf)


def rows_of(name: str, scorer: str, size: float, tokens: Sequence[int],
            recall: Sequence[float | None]) -> list[dict[str, Any]]:
    return [{"question_id": f"q{n}", "corpus_scope": "gold", "compressor": name, "scorer": scorer, "size": size,
             "tokens": t, "gold_recall": r, "answer_in_evidence": None}
            for n, (t, r) in enumerate(zip(tokens, recall, strict=True))]


def test_equal_length_lies_on_the_line_between_two_sizes() -> None:
    rows = [*rows_of("canopy", "f_theta", math.nan, [40, 60], [0.8, 0.8]),
            *rows_of("flat-leaf", "f_theta", 1, [30, 50], [0.5, 0.5]),
            *rows_of("flat-leaf", "f_theta", 2, [50, 70], [0.7, 0.7]),
            *rows_of("whole", "", math.nan, [100, 100], [1.0, 1.0]),
            *rows_of("none", "", math.nan, [0, 0], [0.0, 0.0]),
            *rows_of("flat-all", "f_theta", 1, [80, 80], [0.9, 0.9])]
    against = {r["compressor"]: r for r in compare_at_equal_tokens(rows, resamples=200, seed=3, confidence=0.95)}
    assert against["flat-leaf"]["theirs"] == pytest.approx(0.6) and against["flat-leaf"]["difference"] == pytest.approx(
        0.2
    )
    assert against["flat-leaf"]["low"] == pytest.approx(0.2) and against["flat-leaf"]["high"] == pytest.approx(0.2)
    assert (against["flat-leaf"]["tokens"], against["flat-leaf"]["questions"]) == (50.0, 2)
    # The shortest size is longer than the reference: between nothing and it.
    assert against["flat-all"]["theirs"] == pytest.approx(0.9 * 50 / 80)
    assert against["flat-leaf"]["reached"] is True and against["flat-all"]["reached"] is False
    assert {r["measure"] for r in against.values()} == {"gold_recall"}


def test_questions_without_gold_count_nowhere_and_intervals_hold_the_difference() -> None:
    draw = np.random.default_rng(5)
    recall = draw.random(40)
    undefined: list[float | None] = [None, *recall[1:].tolist()]
    rows = [*rows_of("canopy", "f_theta", math.nan, [50] * 40, undefined),
            *rows_of("flat-leaf", "f_theta", 1, [50] * 40, [None, *(recall[1:] / 2).tolist()]),
            *rows_of("whole", "", math.nan, [100] * 40, [None] + [1.0] * 39),
            *rows_of("none", "", math.nan, [0] * 40, [None] + [0.0] * 39)]
    (row,) = compare_at_equal_tokens(rows, resamples=500, seed=1, confidence=0.95)
    assert (
        row["questions"] == 39
        and row["low"] < row["difference"] < row["high"]
        and row["difference"] == pytest.approx(recall[1:].mean() / 2)
    )
    table = summarise_points(rows, resamples=200, seed=1, confidence=0.95)
    assert [r["size"] for r in table] == [None, 1.0, None, None] and table[0]["answer_in_evidence"] is None
    assert (
        table[0]["gold_recall_low"] < table[0]["gold_recall"] < table[0]["gold_recall_high"]
        and table[0]["questions"] == 40
    )


def test_a_benchmark_without_questions_has_no_rows() -> None:
    assert compare_at_equal_tokens([], resamples=100, seed=1,
                                   confidence=0.9) == [] == summarise_points([], resamples=100, seed=1, confidence=0.9)
