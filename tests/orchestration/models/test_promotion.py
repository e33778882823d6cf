"""Promotion must let through what is better on the same data, and say why it does not let through the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.gold.fragments import GOLD_SCHEMA
from canopy.items import write_table
from orchestration.cli.main import build_app
from orchestration.models.promotion import PromotionError, Verdict, promote, rollback
from orchestration.models.reevaluation import evaluate_again
from orchestration.models.registration import register_candidate
from orchestration.models.registry import CHAMPION, PREVIOUS, version_by_alias
from orchestration.models.tracking import open_client
from tests import tiny_model

INTERVAL = "interval above the required difference"
BOTH_AGAINST_F0 = ["decision_accuracy against f0", INTERVAL]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model.make_workspace(tmp_path_factory.mktemp("promotion") / "template")


@pytest.fixture
def workspace(template: Path, tmp_path: Path) -> Path:
    return tiny_model.copy_workspace(template, tmp_path / "workspace")


def _alias(workspace: Path, alias: str) -> str | None:
    version = version_by_alias(open_client(workspace), alias)
    return None if version is None else str(version.version)


def _register(workspace: Path, accuracy: float, **more: object) -> str:
    tiny_model.write_evaluation(workspace, accuracy, **more)  # type: ignore[arg-type]
    return register_candidate(workspace)


def _failed(verdict: Verdict) -> list[str]:
    return [g.name for g in verdict.gates if not g.passed]


def test_first_champion_must_beat_f0(workspace: Path) -> None:
    with pytest.raises(PromotionError, match="no challenger"):
        promote(workspace)
    _register(workspace, 0.3)
    refused = promote(workspace)
    assert refused.outcome == "refused" and _failed(refused) == BOTH_AGAINST_F0 and _alias(workspace, CHAMPION) is None
    _register(workspace, 0.6)
    assert promote(workspace, dry_run=True).outcome == "would promote" and _alias(workspace, CHAMPION) is None
    verdict = promote(workspace)
    assert verdict.outcome == "promoted" and verdict.passed and _alias(workspace, CHAMPION) == "2"
    assert "f0-one-pass" in next(g.why for g in verdict.gates if "against f0" in g.name)
    assert promote(workspace).outcome == "already champion"


def test_champion_is_replaced_by_a_better_one_and_comes_back(workspace: Path) -> None:
    _register(workspace, 0.6)
    promote(workspace)
    _register(workspace, 0.5, seed=4)
    worse = promote(workspace)
    assert worse.outcome == "refused" and _failed(worse) == ["decision_accuracy against the champion", INTERVAL]
    assert _alias(workspace, CHAMPION) == "1"
    _register(workspace, 0.7, seed=5)
    assert promote(workspace).outcome == "promoted"
    assert (_alias(workspace, CHAMPION), _alias(workspace, PREVIOUS)) == ("3", "1")
    assert rollback(workspace) == ("1", "3")
    assert (_alias(workspace, CHAMPION), _alias(workspace, PREVIOUS)) == ("1", "3")
    assert rollback(workspace) == ("3", "1")


def test_champion_is_evaluated_again_where_the_data_changed(workspace: Path) -> None:
    _register(workspace, 0.6)
    promote(workspace)
    _register(workspace, 1.0, questions=100)
    verdict = promote(workspace, dry_run=True)
    assert verdict.outcome == "would promote" and "version 1 was evaluated again" in verdict.gates[1].why
    message = next(g.why for g in verdict.gates if "against the champion" in g.name)
    client = open_client(workspace)
    champion = version_by_alias(client, CHAMPION)
    assert champion is not None
    table = evaluate_again(workspace, load_config(workspace / "params.yaml"), client, champion, "tiny", "unused" * 4)
    assert len(table) == 100 and set(table["system"]) == {"f_theta"} and (table["decisions"] == 1).all()
    assert f"{100 * table['decisions_held'].mean():.1f} (version 1) -> 100.0" in message
    assert len(client.list_artifacts(champion.run_id, "evaluated_again")) == 2
    assert promote(workspace).outcome == "promoted"


def test_champion_that_cannot_be_evaluated_again_can_be_overruled(workspace: Path) -> None:
    _register(workspace, 0.6)
    promote(workspace)
    _register(workspace, 0.9, questions=100)
    for adapter in (workspace / ".canopy" / "mlartifacts").rglob("adapter_model.safetensors"):
        adapter.unlink()
    verdict = promote(workspace)
    assert verdict.outcome == "refused" and _failed(verdict) == ["same evaluation data"]
    assert "--force --reason" in verdict.gates[1].why
    with pytest.raises(PromotionError, match="--reason"):
        promote(workspace, force=True)
    assert promote(workspace, force=True, reason="the benchmark was corrected").outcome == "promoted"
    version = version_by_alias(open_client(workspace), CHAMPION)
    assert version is not None and version.tags["promotion_forced"] == "the benchmark was corrected"


def test_failing_check_and_unservable_model_are_refused(workspace: Path) -> None:
    _register(workspace, 0.6)
    summary = workspace / "data" / "gold_spans" / tiny_model.BENCHMARK / "summary.json"
    summary.write_text(json.dumps({"checks": [{"rule": "spans_inside", "blocking": True, "passed": False}]}))
    verdict = promote(workspace)
    assert _failed(verdict) == ["data checks"] and "gold_spans@tiny: spans_inside" in verdict.gates[2].why
    summary.write_text(json.dumps({"checks": [{"rule": "advice", "blocking": False, "passed": False}]}))

    def cannot(version: object) -> Path:
        raise CanopyError("no store")

    assert _failed(promote(workspace, export=cannot)) == ["servable"] and _alias(workspace, CHAMPION) is None
    assert promote(workspace, export=cannot, force=True, reason="no").outcome == "refused"


def test_stale_evaluation_is_refused(workspace: Path) -> None:
    _register(workspace, 0.6)
    tiny_model.write_evaluation(workspace, 0.6, questions=110)
    verdict = promote(workspace)
    assert _failed(verdict) == ["evaluated on current data"] and "`canopy run`" in verdict.gates[0].why


@pytest.mark.parametrize(("corpus_scope", "failing"), [
    ("promotion: {min_difference: 0.5, require_interval_above: false}", ["decision_accuracy against f0"]),
    ("promotion: {min_difference: 0.5}", BOTH_AGAINST_F0),
    ("promotion: {min_difference: 0.199}", [INTERVAL]),
    ("promotion: {metric: kept_tokens}", ["kept_tokens against f0", INTERVAL]),  # the same number of tokens
    ("promotion: {metric: kept_tokens, min_difference: -1}", []),
])
def test_params_decide(workspace: Path, corpus_scope: str, failing: list[str]) -> None:
    with open(workspace / "params.yaml", "a") as f:
        f.write(corpus_scope + "\n")
    _register(workspace, 0.6)
    assert _failed(promote(workspace, dry_run=True)) == failing


def test_no_difference_is_no_improvement(workspace: Path) -> None:
    with open(workspace / "params.yaml", "a") as f:
        f.write("promotion: {require_interval_above: false}\n")
    _register(workspace, 0.6)
    promote(workspace)
    table = workspace / "data" / "evaluation" / "tiny" / "systems.parquet"
    rows = pq.read_table(table)
    pq.write_table(rows.take(list(reversed(range(len(rows))))), table)  # another file, the same values
    register_candidate(workspace)
    verdict = promote(workspace)
    assert verdict.outcome == "refused" and _failed(verdict) == ["decision_accuracy against the champion"]
    assert "required: better by more than 0 points" in verdict.gates[-1].why


def test_unknown_metric_is_named(workspace: Path) -> None:
    with open(workspace / "params.yaml", "a") as f:
        f.write("promotion: {metric: beauty}\n")
    _register(workspace, 0.6)
    with pytest.raises(DataError, match=r"promotion\.metric: 'beauty'.*decision_accuracy"):
        promote(workspace)


def test_one_benchmark_may_not_be_lost_for_the_others(workspace: Path) -> None:
    params = workspace / "params.yaml"
    both = "benchmarks:\n  other: {adapter: native, path: raw}\n"
    params.write_text(params.read_text().replace("benchmarks:\n", both))
    tiny_model.write_evaluation(workspace, 0.2, questions=30, benchmark="other")
    _register(workspace, 0.8)
    verdict = promote(workspace)
    assert _failed(verdict) == ["no loss on other"] and len(verdict.gates) == 7


@pytest.mark.parametrize(("annotated", "words"), [
    (30, "annotated alone, 30 questions; pseudo-gold of 10 of 40 questions (25%) is left out"),
    (10, "pseudo-gold of 30 of 40 questions (75%) is counted: the 10 annotated are fewer than 30")])
def test_gates_say_how_much_of_the_gold_is_pseudo(workspace: Path, annotated: int, words: str) -> None:
    tiny_model.write_evaluation(workspace, 0.8, questions=40)
    table = pq.read_table(workspace / "data" / "evaluation" / tiny_model.BENCHMARK / "systems.parquet")
    questions = sorted(set(table["question_id"].to_pylist()))
    write_table(workspace / "data" / "gold_spans" / tiny_model.BENCHMARK / "gold.parquet", [
        {"question_id": q, "item_id": "i", "group": 0, "fragments": [0], "count": 2, "modality": "text",
         "coverage": "located", "pseudo": n >= annotated} for n, q in enumerate(questions)], GOLD_SCHEMA)
    register_candidate(workspace)
    verdict = promote(workspace, dry_run=True)
    for name in BOTH_AGAINST_F0:
        why = next(g.why for g in verdict.gates if g.name == name)
        assert words in why and f"{annotated if annotated == 30 else 40} questions" in why


def test_commands_tell_what_to_do(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANOPY_WORKSPACE", str(workspace))
    app, run = build_app(), CliRunner().invoke
    for arguments in (["serve"], ["compress", "why?"], ["build"]):
        result = run(app, arguments)
        assert isinstance(result.exception, DataError) and "run `canopy promote`" in str(result.exception)
    _register(workspace, 0.3)
    result = run(app, ["promote"])
    assert result.exit_code == 1 and "FAIL" in result.output and "not promoted" in result.output
    _register(workspace, 0.6)
    result = run(app, ["promote"])
    assert result.exit_code == 0 and "champion is now version 2" in result.output and "servable" in result.output
    result = run(app, ["compress", "x", "--item", "tiny/nowhere"])
    assert isinstance(result.exception, DataError) and "unknown item ids: tiny/nowhere" in str(result.exception)
    assert isinstance(run(app, ["rollback"]).exception, PromotionError)
