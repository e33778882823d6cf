"""A small project of the same shape as canopy's, with stages that take milliseconds.

Partitioned, global, with code and parameters.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from rich.console import Console

from assets.history import DagsterHistory

ROOT = Path(__file__).resolve().parents[2]

GRAPH = """\
# commands stand for `python -m orchestration.pipeline.stage NAME`
stages:
  benchmark:
    foreach: ${benchmarks}
    do:
      desc: raw to items
      cmd: PYTHON run.py benchmark ${key}
      deps: ["${item.path}", code/shared.py, "code/${item.adapter}.py", code/benchmark.py]
      params: ["benchmarks.${key}", ingest]
      outs: [{"data/benchmark/${key}": {persist: true}}]
  gold_spans:
    foreach: ${benchmarks}
    do:
      cmd: PYTHON run.py gold_spans ${key}
      deps: ["data/benchmark/${key}", code/gold_spans.py]
      params: [hierarchy]
      outs: [{"data/gold_spans/${key}": {persist: true}}]
  corpus:
    cmd: PYTHON run.py corpus
    deps: [data/benchmark, code/lib, code/corpus.py]
    params: [benchmarks]
    outs: [{data/corpus: {persist: true}}]
  item_index:
    cmd: PYTHON run.py item_index
    deps: [data/corpus, data/gold_spans, code/item_index.py]
    params: [index]
    outs: [{data/item_index: {persist: true}}]
""".replace("PYTHON", sys.executable)

PARAMS = """\
# knobs
benchmarks:
  one: {adapter: plain, path: raw/one}
  two: {adapter: plain, path: raw/two}
ingest: {max_quarantined_share: 0.05}
hierarchy: {branching: 2}      # B
index: {device: cpu}
"""

CODE = {
    "shared.py": "",
    "plain.py": "",
    "other.py": "",
    "lib/words.py": "SEPARATOR = ' '\n",
    "lib/unused.py": "",
    "benchmark.py": """
def run(config, paths, tracker, validator, benchmark=None):
    text = (paths.raw(config, benchmark) / "x.txt").read_text().strip()
    if text == "broken":
        raise DataError(f"{paths.raw(config, benchmark)}/x.txt: line 1: broken; correct the line")
    result = StageResult(metrics={"items": float(len(text))}, tables={"preview": [{"text": text}]}, notes=["read all"],
                         checks=[{"rule": "has words", "passed": bool(text), "failing": 0 if text else 1,
                                  "examples": []}])
    with replace_directory(paths.output("benchmark", benchmark)) as f:
        (f / "out.txt").write_text(text)
        write_summary(f, result)
    return result
""",
    "gold_spans.py": """
def run(config, paths, tracker, validator, benchmark=None):
    text = (paths.output("benchmark", benchmark) / "out.txt").read_text()
    write(paths.output("gold_spans", benchmark), f"{text[:1]}{config.hierarchy.branching}")
    return StageResult()
""",
    "corpus.py": """
def run(config, paths, tracker, validator, benchmark=None):
    found = sorted(p.parent.name + "=" + p.read_text() for p in paths.output("benchmark").glob("*/out.txt"))
    write(paths.output("corpus"), " ".join(found))
    return StageResult()
""",
    "item_index.py": """
def run(config, paths, tracker, validator, benchmark=None):
    write(paths.output("item_index"), (paths.output("corpus") / "out.txt").read_text().upper())
    return StageResult()
""",
}
HEAD = """from canopy.atomic import replace_directory
from canopy.errors import DataError
from canopy.stages.base import StageResult
from canopy.stages.summary import write_summary
def write(folder, text):
    with replace_directory(folder) as f:
        (f / "out.txt").write_text(text)
"""
RUN = """
import importlib.util, sys
from pathlib import Path
from canopy.config import load_config
from canopy.paths import Paths
from canopy.stages.base import NullTracker
spec = importlib.util.spec_from_file_location("stub", f"code/{sys.argv[1]}.py")
stub = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stub)
stub.run(load_config(Path("params.yaml")), Paths(Path.cwd()), NullTracker(), None, *sys.argv[2:])
"""


class Project:
    """A small project on disk, and what tests do to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.instance = dg.DagsterInstance.ephemeral()
        self.calls: list[str] = []
        for name, text in {"dvc.yaml": GRAPH, "params.yaml": PARAMS, "run.py": RUN, "raw/one/x.txt": "apple",
                           "raw/two/x.txt": "pear",
                           ".dvc/config": (ROOT / ".dvc/config").read_text(),
                           ".dvcignore": (ROOT / ".dvcignore").read_text(),
                           **{f"code/{k}": (HEAD + v if "def run" in v else v) for k, v in CODE.items()}}.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in a file of the project."""
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    @contextmanager
    def open(self, workspace: Path) -> Iterator[DagsterHistory]:
        """The project is its own orchestrator: Dagster with an instance in memory."""
        assert workspace == self.root
        yield DagsterHistory(workspace, self.instance)

    def rerun(self, **options: Any) -> tuple[dict[str, tuple[str, ...]], str]:
        """Rerun what is stale; returns what ran (with why) and what was printed."""
        from orchestration.pipeline.rerun import rerun

        self.calls.clear()
        with open(os.devnull, "w") as nowhere:
            console = Console(file=nowhere, record=True, width=200)
            summary = rerun(self.root, self, console=console, **options)
        assert [c for c in self.calls] == list(summary.ran)
        return summary.ran, console.export_text()

    def repro(self) -> None:
        """A plain `dvc repro`, as from a shell."""
        subprocess.run([sys.executable, "-m", "dvc", "repro", "-q"], cwd=self.root, check=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT)})

    def view(self) -> Any:
        """How the project stands."""
        from orchestration.pipeline.status import look

        with self.open(self.root) as history:
            return look(self.root, history)

    def stale(self) -> set[str]:
        """What either tool calls stale, after checking that Dagster, dvc.lock and `dvc status` agree."""
        from orchestration.pipeline.status import differences

        view = self.view()
        assert differences(view, self.root) == []
        return {n for n, t in view.tasks.items() if t.stale}

    def output(self, stage: str) -> str:
        """What a stage wrote."""
        return (self.root / "data" / stage / "out.txt").read_text()
