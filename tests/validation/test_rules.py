"""Every rule holds for sound data and is broken by broken data; what a stage reads is checked when it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from canopy.config import Config
from canopy.errors import DataError
from canopy.paths import Paths
from canopy.stages.base import NullTracker, StageResult
from canopy.stages.registry import PER_BENCHMARK, STAGES, load_stage
from canopy.validation.checker import RuleValidator, check_rules, refuse_broken, rules_for, tabulate
from canopy.validation.gold_tables import answer_type
from canopy.validation.inputs import check_inputs
from canopy.validation.outcomes import ValidationFailed
from canopy.validation.suites import SOURCES, SUITES
from canopy.validation.tables import TABLES
from tests.validation.broken import BREAKS, CONFIG, SCHEMAS, sound, tables, write


def test_every_rule_has_a_broken_input() -> None:
    assert set(BREAKS) == {(suite, r.name) for suite, rules in SUITES.items() for r in rules}
    assert {r.table for rules in SUITES.values() for r in rules} <= set(SOURCES) == set(TABLES)


@pytest.mark.parametrize("suite", SUITES)
def test_sound_data_meets_every_rule(suite: str) -> None:
    for made in (tables(sound()), {n: s.empty_table() for n, s in SCHEMAS.items()}):
        outcomes = RuleValidator().check(suite, made)
        assert [o["rule"] for o in outcomes] == [r.name for r in SUITES[suite]]
        assert [o["rule"] for o in outcomes if not o["passed"]] == []


@pytest.mark.parametrize(("suite", "name"), BREAKS, ids=lambda v: v.replace(" ", "_"))
def test_broken_data_breaks_its_rule(suite: str, name: str) -> None:
    change, failing = BREAKS[suite, name]
    rows = sound()
    change(rows)
    made = tables(rows)
    rules = rules_for(suite, made)
    outcomes = {o["rule"]: o for o in check_rules(rules, tabulate(rules, made))}
    assert (outcomes[name]["passed"], outcomes[name]["failing"]) == (False, failing)
    assert set(next(r for r in rules if r.name == name).labels) <= set(outcomes[name]["examples"][0])
    if not next(r for r in rules if r.name == name).blocking:
        return
    with pytest.raises(ValidationFailed) as caught:
        RuleValidator().check(suite, made)
    assert repr(name) in str(caught.value) and caught.value.suite == suite
    assert {o["rule"] for o in caught.value.outcomes} == {r.name for r in SUITES[suite]}


def test_the_message_names_rules_and_rows() -> None:
    rows = sound()
    for name in ("item ids are unique", "gold units fit"):
        BREAKS["benchmark", name][0](rows)
    with pytest.raises(ValidationFailed) as caught:
        RuleValidator().check("benchmark", tables(rows), source="data/benchmark/made")
    assert str(caught.value).startswith("data/benchmark/made: rule 'item ids are unique' fails for 2 rows: id "
                                        "'made/t0'; id 'made/t0'; so do 'gold units fit'")
    with pytest.raises(ValidationFailed, match=r"fails for 1 row: question_id 'q1', item_id 'made/t1', unit 'rows'"):
        refuse_broken("x", [o for o in caught.value.outcomes if o["rule"] == "gold units fit"])


STARTS = {("gold_spans", "benchmark"): "item ids are unique",
          ("split", "gold_spans"): "fragments lie inside their items",
          ("training_instances", "gold_spans"): "fragments lie inside their items",
          ("training_instances", "split"): "no gold text of a test question trains",
          ("corpus", "benchmark"): "items have content", ("node_encoder", "benchmark"): "questions have words",
          ("node_encoder", "training_instances"): "instances are preferences",
          ("node_encoder", "node_encoder"): "instances' items are in the data",
          ("node_embeddings", "corpus"): "item ids are unique",
          ("node_embeddings", "gold_spans"): "fragments lie inside their items",
          ("node_embeddings", "split"): "one split a question",
          ("node_embeddings", "node_embeddings"): "gold items are in the corpus",
          ("evaluation", "benchmark"): "gold spans lie inside their items",
          ("evaluation", "gold_spans"): "fragments lie inside their items",
          ("evaluation", "split"): "splits are train and test",
          ("evaluation", "training_instances"): "instances are unique",
          ("leaf_scorer", "benchmark"): "question ids are unique",
          ("leaf_scorer", "gold_spans"): "fragments lie inside their items",
          ("leaf_scorer", "split"): "one split a question",
          ("answers", "benchmark"): "question ids are unique", ("answers", "split"): "one split a question",
          ("answers", "gold_spans"): "fragments lie inside their items",
          ("report", "split"): "no gold item on both sides",
          ("report", "gold_spans"): "fragments lie inside their items"}


def test_every_input_of_every_stage_is_broken_once() -> None:
    assert set(STARTS) == {(stage.name, suite) for stage in STAGES.values() for suite in stage.reads}


@pytest.mark.parametrize(("stage", "suite"), STARTS)
def test_a_stage_that_is_run_alone_stops_at_a_broken_input(stage: str, suite: str, tmp_path: Path) -> None:
    rows = sound()
    check_inputs(stage, STAGES[stage].reads, CONFIG, write(rows, tmp_path), RuleValidator(), "made")
    if suite == "corpus":
        rows["corpus"].append(rows["corpus"][0])
    else:
        BREAKS[suite, STARTS[stage, suite]][0](rows)
    paths = write(rows, tmp_path)
    one = stage in PER_BENCHMARK
    with pytest.raises(ValidationFailed) as caught:
        load_stage(stage)(CONFIG, paths, NullTracker(), RuleValidator(), benchmark="made" if one else None)
    folder = {"corpus": "data/corpus", "node_encoder": "data/training_instances/made",
              "node_embeddings": "data/gold_spans/made"}  # those of its own suite
    assert str(caught.value).startswith(f"{folder.get(suite, f'data/{suite}/made')}: rule {STARTS[stage, suite]!r} "
                                        f"fails for ")
    if stage not in ("gold_spans", "split", "training_instances", "corpus"):  # those lie there as another stage's input
        assert not paths.output(stage).exists()


def test_a_split_that_the_data_brings_may_not_leak_near_duplicates_and_ours_does_not(tmp_path: Path) -> None:
    rows = sound()
    rows["items"][6]["text"] = rows["items"][0]["text"].upper()
    rows["questions"][7]["question"] = f"{rows['questions'][3]['question']} "
    paths = write(rows, tmp_path)

    def run(config: Config, paths: Paths) -> StageResult:
        load_stage("gold_spans")(config, paths, NullTracker(), RuleValidator(), benchmark="made")
        return load_stage("split")(config, paths, NullTracker(), RuleValidator(), benchmark="made")

    with pytest.raises(ValidationFailed, match=r"rule 'no gold text of a test question trains' fails for 1 row: items "
                                               r"'made/t0 \(train\), made/t6 \(test\)', splits 'test, train', sides 2; "
                                               "so do 'no near-duplicate questions on both sides'"):
        run(CONFIG, paths)
    unlooked = CONFIG.model_copy(update={"split": CONFIG.split.model_copy(update={"near_duplicates": 0.0})})
    assert run(unlooked, paths).metrics["duplicate_items"] == 0
    for q in rows["questions"]:
        q["split"] = ""
    result = run(CONFIG, write(rows, tmp_path))
    assert (result.metrics["duplicate_items"], result.metrics["duplicate_questions"]) == (2, 2) and all(c["passed"]
        for c in result.checks if c["blocking"])


@pytest.mark.parametrize("damage", ["gone", "cut", "other"])
def test_a_table_that_cannot_be_read_is_named(damage: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    paths = write(sound(), tmp_path)
    path = paths.output("gold_spans", "made") / "gold.parquet"
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        pq.write_table(pa.table({"question_id": ["q0"]}), path)
    with pytest.raises(DataError, match=r"gold\.parquet: (no such file|not a table of this version)"):
        check_inputs("training_instances", STAGES["training_instances"].reads, CONFIG, paths, RuleValidator(), "made")


@pytest.mark.parametrize(("answers", "kind"), [((), "none"), (None, "none"), ((" ",), "none"), (("Yes",), "yes or no"),
                                               (("1,452.4",), "number"),
                                               (("$ -3 million",), "number"), (("12%",), "number"), (("B",), "option"),
                                               (("B minor",), "words"),
                                               (("1990s",), "words"), (("Paris", "3"), "words")])
def test_types_of_answers(answers: tuple[str, ...] | None, kind: str) -> None:
    assert answer_type(answers) == kind
