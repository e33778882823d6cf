"""Workspaces: found, made, kept up to date, edited without losing comments, and pruned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canopy.config import load_config
from canopy.errors import CanopyError
from orchestration.pipeline.workspace import (
    benchmarks_at,
    code_root,
    locked,
    make_workspace,
    prune,
    select_workspace,
    set_params,
    slug,
    workspace_for,
)
from tests.orchestration.project import ROOT, Project


def native(folder: Path) -> Path:
    """A folder in the native format."""
    folder.mkdir(parents=True)
    (folder / "items.jsonl").write_text('{"id": "a", "modality": "text", "text": "One. Two."}\n')
    return folder


def test_selection(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CANOPY_WORKSPACE", raising=False)
    monkeypatch.chdir("/")
    assert select_workspace() == code_root() == ROOT
    monkeypatch.chdir(project.root)
    assert select_workspace() == project.root
    monkeypatch.setenv("CANOPY_WORKSPACE", str(tmp_path / "nowhere"))
    with pytest.raises(CanopyError, match="nowhere: no workspace"):
        select_workspace()


def test_a_folder_of_documents_gets_a_workspace_that_dvc_can_use(tmp_path: Path) -> None:
    data = native(tmp_path / "My Handbook (v2)")
    found = benchmarks_at(data, [])
    assert found == {"my-handbook-v2": {"adapter": "native", "path": str(data)}}
    folder = make_workspace(tmp_path / "w", found)
    assert list(load_config(folder / "params.yaml").benchmarks) == ["my-handbook-v2"]
    assert "# lambda of the preference loss" in (folder / "params.yaml").read_text()
    done = subprocess.run([sys.executable, "-m", "dvc", "status"], cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0 and "benchmark@my-handbook-v2" in done.stdout, done.stderr
    params = (folder / "params.yaml").read_bytes()
    assert make_workspace(folder, found) == folder and (folder / "params.yaml").read_bytes() == params
    set_params(folder, ["benchmarks.my-handbook-v2.select.limit=5", "benchmarks.gone.path=x", "benchmarks.gone.adapter=native"])
    make_workspace(folder, found)  # what else stands in a benchmark's entry is the user's; benchmarks that are not named go
    kept = load_config(folder / "params.yaml").benchmarks
    assert list(kept) == ["my-handbook-v2"] and kept["my-handbook-v2"].select.limit == 5
    (folder / "dvc.yaml").write_text("old")
    make_workspace(folder, found)
    assert (folder / "dvc.yaml").read_bytes() == (ROOT / "dvc.yaml").read_bytes()


def test_a_workspace_of_an_earlier_version_gets_the_parameters_it_lacks(tmp_path: Path) -> None:
    folder = make_workspace(tmp_path / "w", benchmarks_at(native(tmp_path / "notes"), []))
    whole = load_config(folder / "params.yaml")
    lines = (folder / "params.yaml").read_text().splitlines(keepends=True)
    (folder / "params.yaml").write_text("".join(x.replace("branching: 2", "branching: 3").replace(", segmentation: fixed", "") for x in lines
                                                if not x.startswith("corpus:")))
    assert "corpus:" not in (folder / "params.yaml").read_text()
    select_workspace(folder)
    told = (folder / "params.yaml").read_text()
    assert "fold_exact: true" in told and "branching: 3, segment_seconds: 30.0, segmentation: fixed" in told and "# lambda of the preference loss" in told
    made = load_config(folder / "params.yaml")
    assert made == whole.model_copy(update={"hierarchy": whole.hierarchy.model_copy(update={"branching": 3})})
    (folder / "params.yaml").write_text("{")
    assert select_workspace(folder) == folder.resolve()


def test_bytecode_beside_the_linked_code_changes_no_hash(tmp_path: Path) -> None:
    from orchestration.pipeline.dvc_graph import read_graph

    folder = make_workspace(tmp_path / "w", {"starter": {"adapter": "starter", "path": "canopy/starter"}})
    _, now = read_graph(folder, code_only=True)
    assert all("__pycache__" not in f for s in now.values() for files in s.files.values() for f in files)
    assert any(files for s in now.values() for files in s.files.values())


def test_official_release_files(tmp_path: Path) -> None:
    (tmp_path / "hotpotqa").mkdir()
    (tmp_path / "ott-qa").mkdir()
    found = benchmarks_at(tmp_path, ["hotpotqa", "ott-qa"])
    assert found["ott-qa"] == {"adapter": "ott_qa", "path": str(tmp_path / "ott-qa")}
    assert workspace_for(found) == ROOT / "workspaces" / "hotpotqa-ott-qa"
    with pytest.raises(CanopyError, match=r"no adapter reads 'hotpot'.*there are .*hotpotqa"):
        benchmarks_at(tmp_path, ["hotpot"])
    (tmp_path / "ott-qa").rmdir()
    with pytest.raises(CanopyError, match="ott-qa: no such folder"):
        benchmarks_at(tmp_path, ["ott-qa"])
    with pytest.raises(CanopyError, match="gone: no such folder"):
        benchmarks_at(tmp_path / "gone", [])


@pytest.mark.parametrize(("name", "wanted"), [("Handbook", "handbook"), ("a b/ü", "a-b"), ("---", "documents")])
def test_slug(name: str, wanted: str) -> None:
    assert slug(name) == wanted


def test_parameters_are_set_in_place(project: Project) -> None:
    set_params(project.root, ["hierarchy.branching=4", "training.epochs=1"])
    text = (project.root / "params.yaml").read_text()
    assert "# knobs" in text and "# B" in text and load_config(project.root / "params.yaml").hierarchy.branching == 4
    for bad, told in (("hierarchy.branching=1", "greater than or equal to 2"), ("nonsense=1", "nonsense"), ("x", "key=value"), ("x=[", r"--set x=\[: '\[' is not YAML"),
                      ("index.device.x=1", "device is a value")):
        with pytest.raises(CanopyError, match=told):
            set_params(project.root, [bad])
        assert (project.root / "params.yaml").read_text() == text


def test_only_outputs_of_benchmarks_that_are_gone_are_removed(project: Project) -> None:
    for name in ("one", "gone", ".gone.building-1"):
        project.write(f"data/benchmark/{name}/x", "")
    project.write("data/corpus/gone/x", "")
    assert prune(project.root, load_config(project.root / "params.yaml")) == [project.root / "data/benchmark/gone"]


def test_one_run_at_a_time(project: Project) -> None:
    with locked(project.root, "run"), pytest.raises(CanopyError, match="another `canopy run`"), locked(project.root, "run"):
        pass
    with locked(project.root, "run"):
        pass
