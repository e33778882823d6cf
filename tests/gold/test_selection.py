"""Which questions go on: by split, type, located gold and a seeded limit.

What was expected of a release beside what was found; coverage.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canopy.benchmarks.declaration import write_declaration
from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.config import Config, Select
from canopy.errors import DataError
from canopy.gold.coverage import coverage_metrics, coverage_table
from canopy.gold.expected import Expected, compare_counts, compare_sides
from canopy.gold.selection import choose_questions, keep_questions, located_questions
from canopy.items import Annotation, Item, Question, read_questions, write_annotations, write_items, write_questions
from canopy.paths import Paths
from canopy.stages import gold_spans
from canopy.stages.base import NullTracker, StageResult
from canopy.validation.checker import RuleValidator

QUESTIONS = [Question(f"b/{n}", "b", "Why?", type=("bridge", "comparison")[n % 2], split=("train", "dev")[n % 3 == 0])
             for n in range(40)]


def expected(adapter: str) -> tuple[Expected, ...]:
    return load_benchmark_adapter(adapter).BENCHMARK.expected


def row(question: int, coverage: str, group: int = 0, count: int = 5, **more: object) -> dict[str, object]:
    return {"question_id": f"b/{question}", "item_id": "b/i", "group": group, "coverage": coverage, "count": count,
            "modality": "text", **more}


ROWS = [row(0, "located"), row(0, "whole"), row(1, "located"), row(2, "whole"), row(2, "located", 1),
        row(3, "whole", count=1, modality="image"),
        row(4, "whole", pseudo=True)]


def test_splits_and_types() -> None:
    chosen = choose_questions(QUESTIONS, Select(splits=("dev",), types=("comparison",)), "x")
    assert [q.id for q in chosen] == [f"b/{n}" for n in range(40) if n % 3 == 0 and n % 2]
    assert choose_questions(QUESTIONS, Select(), "x") == QUESTIONS and choose_questions([], Select(splits=("dev",)),
                                                                                        "x") == []
    with pytest.raises(DataError, match=r"params.yaml: benchmarks.b.select.splits: no question has 'devv'; there are "
                                        r"'dev', 'train'"):
        choose_questions(QUESTIONS, Select(splits=("dev", "devv")), "params.yaml: benchmarks.b.select")


def test_located_means_all_gold_of_some_alternative() -> None:
    assert located_questions(ROWS) == {"b/0": False, "b/1": True, "b/2": True, "b/3": True, "b/4": False}
    assert [q.id for q in keep_questions(QUESTIONS, ROWS, Select(keep="located"))] == ["b/1", "b/2", "b/3"]


def test_a_limit_is_drawn_by_the_seed_and_keeps_the_order() -> None:
    few, more, other = (keep_questions(QUESTIONS, [], Select(limit=n, seed=s)) for n, s in ((5, 1), (9, 1), (5, 2)))
    assert len(few) == 5 and set(few) < set(more) and few != other and [q for q in QUESTIONS if q in few] == few
    assert set(keep_questions(QUESTIONS[1:], [], Select(limit=5, seed=1))) >= set(few) - {QUESTIONS[0]}
    assert keep_questions(QUESTIONS, [], Select(limit=100)) == QUESTIONS


def test_published_counts_stand_beside_what_was_found() -> None:
    questions = [Question("n/1", "n", "Who?", split="dev"), Question("n/2", "n", "When?", split="dev"),
                 Question("n/3", "n", "Why?", split="train")]
    rows = [row(1, "located") | {"question_id": "n/1"}, row(1, "whole") | {"question_id": "n/2"}]
    told = compare_counts(expected("natural_questions"), questions, {"n/1", "n/2"}, rows, {"b/i": "page"}, [])
    assert [(t["published"], t["found"]) for t in told] == [(7_830, 2), (3_563, 1)] and {t["source"] for t in told} == {
        "the release",
        "the paper",
    }
    told = compare_counts(expected("natural_questions"), questions, {"n/1"}, rows, {"b/i": "page"}, [])
    assert told[1]["found"] is None
    assert compare_counts(expected("tat_qa"), questions, {"n/1", "n/2"}, rows, {"b/i": "page"}, [])[0]["found"] == 1
    clips = ["v/a_0.mp4", "v/a_1.mp4", "v/b.mp4"]
    assert [t["found"] for t in compare_counts(expected("lvbench"), questions, set(), [], {}, clips)] == [2, 3, 3]
    sides = compare_sides(expected("lvbench"), {"n/1": "test"})
    assert [(t["what"], t["found"]) for t in sides] == [("test questions", 1), ("train questions", 0)]
    assert compare_counts(expected("native"), questions, set(), [], {}, []) == []


def test_coverage_adds_up_by_modality_and_question() -> None:
    table = coverage_table(ROWS, [q.id for q in QUESTIONS])
    assert table == [{"of": "text", "located": 3, "whole item": 3, "none": 0, "pseudo": 1},
                     {"of": "image", "located": 0, "whole item": 1, "none": 0, "pseudo": 0},
                     {"of": "questions", "located": 3, "whole item": 2, "none": 35, "pseudo": 1}]
    assert coverage_metrics(table) == {"located_text": 3, "whole_text": 3, "located_image": 0, "whole_image": 1,
                                       "located_questions": 3,
                                       "whole_questions": 2, "questions_without_gold": 35}


def test_the_stage_goes_on_with_the_selected_and_says_what_it_found(tmp_path: Path) -> None:
    items = [Item(f"b/{n}", "b", "text", text=f"Number {n} stands here. It is the {n}th of its kind.",
                  source=f"page {n}") for n in range(12)]
    questions = [Question(f"b/q{n}", "b", f"Where does number {n} stand?", ("here",),
                          split=("dev", "train")[n % 4 == 0]) for n in range(12)]
    said = [Annotation(q.id, items[n].id, *(("item",) if n == 1 else ("chars", ((0, 20),)))) for n,
            q in enumerate(questions) if n != 2]
    source = Paths(tmp_path).output("benchmark", "b")
    for write, name, rows in ((write_items, "items", items), (write_questions, "questions", questions),
                              (write_annotations, "annotations", said)):
        write(source / f"{name}.parquet", rows)

    write_declaration(source, load_benchmark_adapter("hotpotqa").BENCHMARK)

    def run(**select: object) -> tuple[list[str], StageResult]:
        (source / "select.json").write_text(json.dumps(select), "utf-8")
        config = Config.model_validate({"benchmarks": {"b": {"adapter": "hotpotqa", "path": "raw"}}})
        result = gold_spans.run(config, Paths(tmp_path), NullTracker(), RuleValidator(), benchmark="b")
        out = Paths(tmp_path).output("gold_spans", "b")
        chosen = [q.id for q in read_questions(out / "questions.parquet")]
        assert (
            set(pq.read_table(out / "gold.parquet")["question_id"].to_pylist()) <= set(chosen)
            and result.files[-1] == "examples.html"
        )
        return chosen, result

    assert len(run()[0]) == 12
    dev = [q.id for q in questions if q.split == "dev"]
    chosen, result = run(splits=["dev"])
    assert chosen == dev and result.metrics["questions_read"] == 12 and result.metrics["questions_without_gold"] == 1
    assert result.tables["expected"][1] == {"what": "dev questions", "published": 7_405, "source": "the release",
                                            "found": 9}
    assert run(splits=["dev"], keep="located")[0] == [q for q in dev if q not in ("b/q1", "b/q2")]
    few, result = run(splits=["dev"], keep="located", limit=3)
    assert len(few) == 3 and "3 of 12 questions are selected." in result.notes and any("7,405 expected" in n
                                                                                       for n in result.notes)
    with pytest.raises(DataError, match=r"params.yaml: benchmarks.b.select.splits: no question has 'test'"):
        run(splits=["test"])
    (source / "select.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match=r"select.json: not a selection .*--force benchmark"):
        gold_spans.read_selection(source, Select())
