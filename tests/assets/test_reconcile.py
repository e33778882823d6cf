"""After a plain `dvc repro`, and after outputs are edited by hand, `canopy status` says what `dvc status` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import dagster as dg
import pytest

from tests.orchestration.project import Project

EVERYTHING = {"benchmark@one", "benchmark@two", "gold_spans@one", "gold_spans@two", "corpus", "item_index"}


def test_dvc_repro_alone_is_taken_over(project: Project) -> None:
    project.repro()
    view = project.view()
    assert set(view.reported) == EVERYTHING and not any(t.stale for t in view.tasks.values())
    assert project.stale() == set() and project.view().reported == ()
    assert project.rerun()[0] == {}
    event = project.instance.get_latest_materialization_event(dg.AssetKey("benchmark")).asset_materialization
    assert event.metadata["reconciled_from"].value == "dvc.lock" and event.metadata["items"].value in (4.0, 5.0)
    checks = project.instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(dg.AssetKey("benchmark"), "has_words"), limit=5
    )
    assert len(checks) == 2 and all(c.status.value == "SUCCEEDED" for c in checks)


@pytest.mark.parametrize(("file", "old", "new"), [
    ("raw/two/x.txt", "pear", "fig"), ("params.yaml", "branching: 2", "branching: 3"),
    ("code/item_index.py", "upper", "lower")])
def test_dvc_repro_after_a_change_is_taken_over_and_stays_exact(project: Project, file: str, old: str,
                                                                new: str) -> None:
    project.rerun()
    project.edit(file, old, new)
    before = project.stale()
    project.repro()
    assert project.stale() == set() and project.rerun()[0] == {}
    project.edit(file, new, old)
    assert project.stale() == before
    project.rerun()
    assert project.stale() == set()


def test_dvc_repro_then_another_change_before_anyone_looked(project: Project) -> None:
    project.rerun()
    project.edit("raw/one/x.txt", "apple", "quince")
    project.repro()
    project.edit("code/corpus.py", "found = ", "found = [] or ")
    assert project.stale() == {"corpus"}
    project.edit("raw/one/x.txt", "quince", "cherry")
    assert project.stale() == {"benchmark@one", "corpus"}
    assert set(project.rerun()[0]) == {"benchmark@one", "gold_spans@one", "corpus", "item_index"}
    assert project.stale() == set()


def test_repro_of_one_stage_while_its_inputs_moved_on(project: Project) -> None:
    project.rerun()
    project.edit("raw/one/x.txt", "apple", "quince")
    project.edit("code/gold_spans.py", "f\"{", "f\"-{")
    subprocess.run([sys.executable, "-m", "dvc", "repro", "-q", "-s", "gold_spans@one"], cwd=project.root, check=True,
                   env=os.environ)
    assert project.stale() == {"benchmark@one", "gold_spans@two", "item_index"}
    project.rerun()
    assert project.stale() == set()


def test_an_edited_output_is_seen_by_dvc_only_and_is_surfaced(project: Project) -> None:
    project.rerun()
    project.write("data/corpus/out.txt", "forged")
    task = project.view().tasks["corpus"]
    assert task.dagster == "FRESH" and task.edited == ("data/corpus was edited by hand",)
    assert project.stale() == {"corpus", "item_index"}
    ran, told = project.rerun()
    assert ran == {} and "data/corpus was edited by hand" in told
    assert project.output("corpus") == "one=apple two=pear" and project.stale() == set()


def test_dagster_history_can_be_lost(project: Project) -> None:
    project.rerun()
    project.instance = dg.DagsterInstance.ephemeral()
    assert set(project.view().reported) == EVERYTHING and project.rerun()[0] == {}


def test_a_new_code_dep_makes_a_stage_stale_and_tells_of_no_run_outside_dagster(project: Project) -> None:
    """As after an update: dvc.yaml lists other code than dvc.lock was written with."""
    project.rerun()
    project.write("code/more.py", "")
    project.edit("dvc.yaml", "code/gold_spans.py]", "code/gold_spans.py, code/more.py]")
    assert project.view().reported == ()
    assert project.stale() == {"gold_spans@one", "gold_spans@two"}
    assert set(project.rerun()[0]) == {"gold_spans@one", "gold_spans@two"} and project.stale() == set()


def test_dvc_lock_can_be_lost(project: Project) -> None:
    project.rerun()
    (project.root / "dvc.lock").unlink()
    shutil.rmtree(project.root / "data")
    assert set(project.rerun()[0]) == EVERYTHING
    assert project.stale() == set()
