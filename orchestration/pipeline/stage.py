"""Runs one stage: the command in dvc.yaml, and the body of every Dagster asset.

The command is ``python -m orchestration.pipeline.stage NAME [BENCHMARK]``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from canopy.config import load_config
from canopy.errors import CanopyError, DataError
from canopy.formatting import number
from canopy.paths import Paths
from canopy.progress import progress
from canopy.stages.base import StageResult
from canopy.stages.registry import PER_BENCHMARK, STAGES, load_stage
from orchestration.models.tracking import stage_run
from orchestration.pipeline.dvc_graph import checkout_stage, commit_stage, load_graph, read_stage
from orchestration.pipeline.lineage import Snapshot, changed_files, explain, explain_outs
from orchestration.pipeline.listings import recall_listings, remember_listings
from orchestration.pipeline.lock_file import read_lock
from orchestration.pipeline.locks import locked
from orchestration.pipeline.workspace import prune


@dataclass(frozen=True, slots=True)
class Outcome:
    """What ``execute`` did: ran the stage, found it unchanged, or brought its outputs back from DVC's cache."""

    how: Literal["ran", "unchanged", "restored"]
    result: StageResult
    outs: Mapping[str, str | None]
    seconds: float
    why: tuple[str, ...]


def run_stage(workspace: Path, name: str, benchmark: str | None = None,
              lineage: Mapping[str, str] | None = None) -> StageResult:
    """Run a stage's function over a workspace, inside one MLflow run, without DVC.

    Raises
    ------
    CanopyError
        If the stage or benchmark is unknown, or its data cannot be used.
    """
    from orchestration.data.validator import ExpectationsValidator

    if name not in STAGES:
        raise DataError(f"no stage {name!r}; there are {', '.join(STAGES)}")
    config = load_config(workspace / "params.yaml")
    if name in PER_BENCHMARK and benchmark not in config.benchmarks:
        raise DataError(f"{workspace}/params.yaml: {name} runs once a benchmark, and {benchmark or 'none'!r} was named"
                        f"; there are {', '.join(config.benchmarks)}")
    prune(workspace, config)
    with stage_run(workspace, name, benchmark, lineage) as tracker:
        validator = ExpectationsValidator(workspace, name, benchmark)
        result = load_stage(name)(config, Paths(workspace), tracker, validator, benchmark=benchmark)
        tracker.log_metrics(result.metrics)
    return result


def lineage_tags(snapshot: Snapshot, dagster_run: str | None = None) -> dict[str, str]:
    """Tags that say what a run was made from: the DVC hash of everything it read, and the Dagster run."""
    tags = {f"dvc.{path}": digest for path, digest in snapshot.paths.items() if digest}
    return {**tags, **({"dagster.run_id": dagster_run} if dagster_run else {})}


def read_summary(workspace: Path, name: str, benchmark: str | None = None) -> StageResult:
    """The result of a stage's last run, from the summary it wrote into its output; empty if there is none."""
    path = Paths(workspace).output(name, benchmark) / "summary.json"
    try:
        summary = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return StageResult()
    return StageResult(**{k: summary[k] for k in ("metrics", "tables", "files", "notes", "checks") if k in summary})


def _restore(workspace: Path, stage: str, now: Snapshot, then: Snapshot) -> bool:
    """Bring back outputs that alone differ from dvc.lock, without a run; False if that cannot be done."""
    if dict(now.outs) == dict(then.outs):
        if now.uncached:
            commit_stage(workspace, stage)
        return True
    return checkout_stage(workspace, stage)


def execute(workspace: Path, stage: str, *, force: bool = False, dagster_run: str | None = None) -> Outcome:
    """Bring one resolved stage (``benchmark@starter``) up to date with the least work, and commit it.

    Raises
    ------
    CanopyError
        If the stage fails, its inputs are missing, or a file it read changed while it ran.
    """
    started = time.perf_counter()
    prune(workspace, load_config(workspace / "params.yaml"))
    with locked(workspace, stage, wait=True), progress(stage):
        graph = load_graph(workspace)
        if stage not in graph.stages:
            raise DataError(f"{workspace}/dvc.yaml: no stage {stage!r}; there are {', '.join(graph.stages)}")
        spec, now, then = graph.stages[stage], read_stage(workspace, stage), read_lock(workspace).get(stage)
        why = explain(spec, now, then, recall_listings(workspace, then))
        if not force and then and why == explain_outs(spec, now, then) and _restore(workspace, stage, now, then):
            result = read_summary(workspace, spec.base, spec.partition)
            how: Literal["restored", "unchanged"] = "restored" if why else "unchanged"
            return Outcome(how, result, then.outs, time.perf_counter() - started, tuple(why))
        missing = [p for p in (*spec.data, *spec.raw) if now.paths[p] is None]
        if missing:
            entry = f"benchmarks.{spec.partition}.path"
            fix = "`canopy run` makes it" if missing[0] in spec.data else \
                f"put the benchmark's files there or correct {entry} in params.yaml"
            raise DataError(f"{stage}: {missing[0]} is missing; {fix}")
        result = run_stage(workspace, spec.base, spec.partition, lineage_tags(now, dagster_run))
        after = read_stage(workspace, stage)
        paths = [p for p in now.paths if after.paths[p] != now.paths[p]]
        changed = [changed_files(p, after.files.get(p), now.files.get(p)) for p in paths]
        changed += [p for p in now.params if after.params[p] != now.params[p]]
        if changed:
            raise DataError(f"{stage}: {changed[0]} changed while the stage ran, so its output is not recorded; "
                            "run `canopy run` again")
        absent = [p for p, digest in after.outs.items() if digest is None]
        if absent:
            raise DataError(f"{stage}: it ended without writing {absent[0]}")
        committed = commit_stage(workspace, stage)
        remember_listings(workspace, after)
    reasons = tuple(why) or ("asked for with --force",)
    return Outcome("ran", result, committed.outs, time.perf_counter() - started, reasons)


def describe(stage: str, result: StageResult, seconds: float) -> str:
    """One paragraph about a run: how long it took, its numbers, and what a person should read."""
    numbers = ", ".join(f"{k.replace('_', ' ')} {number(v)}" for k, v in list(result.metrics.items())[:8])
    return f"{stage}: done in {seconds:.1f} s. {numbers}{'.' if numbers else ''} {' '.join(result.notes)}".strip()


def main(arguments: list[str] | None = None) -> int:
    """Run the stage that the command line names, in the current folder; what DVC calls."""
    from orchestration.machine.environment import prepare_environment
    from orchestration.pipeline.hints import address

    prepare_environment()
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) not in (1, 2):
        usage = f"usage: python -m orchestration.pipeline.stage NAME [BENCHMARK]\n  NAME: {', '.join(STAGES)}"
        print(usage, file=sys.stderr)
        return 2
    name, benchmark = arguments[0], arguments[1] if len(arguments) == 2 else None
    workspace, stage, started = Path.cwd(), "@".join(arguments), time.perf_counter()
    try:
        # It does not wait: DVC reserves what this stage writes until this command ends, so that a `canopy run` at work
        # on the stage could not commit it.
        with locked(workspace, stage), progress(stage):
            lineage = lineage_tags(read_stage(workspace, stage), os.environ.get("DAGSTER_RUN_ID"))
            result = run_stage(workspace, name, benchmark, lineage)
    except CanopyError as e:
        print(f"{stage}: {address(str(e), workspace)}", file=sys.stderr)
        return 1
    print(describe(stage, result, time.perf_counter() - started))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
