"""A stage's run must say what it did, from what, and how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.models.tracking import experiment_id, open_client, safe_name, stage_run


def _runs(workspace: Path) -> list:
    client = open_client(workspace)
    return client.search_runs([experiment_id(client)], order_by=["attributes.start_time DESC"])


def test_run_holds_params_metrics_lineage_and_artifact(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("seen")
    with stage_run(tmp_path, "evaluation", "hotpotqa", {"dvc.data/corpus": "abc", "dagster.run_id": "r1"}) as tracker:
        tracker.log_params({"encoder": {"mode": "one_pass"}, "long": "x" * 700})
        tracker.log_metrics({"recall@5": 0.5, "undefined": float("nan")})
        for step in range(450):
            tracker.log_metrics({"loss": 1 / (step + 1)}, step=step)
        tracker.log_artifact(note)
    run = _runs(tmp_path)[0]
    assert run.info.status == "FINISHED" and run.info.run_name == "evaluation@hotpotqa"
    assert run.data.params["encoder.mode"] == "one_pass" and "long_params.json" in run.data.params["long"]
    assert run.data.metrics["recall_at_5"] == 0.5 and "undefined" not in run.data.metrics
    assert run.data.tags["dvc.data/corpus"] == "abc" and run.data.tags["dagster.run_id"] == "r1"
    client = open_client(tmp_path)
    assert len(client.get_metric_history(run.info.run_id, "loss")) == 450
    assert {a.path for a in client.list_artifacts(run.info.run_id)} == {"note.txt", "long_params.json"}
    assert (tmp_path / ".canopy" / "mlartifacts" / run.info.run_id / "artifacts" / "note.txt").read_text() == "seen"


def test_failure_is_marked_and_goes_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no gold"), stage_run(tmp_path, "gold_spans", "starter") as tracker:
        tracker.log_metrics({"seen": 3})
        raise ValueError("no gold")
    run = _runs(tmp_path)[0]
    assert run.info.status == "FAILED" and run.data.metrics["seen"] == 3
    assert run.data.tags["error.type"] == "ValueError" and run.data.tags["error.message"] == "no gold"


def test_a_database_that_fails_does_not_hide_the_error(tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("disk full")

    with pytest.raises(ValueError, match="no gold") as e, stage_run(tmp_path, "gold_spans", "starter") as tracker:
        tracker.log_metrics({"seen": 3})
        tracker._client.log_batch = full  # type: ignore[method-assign]
        raise ValueError("no gold")
    assert any("disk full" in note for note in e.value.__notes__) and _runs(tmp_path)[0].info.status == "FAILED"


def test_two_workspaces_do_not_mix(tmp_path: Path) -> None:
    for name in ("a", "b", "b"):
        with stage_run(tmp_path / name, "corpus"):
            pass
    assert len(_runs(tmp_path / "a")) == 1 and len(_runs(tmp_path / "b")) == 2


def test_names() -> None:
    assert safe_name("recall@5") == "recall_at_5"
    assert safe_name("dvc.data/benchmark/a b:c") == "dvc.data/benchmark/a b_c"
