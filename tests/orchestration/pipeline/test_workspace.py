"""Workspaces: entries, made, kept up to date, edited without losing comments, and pruned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canopy.config import load_config
from canopy.errors import CanopyError
from orchestration.pipeline.data_options import benchmarks_at, slug, workspace_for
from orchestration.pipeline.locks import locked
from orchestration.pipeline.params_file import set_params
from orchestration.pipeline.workspace import CODE_FOLDERS, code_root, make_workspace, prune, select_workspace
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
    entries = benchmarks_at(data, [])
    assert entries == {"my-handbook-v2": {"adapter": "native", "path": str(data)}}
    folder = make_workspace(tmp_path / "w", entries)
    assert list(load_config(folder / "params.yaml").benchmarks) == ["my-handbook-v2"]
    assert "# lambda of the preference loss" in (folder / "params.yaml").read_text()
    run = subprocess.run([sys.executable, "-m", "dvc", "status"], cwd=folder, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert run.returncode == 0 and "benchmark@my-handbook-v2" in run.stdout, run.stderr
    params = (folder / "params.yaml").read_bytes()
    assert make_workspace(folder, entries) == folder and (folder / "params.yaml").read_bytes() == params
    set_params(folder, ["benchmarks.my-handbook-v2.select.limit=5", "benchmarks.gone.path=x",
                        "benchmarks.gone.adapter=native"])
    # What else stands in a benchmark's entry is the user's; benchmarks that are not named go.
    make_workspace(folder, entries)
    kept = load_config(folder / "params.yaml").benchmarks
    assert list(kept) == ["my-handbook-v2"] and kept["my-handbook-v2"].select.limit == 5
    (folder / "dvc.yaml").write_text("old")
    make_workspace(folder, entries)
    assert (folder / "dvc.yaml").read_bytes() == (ROOT / "dvc.yaml").read_bytes()


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A workspace as an earlier version made it: another command, fewer parameters, a key by another name."""
    folder = make_workspace(tmp_path / "w", benchmarks_at(native(tmp_path / "notes"), []))
    text = (folder / "params.yaml").read_text()
    for new, old in (("branching: 2", "branching: 3"), (", segmentation: fixed", ""),
                     ("corpus_scopes: [unified, own, gold]", "settings: [unified, gold]")):
        assert new in text
        text = text.replace(new, old)
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("corpus:")]
    (folder / "params.yaml").write_text("".join(lines))
    graph = (folder / "dvc.yaml").read_text()
    (folder / "dvc.yaml").write_text(graph.replace("orchestration.pipeline.stage", "orchestration.stage"))
    for name in ("assets", "serving"):
        (folder / name).unlink()
    (folder / "serving").symlink_to(tmp_path / "gone")
    return folder


def test_a_workspace_of_an_earlier_version_is_brought_up_to_date(earlier: Path, tmp_path: Path) -> None:
    assert select_workspace(earlier) == earlier.resolve()
    text = (earlier / "params.yaml").read_text()
    assert "fold_exact: true" in text and "branching: 3, segment_seconds: 30.0, segmentation: fixed" in text
    assert "# lambda of the preference loss" in text
    (line,) = (x for x in text.splitlines() if "corpus_scopes:" in x)
    assert line.startswith("  corpus_scopes: [unified, gold] ") and line.endswith("annotated items given")
    assert "settings:" not in text
    config = load_config(earlier / "params.yaml")
    default = load_config(ROOT / "params.yaml")
    assert config == default.model_copy(update={
        "benchmarks": config.benchmarks,
        "hierarchy": default.hierarchy.model_copy(update={"branching": 3}),
        "answers": default.answers.model_copy(update={"corpus_scopes": ("unified", "gold")})})
    assert (earlier / "dvc.yaml").read_bytes() == (ROOT / "dvc.yaml").read_bytes()
    assert [(earlier / name).resolve() for name in CODE_FOLDERS] == [ROOT / name for name in CODE_FOLDERS]
    before = (earlier / "params.yaml").stat().st_mtime_ns
    select_workspace(earlier)
    assert (earlier / "params.yaml").stat().st_mtime_ns == before


def test_parameters_of_another_encoder_get_no_keys_of_the_default_one(earlier: Path) -> None:
    text = (earlier / "params.yaml").read_text()
    line = next(x for x in text.splitlines() if x.startswith("encoder:"))
    (earlier / "params.yaml").write_text(text.replace(line, "encoder: {kind: qwen3_vl, model: there}"))
    select_workspace(earlier)
    assert "encoder: {kind: qwen3_vl, model: there}" in (earlier / "params.yaml").read_text()


def test_parameters_that_cannot_be_read_are_left_alone(earlier: Path) -> None:
    (earlier / "params.yaml").write_text("{")
    assert select_workspace(earlier) == earlier.resolve()
    assert (earlier / "params.yaml").read_text() == "{"


def test_bytecode_beside_the_linked_code_changes_no_hash(tmp_path: Path) -> None:
    from orchestration.pipeline.dvc_graph import read_graph

    folder = make_workspace(tmp_path / "w", {"starter": {"adapter": "starter", "path": "canopy/starter"}})
    _, now = read_graph(folder)
    assert all("__pycache__" not in f for s in now.values() for files in s.files.values() for f in files)
    assert any(files for s in now.values() for files in s.files.values())


def test_official_release_files(tmp_path: Path) -> None:
    (tmp_path / "hotpotqa").mkdir()
    (tmp_path / "ott-qa").mkdir()
    entries = benchmarks_at(tmp_path, ["hotpotqa", "ott-qa"])
    assert entries["ott-qa"] == {"adapter": "ott_qa", "path": str(tmp_path / "ott-qa")}
    with pytest.raises(CanopyError, match=r"no adapter reads 'hotpot'.*there are .*hotpotqa"):
        benchmarks_at(tmp_path, ["hotpot"])
    (tmp_path / "ott-qa").rmdir()
    with pytest.raises(CanopyError, match="ott-qa: no such folder"):
        benchmarks_at(tmp_path, ["ott-qa"])
    with pytest.raises(CanopyError, match="gone: no such folder"):
        benchmarks_at(tmp_path / "gone", [])


def test_a_set_of_benchmarks_has_one_workspace_and_another_folder_of_the_same_name_another(tmp_path: Path) -> None:
    """The folder with the workspaces is the test's own: what runs left in the checkout's does not count."""
    entries = {name: {"adapter": "native", "path": str(tmp_path / name)} for name in ("a", "b")}
    folder = workspace_for(entries, tmp_path)
    assert folder == tmp_path / "workspaces" / "a-b"
    make_workspace(folder, entries)
    assert workspace_for(entries, tmp_path) == folder
    moved = {name: {**entry, "path": str(tmp_path / "moved" / name)} for name, entry in entries.items()}
    other = workspace_for(moved, tmp_path)
    assert other.parent == folder.parent and other.name.startswith("a-b-") and len(other.name) == len("a-b-") + 6
    assert workspace_for({"c": entries["a"]}).parent == ROOT / "workspaces"


@pytest.mark.parametrize(("name", "expected"), [("Handbook", "handbook"), ("a b/ü", "a-b"), ("---", "documents")])
def test_slug(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_parameters_are_set_in_place(project: Project) -> None:
    set_params(project.root, ["hierarchy.branching=4", "training.epochs=1"])
    text = (project.root / "params.yaml").read_text()
    assert "# knobs" in text and "# B" in text and load_config(project.root / "params.yaml").hierarchy.branching == 4
    for bad, message in (("hierarchy.branching=1", "greater than or equal to 2"), ("nonsense=1", "nonsense"),
                         ("x", "key=value"), ("x=[", r"--set x=\[: '\[' is not YAML"),
                         ("index.device.x=1", "device is a value")):
        with pytest.raises(CanopyError, match=message):
            set_params(project.root, [bad])
        assert (project.root / "params.yaml").read_text() == text


def test_only_outputs_of_benchmarks_that_are_gone_are_removed(project: Project) -> None:
    for name in ("one", "gone", ".gone.building-1"):
        project.write(f"data/benchmark/{name}/x", "")
    project.write("data/corpus/gone/x", "")
    assert prune(project.root, load_config(project.root / "params.yaml")) == [project.root / "data/benchmark/gone"]


def test_one_run_at_a_time(project: Project) -> None:
    refused = pytest.raises(CanopyError, match="another `canopy run`")
    with locked(project.root, "run"), refused, locked(project.root, "run"):
        pass
    with locked(project.root, "run"):
        pass
