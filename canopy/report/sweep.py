"""A sweep's values side by side: one corpus and one reader a table, the same questions resampled once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from canopy.config import CORPUS_SCOPES
from canopy.report.answered import Answered
from canopy.report.build import page_files
from canopy.report.drawing import file_name
from canopy.report.groups import Group, View, build_views
from canopy.report.model import Column, Figure, Row, Section, Table, section
from canopy.report.quotations import quote
from canopy.report.results import Settings
from canopy.report.systems_drawing import STYLES, sizes_plot
from canopy.report.systems_table import KEPT, systems_table

# Short names of what the paper sweeps over, and where it shows the same.
SHORT = {"hierarchy.branching": "B", "answers.k": "k", "answers.rounds": "R"}
PLACES = {"hierarchy.branching": ("Table 3", "Table 9"), "answers.k": ("Table 3", "Table 10"),
          "answers.rounds": ("Table 3",)}
_MOST_LINES = 5  # lines that one can tell apart


def combine(points: Mapping[str, Answered]) -> Answered:
    """One benchmark's answers at every value as one, the value in place of a system's variant.

    Sizes that a value's own matrix swept over (``answers.sweep_k``, budgets) stand in that value's own report, not
    here.

    Parameters
    ----------
    points : mapping
        By value, in order; ``B=2``.
    """
    first = next(iter(points.values()))
    frames = [a.frame[a.frame["variant"] == ""].assign(variant=value) for value, a in points.items()]
    readers = {r["name"]: r for a in points.values() for r in a.readers}
    return replace(first, frame=pd.concat(frames, ignore_index=True), compression=None, readers=tuple(readers.values()),
                   own_is_unified=all(a.own_is_unified for a in points.values()))


def sweep_views(benchmarks: Sequence[Mapping[str, Answered]], settings: Settings) -> list[View]:
    """What may stand in one table."""
    return build_views([combine(points) for points in benchmarks], settings)


def sweep_table(view: View) -> Table:
    """Every system at every value, each against itself at the first value that it has answers for."""
    systems = list(dict.fromkeys(s for g in view.groups for s, _ in g.names))
    parts = [_system_table(view, system) for system in systems]
    columns = {c.key: c for part in parts for c in part.columns}
    last = [k for k in columns if k.startswith(("difference",
                                                "change"))]  # a system without gold recall has fewer columns
    ordered = [c for k, c in columns.items() if k not in last] + [columns[k] for k in last]
    benchmarks = [g.answered.name for g in view.groups]
    rows: list[Row] = sorted((r for part in parts for r in part.rows),
                             key=lambda r: benchmarks.index(str(r["benchmark"])))
    title = f"Values side by side, {CORPUS_SCOPES[view.corpus_scope]}, read by {view.reader}"
    return Table(view.key("sweep"), title, ordered, rows, parts[0].note, {**view.about})


def _system_table(view: View, system: str) -> Table:
    """One system at every value."""
    first = next(v for g in view.groups for s, v in g.names if s == system)
    table = systems_table(view, "sweep", "", lambda g: [n for n in g.names if n[0] == system], (system, first),
                          beside=("rounds", "calls", "gold_item_recall"), best=False)
    table.columns = [Column(c.key, c.label.replace(f"{system} {first}", first), c.kind) for c in table.columns]
    return table


def sweep_files(title: str, keys: Sequence[str], benchmarks: Sequence[Mapping[str, Answered]],
                settings: Settings) -> tuple[dict[str, str], list[Table]]:
    """The comparison's files by their path, and its tables.

    Parameters
    ----------
    keys : sequence of str
        The parameters that have several values.
    """
    views = sweep_views(benchmarks, settings)
    tables = [t for t in map(sweep_table, views) if t.rows]
    figures = [f for v in views if len(keys) == 1 for g in v.groups if (f := _figure(v, g, keys[0]))]
    places = tuple(dict.fromkeys(p for k in keys for p in PLACES.get(k, ())))
    lead = ("Each value has a workspace of its own and is run whole; its own report has every table of it. Intervals "
            "are "
            f"{100 * settings.confidence:g}% intervals of {settings.resamples:,} paired bootstrap resamples of the "
            f"test questions; "
            "differences are to the first value, over the same questions.")
    part: Section = section("sweep", "Values side by side", [], tables, figures, places=places, headed=True,
                            quotation=quote(*places) if places else None)
    return page_files("comparison", f"Sweep: {title}", lead, [part]), tables


def _figure(view: View, group: Group, key: str) -> Figure | None:
    """Quality and tokens by the values, if these are numbers."""
    short = SHORT.get(key, key.rpartition(".")[2])
    systems = sorted(group.systems, key=lambda s: (s not in STYLES, group.systems.index(s)))[:_MOST_LINES]
    try:
        for _, value in group.names:
            float(value.partition("=")[2])
    except ValueError:
        return None
    svg = sizes_plot(view, group, systems, f"{short}=", [group.first, *KEPT, "tokens"], short)
    name = file_name("sweep", view.corpus_scope + view.suffix, group.answered.name)
    title = f"{group.answered.name}, {CORPUS_SCOPES[view.corpus_scope]}:"
    return Figure(name, title, f"by {short}, with intervals.", svg) if svg else None
