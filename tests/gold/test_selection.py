"""Which questions go on: by split, type, located gold and a seeded limit; what was expected of a release beside what was found; coverage."""

from __future__ import annotations

import pytest

from canopy.config import Select
from canopy.errors import DataError
from canopy.gold.coverage import coverage_metrics, coverage_table
from canopy.gold.expected import EXPECTED, compare_counts
from canopy.gold.selection import asked_for, kept, located_questions
from canopy.items import Question

QUESTIONS = [Question(f"b/{n}", "b", "Why?", type=("bridge", "comparison")[n % 2], split=("train", "dev")[n % 3 == 0]) for n in range(40)]


def row(question: int, coverage: str, group: int = 0, count: int = 5, **more: object) -> dict[str, object]:
    return {"question_id": f"b/{question}", "item_id": "b/i", "group": group, "coverage": coverage, "count": count, "modality": "text", **more}


ROWS = [row(0, "located"), row(0, "whole"), row(1, "located"), row(2, "whole"), row(2, "located", 1), row(3, "whole", count=1, modality="image"),
        row(4, "whole", pseudo=True)]


def test_splits_and_types() -> None:
    chosen = asked_for(QUESTIONS, Select(splits=("dev",), types=("comparison",)), "x")
    assert [q.id for q in chosen] == [f"b/{n}" for n in range(40) if n % 3 == 0 and n % 2]
    assert asked_for(QUESTIONS, Select(), "x") == QUESTIONS and asked_for([], Select(splits=("dev",)), "x") == []
    with pytest.raises(DataError, match=r"params.yaml: benchmarks.b.select.splits: no question has 'devv'; there are 'dev', 'train'"):
        asked_for(QUESTIONS, Select(splits=("dev", "devv")), "params.yaml: benchmarks.b.select")


def test_located_means_all_gold_of_some_alternative() -> None:
    assert located_questions(ROWS) == {"b/0": False, "b/1": True, "b/2": True, "b/3": True, "b/4": False}
    assert [q.id for q in kept(QUESTIONS, ROWS, Select(keep="located"))] == ["b/1", "b/2", "b/3"]


def test_a_limit_is_drawn_by_the_seed_and_keeps_the_order() -> None:
    few, more, other = (kept(QUESTIONS, [], Select(limit=n, seed=s)) for n, s in ((5, 1), (9, 1), (5, 2)))
    assert len(few) == 5 and set(few) < set(more) and few != other and [q for q in QUESTIONS if q in few] == few
    assert set(kept(QUESTIONS[1:], [], Select(limit=5, seed=1))) >= set(few) - {QUESTIONS[0]}
    assert kept(QUESTIONS, [], Select(limit=100)) == QUESTIONS


def test_published_counts_stand_beside_what_was_found() -> None:
    questions = [Question("n/1", "n", "Who?", split="dev"), Question("n/2", "n", "When?", split="dev"), Question("n/3", "n", "Why?", split="train")]
    rows = [row(1, "located") | {"question_id": "n/1"}, row(1, "whole") | {"question_id": "n/2"}]
    told = compare_counts("natural_questions", questions, {"n/1", "n/2"}, rows, {"b/i": "page"}, [], {})
    assert [(t["published"], t["found"]) for t in told] == [(7_830, 2), (3_563, 1)] and {t["source"] for t in told} == {"the release", "the paper"}
    assert compare_counts("natural_questions", questions, {"n/1"}, rows, {"b/i": "page"}, [], {})[1]["found"] is None
    assert compare_counts("tat_qa", questions, {"n/1", "n/2"}, rows, {"b/i": "page"}, [], {})[0]["found"] == 1
    clips = ["v/a_0.mp4", "v/a_1.mp4", "v/b.mp4"]
    assert [t["found"] for t in compare_counts("lvbench", questions, set(), [], {}, clips, {"n/1": "test"})] == [2, 3, 3, 1, 0]
    assert compare_counts("native", questions, set(), [], {}, [], {}) == []


def test_expected_counts_are_of_adapters_there_are() -> None:
    from canopy.benchmarks.base import adapter_names

    missing = set(EXPECTED) - set(adapter_names())
    assert not missing, missing


def test_coverage_adds_up_by_modality_and_question() -> None:
    table = coverage_table(ROWS, [q.id for q in QUESTIONS])
    assert table == [{"of": "text", "located": 3, "whole item": 3, "none": 0, "pseudo": 1}, {"of": "image", "located": 0, "whole item": 1, "none": 0, "pseudo": 0},
                     {"of": "questions", "located": 3, "whole item": 2, "none": 35, "pseudo": 1}]
    assert coverage_metrics(table) == {"located_text": 3, "whole_text": 3, "located_image": 0, "whole_image": 1, "located_questions": 3,
                                       "whole_questions": 2, "questions_without_gold": 35}
