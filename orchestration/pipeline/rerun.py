"""Reruns what is stale, in waves to a fixpoint, and says why each thing ran."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from canopy.errors import CanopyError, DataError, Shortage
from canopy.formatting import number
from canopy.progress import progress
from orchestration.pipeline.hints import address
from orchestration.pipeline.history import History, Orchestrator
from orchestration.pipeline.lineage import shorten
from orchestration.pipeline.locks import locked
from orchestration.pipeline.status import Task, View, look, look_at_code

_MOST_TIMES = 3  # runs of one task in one rerun: raw files may change once meanwhile


@dataclass(slots=True)
class Rerun:
    """What a rerun did: the tasks that ran, with reasons, how often, and those that were unchanged or restored.

    ``short``: the tasks that there are too few questions for, and what is missing.
    """

    ran: dict[str, tuple[str, ...]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    kept: dict[str, str] = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def choose(view: View, selection: Sequence[str]) -> set[str]:
    """The tasks that a selection names: ``report``, ``benchmark@starter``, ``+report`` (and all it needs), ``corpus+``.

    Raises
    ------
    DataError
        If a name is none of the workspace's stages.
    """
    if not selection:
        return set(view.tasks)
    chosen: set[str] = set()
    for name in selection:
        bare = name.strip("+")
        named = {n for n, t in view.tasks.items() if bare in (n, t.asset)}
        if not named:
            raise DataError(f"no stage {bare!r}; there are {', '.join(view.tasks)}")
        above = set(named)
        for task in reversed(tuple(view.tasks.values())) if name.startswith("+") else ():
            above |= set(task.upstream) if task.name in above else set()
        below = set(named)
        for task in view.tasks.values() if name.endswith("+") else ():
            below |= {task.name} if below & set(task.upstream) else set()
        chosen |= above | below
    return chosen


def _ready(view: View, chosen: set[str], forced: set[str]) -> list[Task]:
    """Stale tasks with nothing stale anywhere above them; forced ones count as stale.

    Both tools look one hop back. A stage that waits for all that is above it does not run twice, before and after its
    inputs.
    """
    stale = {n for n, t in view.tasks.items() if t.stale} | forced
    waiting: set[str] = set()
    for name, task in view.tasks.items():
        if (stale | waiting) & set(task.upstream):
            waiting.add(name)
    return [t for n, t in view.tasks.items() if n in (stale & chosen) - waiting]


def _headline(values: Mapping[str, object]) -> str:
    numbers = [f"{k.replace('_', ' ')} {number(v)}"
               for k, v in values.items() if isinstance(v, float) and k != "seconds"]
    return ", ".join(numbers[:5]) or (f"{values['model']} version {values['version']}" if "version" in values else "")


def rerun(workspace: Path, orchestrator: Orchestrator, *, select: Sequence[str] = (), force: Sequence[str] = (),
          console: Console | None = None) -> Rerun:
    """Run every chosen (asset, partition) that is stale or missing once its inputs are fresh, until none is left.

    A task with too few questions is left out, with all that needs it.

    Raises
    ------
    CanopyError
        If a stage fails; what was finished stays recorded, and the next rerun goes on from there.
    """
    console, started, summary = console or Console(), time.perf_counter(), Rerun()
    with locked(workspace, "run"), orchestrator.open(workspace) as history:
        history.close_dead_runs()
        code = look_at_code(workspace)  # modules stay as imported: what is edited from here on belongs to the next run
        pending: set[str] | None = None
        while True:
            with progress("looking for what changed"):
                view = look(workspace, history)
            for name in view.reported:
                console.print(f"  [dim]{name}: taken over from dvc.lock (made by `dvc repro`)[/dim]")
            chosen = choose(view, select)
            if pending is None:
                pending = choose(view, force) if force else set()
                chosen_forced = pending - chosen
                if chosen_forced:
                    names = ", ".join(sorted(chosen_forced))
                    raise DataError(f"--force {names}: not among --select {' '.join(select)}")
            moved = {n for n in chosen if view.code.get(n) != code.get(n)}
            wave = [t for t in _ready(view, chosen, pending) if t.name not in moved and t.name not in summary.short]
            if not wave:
                break
            for task in wave:
                try:
                    _run_one(workspace, task, task.name in pending, history, console, summary)
                except Shortage as e:
                    summary.short[task.name] = str(e).removeprefix(f"{task.name}: ")
                    console.print("  [yellow]left out[/yellow] too few questions", highlight=False)
                pending.discard(task.name)
        left = [n for n, t in view.tasks.items() if n in chosen and t.stale]
        if moved & set(left):
            names = ", ".join(n for n in left if n in moved)
            raise CanopyError(f"{names}: code or parameters changed while this run went on; "
                              "what is finished is kept: run `canopy run` again")
        if left and not summary.short:
            console.print(f"[yellow]{', '.join(left)}: still stale, because something they need is and was not selected"
                          "[/yellow]")
    summary.seconds = time.perf_counter() - started
    return summary


def _run_one(workspace: Path, task: Task, forced: bool, history: History, console: Console, summary: Rerun) -> None:
    why = task.why if not forced or task.stale else ("asked for with --force",)
    summary.times[task.name] += 1
    if summary.times[task.name] > _MOST_TIMES:
        raise CanopyError(f"{task.name}: stale again after {_MOST_TIMES} runs ({shorten(why)}); "
                          "what keeps changing its inputs?")
    console.print(f"[bold]> {task.name}[/bold]  [dim]{escape(shorten(why))}[/dim]", highlight=False, soft_wrap=True)
    started = time.perf_counter()
    values = history.materialize(task.asset, task.partition, forced=forced)
    seconds, numbers = time.perf_counter() - started, _headline(values)
    if values.get("cache_hit"):
        summary.kept[task.name] = "; ".join(why)
        console.print(f"  [green]kept[/green] {seconds:.1f} s  {numbers}", highlight=False, soft_wrap=True)
    else:
        summary.ran[task.name] = why
        console.print(f"  [green]done[/green] {seconds:.1f} s  {numbers}", highlight=False, soft_wrap=True)
    if notes := values.get("notes"):
        text = "  " + address(str(notes), workspace).replace("\n", "\n  ")
        console.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)
