"""Reruns what is stale, in waves to a fixpoint, and says why each thing ran."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from assets.resources import FORCE_TAG, PROCESS_TAG, open_instance
from canopy.atomic import write_bytes
from canopy.errors import CanopyError, DataError
from orchestration.machine.processes import identity, is_alive
from orchestration.pipeline.lineage import shorten
from orchestration.pipeline.status import Task, View, look, look_at_code
from orchestration.pipeline.workspace import locked

if TYPE_CHECKING:
    import dagster as dg

_MOST_TIMES = 3  # runs of one task in one sweep: raw files may change once while it goes on, not for ever
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(slots=True)
class Sweep:
    """What a sweep did: the tasks that ran, with the reasons for each, and those that were found unchanged or restored."""

    ran: dict[str, tuple[str, ...]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    kept: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def choose(view: View, selection: Sequence[str]) -> set[str]:
    """The tasks that a selection names: ``report``, ``benchmark@starter``, ``+report`` (and all it needs), ``corpus+``.

    Raises
    ------
    DataError
        Where a name is none of the workspace's stages.
    """
    if not selection:
        return set(view.tasks)
    chosen: set[str] = set()
    for wanted in selection:
        bare = wanted.strip("+")
        named = {n for n, t in view.tasks.items() if bare in (n, t.asset)}
        if not named:
            raise DataError(f"no stage {bare!r}; there are {', '.join(view.tasks)}")
        found = set(named)
        for task in reversed(view.tasks.values()) if wanted.startswith("+") else ():
            found |= set(task.upstream) if task.name in found else set()
        below = set(named)
        for task in view.tasks.values() if wanted.endswith("+") else ():
            below |= {task.name} if below & set(task.upstream) else set()
        chosen |= found | below
    return chosen


def _ready(view: View, chosen: set[str], forced: set[str]) -> list[Task]:
    """Stale tasks with nothing stale anywhere above them; forced ones count as stale.

    Both tools look one hop back. Waiting for all that is above keeps a stage from running twice, before and after its inputs did.
    """
    stale, waiting = {n for n, t in view.tasks.items() if t.stale} | forced, set()
    for name, task in view.tasks.items():
        if (stale | waiting) & set(task.upstream):
            waiting.add(name)
    return [t for n, t in view.tasks.items() if n in (stale & chosen) - waiting]


def _materialize(workspace: Path, task: Task, definitions: dg.Definitions, instance: dg.DagsterInstance, forced: bool) -> dict[str, Any]:
    """Run one (asset, partition) as a Dagster run in this process; returns the metadata values it reported."""
    import dagster as dg

    key = dg.AssetKey(task.asset)
    tags = {PROCESS_TAG: identity(), **({FORCE_TAG: "true"} if forced else {})}
    try:
        done = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            run_config=_QUIET, instance=instance, partition_key=task.partition, asset_selection=[key], tags=tags)
    except dg.Failure as e:
        raise CanopyError(e.description) from None
    except dg.DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except CanopyError:
        raise
    except Exception as e:
        log = workspace / ".canopy" / "logs" / f"error-{task.name}.log"
        write_bytes(log, "".join(traceback.format_exception(e)).encode("utf-8", "replace"))
        first = (str(e).strip().splitlines() or ["no message"])[0]
        raise CanopyError(f"internal error in stage {task.name}: {type(e).__name__}: {first[:300]}; full traceback in {log}") from None
    (event,) = done.asset_materializations_for_node(task.asset)
    return {k: v.value for k, v in event.metadata.items()}


def close_dead_runs(instance: dg.DagsterInstance, *, untagged: bool = False) -> int:
    """Mark runs whose process was killed as failed, so that Dagster neither shows them as running nor waits for them for ever.

    Parameters
    ----------
    untagged : bool
        Those too that name no process: the UI started them and they ended before their first step. Only where no UI is at work.
    """
    import dagster as dg

    closed, at_work = 0, [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
    for run in instance.get_runs(dg.RunsFilter(statuses=at_work)):
        process = run.tags.get(PROCESS_TAG)
        if not is_alive(process) if process else untagged:
            instance.report_run_failed(run, f"process {process or 'of this run'} was killed; `canopy run` runs this again")
            closed += 1
    return closed


def _headline(values: Mapping[str, Any]) -> str:
    numbers = [f"{k.replace('_', ' ')} {v:,.4g}" if abs(v) < 1000 else f"{k.replace('_', ' ')} {v:,.0f}"
               for k, v in values.items() if isinstance(v, float) and k != "seconds"]
    return ", ".join(numbers[:5]) or (f"{values['model']} version {values['version']}" if "version" in values else "")


def sweep(workspace: Path, *, select: Sequence[str] = (), force: Sequence[str] = (), console: Console | None = None) -> Sweep:
    """Run every chosen (asset, partition) that is stale or missing once its inputs are fresh, until none is left.

    Raises
    ------
    CanopyError
        Where a stage fails; what was finished stays recorded, and the next sweep goes on from there.
    """
    from assets.definitions import build_definitions

    console, started, done = console or Console(), time.perf_counter(), Sweep()
    with locked(workspace, "run"), open_instance(workspace) as instance:
        close_dead_runs(instance)
        code = look_at_code(workspace)  # modules stay as they were imported: what is edited from here on belongs to the next run
        definitions = build_definitions(workspace)
        pending: set[str] | None = None
        while True:
            view = look(workspace, instance, definitions)
            for name in view.reported:
                console.print(f"  [dim]{name}: taken over from dvc.lock (made by `dvc repro`)[/dim]")
            chosen = choose(view, select)
            if pending is None:
                pending = choose(view, force) if force else set()
                chosen_forced = pending - chosen
                if chosen_forced:
                    raise DataError(f"--force {', '.join(sorted(chosen_forced))}: not among --select {' '.join(select)}")
            moved = {n for n in chosen if view.code.get(n) != code.get(n)}
            wave = [t for t in _ready(view, chosen, pending) if t.name not in moved]
            if not wave:
                break
            for task in wave:
                _run_one(workspace, task, task.name in pending, definitions, instance, console, done)
                pending.discard(task.name)
        left = [n for n, t in view.tasks.items() if n in chosen and t.stale]
        if moved & set(left):
            raise CanopyError(f"{', '.join(n for n in left if n in moved)}: code or parameters changed while this run went on; "
                              "what is finished is kept: run `canopy run` again")
        if left:
            console.print(f"[yellow]{', '.join(left)}: still stale, because something they need is and was not selected[/yellow]")
    done.seconds = time.perf_counter() - started
    return done


def _run_one(workspace: Path, task: Task, forced: bool, definitions: dg.Definitions, instance: dg.DagsterInstance, console: Console,
             done: Sweep) -> None:
    why = task.why if not forced or task.stale else ("asked for with --force",)
    done.times[task.name] += 1
    if done.times[task.name] > _MOST_TIMES:
        raise CanopyError(f"{task.name}: stale again after {_MOST_TIMES} runs ({shorten(why)}); what keeps changing its inputs?")
    console.print(f"[bold]> {task.name}[/bold]  [dim]{escape(shorten(why))}[/dim]", highlight=False, soft_wrap=True)
    started = time.perf_counter()
    values = _materialize(workspace, task, definitions, instance, forced)
    seconds, numbers = time.perf_counter() - started, _headline(values)
    if values.get("cache_hit"):
        done.kept[task.name] = "; ".join(why)
        console.print(f"  [green]kept[/green] {seconds:.1f} s  {numbers}", highlight=False, soft_wrap=True)
    else:
        done.ran[task.name] = why
        console.print(f"  [green]done[/green] {seconds:.1f} s  {numbers}", highlight=False, soft_wrap=True)
    if notes := values.get("notes"):
        console.print("  " + str(notes).replace("\n", "\n  "), style="dim", markup=False, highlight=False, soft_wrap=True)
