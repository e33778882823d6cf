"""A rerun runs exactly what a change made stale, says why, and a second one runs nothing."""

from __future__ import annotations

import os
import shutil
import uuid

import dagster as dg
import pytest
from rich.console import Console

from assets.history import DagsterHistory
from assets.resources import PROCESS_TAG
from canopy.errors import CanopyError
from orchestration.machine.processes import identity
from orchestration.pipeline.rerun import rerun
from tests.orchestration.project import Project

EVERYTHING = {"benchmark@one", "benchmark@two", "gold_spans@one", "gold_spans@two", "corpus", "item_index"}


def test_first_rerun_runs_everything_once_and_the_second_nothing(project: Project) -> None:
    ran, _ = project.rerun()
    assert set(ran) == EVERYTHING
    assert project.output("item_index") == "ONE=APPLE TWO=PEAR"
    assert project.rerun()[0] == {}
    assert project.stale() == set()


def test_a_stage_waits_for_all_that_is_stale_above_it(project: Project) -> None:
    project.rerun()
    project.edit("params.yaml", "share: 0.05", "share: 0.06")
    project.edit("raw/one/x.txt", "apple", "quince")
    project.edit("code/item_index.py", "upper", "lower")
    ran, _ = project.rerun()  # each once, though item_index was stale by itself from the start
    assert list(ran) == ["benchmark@one", "benchmark@two", "gold_spans@one", "corpus", "item_index"]


BELOW_CORPUS = {"corpus", "item_index"}


@pytest.mark.parametrize(("file", "old", "new", "expected", "why"), [
    ("raw/two/x.txt", "pear", "fig", {"benchmark@two", "gold_spans@two"} | BELOW_CORPUS,
     "raw files changed: raw/two/x.txt"),
    ("params.yaml", "one: {adapter: plain,", "one: {adapter: other,", {"benchmark@one", "corpus"},
     "params.yaml: benchmarks.one.adapter plain -> other"),
    ("params.yaml", "share: 0.05", "share: 0.06", {"benchmark@one", "benchmark@two"},
     "params.yaml: ingest.max_quarantined_share 0.05 -> 0.06"),
    ("params.yaml", "branching: 2", "branching: 3", {"gold_spans@one", "gold_spans@two", "item_index"},
     "params.yaml: hierarchy.branching 2 -> 3"),
    ("params.yaml", "# B", "# B of the paper", set(), ""),
    ("code/lib/words.py", "' '", "'  '", {"corpus"}, "code changed: code/lib/words.py"),
    ("code/item_index.py", "upper", "lower", {"item_index"}, "code changed: code/item_index.py"),
    ("run.py", "stub", "stage", set(), ""),
])
def test_a_change_reruns_exactly_what_it_touches(project: Project, file: str, old: str, new: str, expected: set[str],
                                                 why: str) -> None:
    project.rerun()
    project.edit(file, old, new)
    ran, told = project.rerun()
    assert set(ran) == expected, told
    assert not expected or why in next(iter(ran.values()))
    assert project.rerun()[0] == {} and project.stale() == set()


def test_an_adapter_of_one_benchmark_reruns_that_benchmark_alone(project: Project) -> None:
    project.edit("params.yaml", "two: {adapter: plain", "two: {adapter: other")
    project.rerun()
    project.edit("code/other.py", "", "# changed")
    ran, _ = project.rerun()
    assert ran == {"benchmark@two": ("code changed: code/other.py",)}  # same output: nothing below it ran


def test_same_output_stops_the_rerun(project: Project) -> None:
    project.rerun()
    project.edit("raw/one/x.txt", "apple", "apple  ")
    assert project.stale() == {"benchmark@one"}
    assert set(project.rerun()[0]) == {"benchmark@one"}
    assert project.stale() == set()


def test_selection_and_force(project: Project) -> None:
    ran, told = project.rerun(select=["+gold_spans@two"])
    assert list(ran) == ["benchmark@two", "gold_spans@two"]
    ran, told = project.rerun(select=["item_index"])
    assert ran == {} and "item_index: still stale" in told
    assert set(project.rerun()[0]) == EVERYTHING - {"benchmark@two", "gold_spans@two"}
    ran, _ = project.rerun(force=["corpus"])
    assert ran == {"corpus": ("asked for with --force",)}
    with pytest.raises(CanopyError, match="no stage 'corpsu'; there are benchmark@one"):
        project.rerun(select=["corpsu"])


def test_a_failing_stage_stops_what_needs_it_and_the_next_rerun_goes_on(project: Project) -> None:
    project.write("raw/two/x.txt", "broken")
    with pytest.raises(CanopyError, match=r"^benchmark@two: .*raw/two/x.txt: line 1: broken; correct the line$"):
        project.rerun()
    assert project.calls == ["benchmark@one", "benchmark@two"]
    project.write("raw/two/x.txt", "plum")
    assert set(project.rerun()[0]) == EVERYTHING - {"benchmark@one"}


def test_a_stage_with_too_few_questions_is_left_out_with_what_needs_it(project: Project) -> None:
    shortage = ("    from canopy.errors import Shortage\n"
                "    if (paths.raw(config, 'one') / 'x.txt').read_text() == '=few':\n"
                "        raise Shortage('two questions at least')\n")
    project.edit("code/corpus.py", "    found", f"{shortage}    found")
    project.write("raw/one/x.txt", "=few")
    for expected in (EVERYTHING - BELOW_CORPUS, set()):
        summary = rerun(project.root, project, console=Console(quiet=True))
        assert set(summary.ran) == expected and summary.short == {"corpus": "two questions at least"}
    project.write("raw/one/x.txt", "many")
    assert set(project.rerun()[0]) == {"benchmark@one", "gold_spans@one"} | BELOW_CORPUS


def test_a_programming_error_is_one_line_and_a_file(project: Project) -> None:
    project.edit("code/corpus.py", "found = ", "found = {}['gone'] or ")
    with pytest.raises(CanopyError,
                       match=r"^internal error in stage corpus: KeyError: 'gone'; full traceback in "
                             r"\S+error-corpus\.log$"):
        project.rerun()
    told = (project.root / ".canopy" / "logs" / "error-corpus.log").read_text()
    assert "code/corpus.py" in told and told.rstrip().endswith("KeyError: 'gone'")


def test_runs_of_dead_processes_are_closed_and_no_others(project: Project) -> None:
    def add(tags: dict[str, str], status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED) -> str:
        run = dg.DagsterRun(job_name="x", run_id=str(uuid.uuid4()), tags=tags, status=status)
        return project.instance.add_run(run).run_id

    def failed() -> set[str]:
        return {r.run_id for r in project.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))}

    alive, reused = add({PROCESS_TAG: identity()}), add({PROCESS_TAG: f"{os.getpid()}@1"})
    untagged, waiting = add({}, dg.DagsterRunStatus.STARTING), add({}, dg.DagsterRunStatus.NOT_STARTED)
    assert DagsterHistory(project.root, project.instance).close_dead_runs() == 1 and failed() == {reused}
    assert DagsterHistory(project.root, project.instance).close_dead_runs(untagged=True) == 1
    assert failed() == {reused, untagged}
    assert not failed() & {alive, waiting}


def test_a_run_names_the_process_it_goes_on_in(project: Project) -> None:
    from assets.definitions import build_definitions

    job = build_definitions(project.root).resolve_implicit_global_asset_job_def()
    job.execute_in_process(instance=project.instance, partition_key="one", asset_selection=[dg.AssetKey("benchmark")])
    (run,) = project.instance.get_runs()
    assert run.tags[PROCESS_TAG] == identity()


def test_missing_raw_files_are_named(project: Project) -> None:
    project.edit("params.yaml", "path: raw/two", "path: raw/nowhere")
    with pytest.raises(CanopyError, match="benchmark@two: raw/nowhere is missing; put the benchmark's files there"):
        project.rerun()


def test_lost_outputs_come_back_from_the_cache_without_a_run(project: Project) -> None:
    project.rerun()
    shutil.rmtree(project.root / "data" / "corpus")
    ran, told = project.rerun()
    assert ran == {} and "corpus  data/corpus is missing" in told and project.output("corpus") == "one=apple two=pear"
    shutil.rmtree(project.root / ".dvc" / "cache")
    ran, told = project.rerun()
    assert ran == {} and "not in DVC's cache" in told
    assert project.stale() == set()


def test_a_removed_benchmark_leaves_the_corpus_and_comes_back_from_the_cache(project: Project) -> None:
    project.rerun()
    project.edit("params.yaml", "  two: {adapter: plain, path: raw/two}\n", "")
    ran, _ = project.rerun()
    assert set(ran) == BELOW_CORPUS and project.output("corpus") == "one=apple"
    assert not (project.root / "data/benchmark/two").exists()
    project.edit("params.yaml", "ingest:", "  two: {adapter: plain, path: raw/two}\ningest:")
    ran, told = project.rerun()
    assert set(ran) == BELOW_CORPUS and "benchmark@two  data/benchmark/two is missing" in told
    assert project.output("corpus") == "one=apple two=pear"


def test_code_that_changes_during_the_run_is_not_recorded(project: Project) -> None:
    project.edit("code/corpus.py", "found = ", "(paths.root / 'code/lib/words.py').write_text('changed'); found = ")
    with pytest.raises(CanopyError, match=r"code/lib/words\.py changed while the stage ran"):
        project.rerun()
    assert "corpus" in project.stale()


def test_the_lines_of_progress_stand_in_the_runs_log(project: Project, monkeypatch: pytest.MonkeyPatch,
                                                     capfd: pytest.CaptureFixture[str]) -> None:
    from canopy import progress
    from orchestration.pipeline import stage

    committed = stage.commit_stage

    def after_long_work(*arguments: object) -> object:
        with progress.progress("reading", 8, "records") as advance:
            advance(3)
            progress._board._last -= 100  # as if a hundred seconds had passed without a line
            progress._board.tick()
        return committed(*arguments)

    monkeypatch.setattr(stage, "commit_stage", after_long_work)
    project.rerun(select=["corpus", "+corpus"])
    lines = [e.user_message for run in project.instance.get_runs() for e in project.instance.all_logs(run.run_id)
             if ": reading: 3/8 records" in e.user_message]
    assert {x.split(":")[0] for x in lines} == {"benchmark@one", "benchmark@two", "corpus"}
    assert "corpus: reading: 3/8 records" in capfd.readouterr().err, "canopy run shows them too"
