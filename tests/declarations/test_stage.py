"""A new stage is one module and its entry in dvc.yaml: it runs, is an asset, and leaves the other stages alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODULE = '''
"""Stage `word_counts`: how many words each item has."""

import json

import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.stages.base import StageResult
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs

STAGE = Stage("word_counts", per_benchmark=True, group="statistics", kinds=("json",), reads={"benchmark": ("items",)})


def run(config, paths, tracker, validator, benchmark=None):
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    items = pq.read_table(paths.output("benchmark", benchmark) / "items.parquet", columns=["id", "text"]).to_pylist()
    counts = {i["id"]: len(i["text"].split()) for i in items}
    with replace_directory(paths.output("word_counts", benchmark)) as out:
        (out / "counts.json").write_text(json.dumps(counts))
        return write_summary(out, StageResult(metrics={"words": float(sum(counts.values()))}, checks=checks))
'''
ENTRY = '''
  word_counts:
    foreach: ${benchmarks}
    do:
      desc: "How many words each item has."
      cmd: python -m orchestration.pipeline.stage word_counts ${key}
      deps: ["data/benchmark/${key}"]
      outs: ["data/word_counts/${key}": {persist: true}]
'''
DESCRIBE = '''
import json, sys
from pathlib import Path
from assets.definitions import build_definitions

graph = build_definitions(Path(sys.argv[1])).resolve_asset_graph()
nodes = {k.to_user_string(): graph.get(k) for k in graph.materializable_asset_keys}
print(json.dumps({n: [a.group_name, sorted(a.kinds), sorted(p.to_user_string() for p in a.parent_keys)]
                  for n, a in nodes.items()}))
'''


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout's files, without what runs left in it, and with one stage more."""
    folder = tmp_path_factory.mktemp("checkout")
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                             check=True)
    for name in listing.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(("docs/", "bench/", "tests/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / "canopy" / "stages" / "word_counts.py").write_text(MODULE.lstrip())
    graph = (folder / "dvc.yaml").read_text()
    (folder / "dvc.yaml").write_text(graph.replace("\nstages:\n", f"\nstages:{ENTRY}\n", 1))
    python(folder, "-m", "orchestration.pipeline.code_deps")
    return folder


def python(checkout: Path, *arguments: str) -> str:
    """Run Python on the code of a checkout; returns what it printed."""
    environment = {k: v for k, v in os.environ.items() if k != "CANOPY_WORKSPACE"}
    run = subprocess.run([sys.executable, "-W", "ignore", *arguments], cwd=checkout, capture_output=True, text=True,
                         env={**environment, "PYTHONPATH": str(checkout), "COLUMNS": "200"}, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.slow
def test_a_stage_is_a_module_and_its_entry_in_the_graph(checkout: Path, documents: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    select = ("--workspace", str(workspace), "--select", "+word_counts")
    printed = python(checkout, "-m", "assets.program", "run", "--data", str(documents), *select)
    runs = [line.split()[1] for line in printed.splitlines() if line.startswith("> ")]
    assert runs == ["benchmark@tiny", "word_counts@tiny"], printed

    counts = json.loads((workspace / "data" / "word_counts" / "tiny" / "counts.json").read_text())
    assert len(counts) == 16
    items = (documents / "items.jsonl").read_text().splitlines()
    assert sum(counts.values()) == sum(len(json.loads(line)["text"].split()) for line in items)

    nodes = json.loads(python(checkout, "-c", DESCRIBE, str(workspace)))
    assert nodes["word_counts"] == ["statistics", ["dvc", "json"], ["benchmark"]]
    again = python(checkout, "-m", "assets.program", "run", *select)
    assert "Nothing to do" in again

    (checkout / "canopy" / "stages" / "word_counts.py").write_text(MODULE.lstrip() + "# a comment\n")
    printed = python(checkout, "-m", "assets.program", "run", *select)
    assert "> word_counts@tiny  code changed: canopy/stages/word_counts.py" in printed and "> benchmark" not in printed


def test_a_new_stage_changes_no_other_stages_code(checkout: Path) -> None:
    mine = python(checkout, "-c", "from pathlib import Path\nfrom canopy.stages.code import code_deps\n"
                                  "from canopy.stages.registry import STAGES\nimport json\n"
                                  "print(json.dumps({s: code_deps(Path.cwd(), s) for s in STAGES}))")
    deps = json.loads(mine)
    assert [s for s, files in deps.items() if "canopy/stages/word_counts.py" in files] == ["word_counts"]


def test_a_stage_that_is_named_otherwise_than_its_module_is_refused(checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "canopy"
    shutil.copytree(checkout / "canopy", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "stages" / "word_counts.py").write_text(MODULE.lstrip().replace('Stage("word_counts"', 'Stage("words"'))
    run = subprocess.run([sys.executable, "-c", "import canopy.stages.registry"], cwd=tmp_path, capture_output=True,
                         text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert run.returncode != 0
    assert "canopy/stages/word_counts.py declares a stage 'words': give both one name" in run.stderr
