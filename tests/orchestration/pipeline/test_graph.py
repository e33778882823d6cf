"""The graph as DVC resolves it, and the assets that Dagster gets from it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import dagster as dg
import pytest

from canopy.errors import CanopyError
from canopy.stages.registry import PER_BENCHMARK, STAGES
from orchestration.pipeline.dvc_graph import load_graph, read_graph
from orchestration.pipeline.lineage import code_version, explain
from orchestration.pipeline.lock_file import read_lock
from tests.orchestration.project import ROOT, Project


def test_the_graph_of_the_small_project(project: Project) -> None:
    graph = load_graph(project.root)
    assert list(graph.bases) == ["benchmark", "gold_spans", "corpus", "item_index"]
    assert graph.partitions == ("one", "two")
    one = graph.stages["benchmark@one"]
    assert (one.raw, one.own_code, one.own_params) == (("raw/one",), ("code/plain.py",), ("benchmarks.one",))
    assert (one.code, one.params, one.outs) == (("code/shared.py", "code/benchmark.py"), ("ingest",),
                                                ("data/benchmark/one",))
    assert graph.stages["corpus"].upstream == ("benchmark@one", "benchmark@two")
    assert graph.stages["corpus"].data == ("data/benchmark",)
    assert graph.stages["gold_spans@two"].upstream == ("benchmark@two",)


def test_the_checkouts_graph_holds_the_stages_of_the_library() -> None:
    graph = load_graph(ROOT)
    assert set(graph.bases) == set(STAGES)
    assert {b for b, specs in graph.bases.items() if specs[0].partition} == PER_BENCHMARK
    assert all(s.outs == (f"data/{s.base}" + (f"/{s.partition}" if s.partition else ""),)
               for s in graph.stages.values())
    assert all(s.description for s in graph.stages.values())


def test_one_benchmarks_parameters_leave_the_code_version_alone(project: Project) -> None:
    def versions() -> dict[str, str]:
        graph, now = read_graph(project.root, code_only=True)
        return {n: code_version(s, now[n]) for n, s in graph.stages.items()}

    before = versions()
    project.edit("params.yaml", "one: {adapter: plain", "one: {adapter: other")
    # the corpus reads `benchmarks` as a whole
    assert {n for n, v in versions().items() if v != before[n]} == {"corpus"}
    project.edit("params.yaml", "share: 0.05", "share: 0.01")
    assert {n for n, v in versions().items() if v != before[n]} == {"benchmark@one", "benchmark@two", "corpus"}


def test_the_lock_reads_as_what_is_there(project: Project) -> None:
    project.repro()
    graph, now = read_graph(project.root)
    then = read_lock(project.root)
    for name, spec in graph.stages.items():
        assert explain(spec, now[name], then[name]) == []
        assert code_version(spec, now[name]) == code_version(spec, then[name])
        assert dict(now[name].outs) == dict(then[name].outs)


@pytest.mark.parametrize("cut", ["", "schema: '2.0'\n", "stages:\n  benchmark@one:\n    cmd: x\n    deps:\n",
                                 "stages:\n  benchmark@one:\n    cmd: 'x",
                                 "stages:\n  benchmark@one:\n    cmd: x\n    deps:\n    - path: raw/one\n      md5:\n"])
def test_a_lock_that_was_cut_short_is_put_back(project: Project, cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    project.rerun()
    whole = (project.root / "dvc.lock").read_bytes()
    project.write("dvc.lock", cut if cut.startswith("schema") or not cut else "schema: '2.0'\n" + cut)
    capsys.readouterr()
    assert project.rerun()[0] == {} and (project.root / "dvc.lock").read_bytes() == whole
    assert capsys.readouterr().err.count("dvc.lock was cut short") == 1


def test_a_commit_waits_for_another_dvc_command(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from dvc.lock import make_lock

    from orchestration.pipeline import dvc_graph

    project.rerun()
    monkeypatch.setattr("dvc.lock.DEFAULT_TIMEOUT", 0.06)
    tmp = project.root / ".dvc" / "tmp"
    held = make_lock(str(tmp / "lock"), tmp_dir=str(tmp))
    held.lock()
    waiting = threading.Timer(2, held.unlock)
    waiting.start()
    assert dvc_graph.commit_stage(project.root, "corpus").outs
    waiting.join()
    monkeypatch.setattr(dvc_graph, "_PATIENCE", 0.1)
    with held, pytest.raises(CanopyError, match="another DVC command is at work here"):
        dvc_graph.commit_stage(project.root, "corpus")


def test_dvc_keeps_its_caches_in_the_workspace(project: Project) -> None:
    load_graph(project.root)
    assert (project.root / ".dvc" / "tmp" / "site" / "repo").is_dir()


@pytest.mark.parametrize(("file", "text", "told"), [
    ("dvc.yaml", "stages: [", "dvc.yaml: unable to read.*line 2"),
    ("params.yaml", "benchmarks: {", "dvc.yaml: .*params.yaml"),
    ("params.yaml", "ingest: {max_quarantined_share: 0.1}", "dvc.yaml: .*benchmarks"),
])
def test_a_broken_graph_is_one_line(project: Project, file: str, text: str, told: str) -> None:
    project.write(file, "# orchestration.pipeline.stage\n" + text)
    with pytest.raises(CanopyError, match=told) as e:
        load_graph(project.root)
    assert "\n" not in str(e.value)


def test_own_parameters_need_a_stage_that_reads_raw_files(project: Project) -> None:
    project.edit("dvc.yaml", "params: [hierarchy]", 'params: ["benchmarks.${key}"]')
    with pytest.raises(CanopyError, match="gold_spans: only a stage that reads"):
        load_graph(project.root)


def test_assets_mirror_the_graph(project: Project) -> None:
    from assets.definitions import build_definitions

    graph = build_definitions(project.root).resolve_asset_graph()
    assert {k.to_user_string() for k in graph.materializable_asset_keys} == {"benchmark", "gold_spans", "corpus",
                                                                             "item_index"}
    assert {k.to_user_string() for k in graph.get(dg.AssetKey("item_index")).parent_keys} == {"corpus", "gold_spans"}
    assert graph.get(dg.AssetKey("benchmark")).partitions_def.get_partition_keys() == ["one", "two"]
    assert graph.get(dg.AssetKey("corpus")).partitions_def is None
    assert [k.to_user_string() for k in graph.external_asset_keys] == ["raw"]


def test_the_checkouts_assets_have_groups_kinds_and_checks() -> None:
    from assets.definitions import build_definitions

    graph = build_definitions(ROOT).resolve_asset_graph()
    nodes = {k.to_user_string(): graph.get(k) for k in graph.materializable_asset_keys}
    assert set(nodes) == {*STAGES, "registered_model"}
    assert all(n.group_name != "other" and n.kinds and n.description and n.code_version for n in nodes.values())
    assert len(graph.asset_check_keys) >= 10


@pytest.mark.slow
def test_dagsters_own_commands_load_it_within_seconds() -> None:
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "dagster", "asset", "list", "-m", "assets.definitions"], cwd=ROOT,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= {*STAGES, "registered_model"}
    assert time.monotonic() - started < 60
    done = subprocess.run([sys.executable, "-m", "dagster", "definitions", "validate", "-m", "assets.definitions"],
                          cwd=ROOT,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not list(Path(ROOT).glob(".tmp_dagster_home*"))


def test_small_numbers_in_the_lock_are_the_numbers_that_dvc_wrote() -> None:
    from dvc.utils.serialize import dumps_yaml

    from orchestration.pipeline.lock_file import parse_lock

    given = {"rate": 5e-05, "large": 1e22, "count": 3, "half": 0.5, "name": "5e-5x"}
    lock = {"stages": {"train": {"cmd": "x", "params": {"params.yaml": given}}}}
    assert parse_lock(dumps_yaml(lock).encode())["train"].params == given
