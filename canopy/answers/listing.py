"""systems.json: the readers, the questions asked, and for every system where it ran or why it did not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict, cast

from canopy.answers.matrix import scopes_of
from canopy.answers.run import Run
from canopy.errors import DataError
from canopy.pipelines.availability import describe_needs
from canopy.pipelines.base import SystemSpec


class ReaderRow(TypedDict):
    """A reader; ``kind`` is ``llm`` or ``plain`` (without a language model)."""

    name: str
    label: str
    kind: str


class MetricRow(TypedDict):
    """A benchmark's official metric: adapter, measures (first the one that systems are compared on) and rules."""

    adapter: str
    primary: list[str]
    rules: str


class QuestionCounts(TypedDict):
    """How many test questions there are, and how many each seed asks."""

    test: int
    asked: dict[str, int]


class SystemRow(TypedDict):
    """A system as its `canopy.pipelines.base.SystemSpec` declares it, with the readers and corpus scopes of its
    runs."""

    name: str
    says: str
    family: str
    paper: str
    needs: str
    ran: bool
    readers: list[str]
    corpus_scopes: list[str]
    why_not: list[str]
    main: int | None
    component: bool
    oracle: bool
    searcher: bool
    sweeps: list[str]


class _Systems(TypedDict):
    """What every systems.json holds."""

    readers: list[ReaderRow]
    llm_free: bool
    metric: MetricRow
    questions: QuestionCounts
    corpus_scopes: list[str]
    own_is_unified: bool
    seeds: list[int]
    systems: list[SystemRow]


class SystemsFile(_Systems, total=False):
    """What systems.json holds. ``own_is_unified``: the benchmark's own corpus is all there is.

    ``gold``: how many questions have annotated gold, how many pseudo-gold, and the latter's share; earlier versions
    wrote none.
    """

    gold: dict[str, float]


def describe_systems(run: Run) -> SystemsFile:
    """The systems.json of a run."""
    readers, settings, metric = run.readers, run.config.answers, run.metric
    return {
        "readers": [{"name": n, "label": r.label, "kind": r.kind} for n, r in readers.items()],
        "llm_free": all(r.kind == "plain" for r in readers.values()),
        "metric": {"adapter": run.config.benchmarks[run.benchmark].adapter, "primary": list(metric.PRIMARY),
                   "rules": metric.RULES},
        "questions": {"test": len(run.bench.questions), "asked": {str(s): len(q) for s, q in run.by_seed.items()}},
        "corpus_scopes": list(settings.corpus_scopes), "own_is_unified": run.bench.same_corpus,
        "seeds": list(settings.seeds), "gold": run.bench.gold.kinds.counts(),
        "systems": [_describe_system(run, spec) for spec in run.specs],
    }


def _describe_system(run: Run, spec: SystemSpec) -> SystemRow:
    """One system; ``why_not`` is what the first reader lacks if no reader can run it."""
    scopes = run.config.answers.corpus_scopes
    able = [name for name in run.readers if not run.obstacles[name][spec.name]]
    searched = scopes_of(spec, scopes)
    why_not: list[str] = []
    if not able:
        why_not = run.obstacles[next(iter(run.readers))][spec.name]
    elif not searched:
        why_not = [f"not run in these corpus scopes ({', '.join(scopes)})"]
    return {
        "name": spec.name, "says": spec.says, "family": spec.family, "paper": spec.paper, "needs": describe_needs(spec),
        "ran": bool(able and searched), "readers": able, "corpus_scopes": searched if able else [], "why_not": why_not,
        "main": spec.main, "component": spec.component, "oracle": spec.oracle, "searcher": spec.searcher,
        "sweeps": list(spec.sweeps),
    }


def read_systems(folder: Path) -> SystemsFile:
    """The systems.json of a folder of answers.

    Raises
    ------
    DataError
        If it cannot be read, or an earlier version wrote it.
    """
    path = folder / "systems.json"
    try:
        systems = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as e:
        raise DataError(f"{path} cannot be read ({type(e).__name__}); `canopy evaluate` makes it again") from None
    fields = SystemsFile.__required_keys__
    rows = systems.get("systems", ()) if isinstance(systems, dict) and fields <= set(systems) else (None,)
    if not all(isinstance(r, dict) and SystemRow.__required_keys__ <= set(r) for r in rows):
        raise DataError(f"{path} was written by another version; `canopy evaluate` makes it again")
    return cast(SystemsFile, systems)
