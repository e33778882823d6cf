"""A sweep's values side by side, as the report lays systems side by side: one corpus and one reader a table, the same questions resampled once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from canopy.config import CORPUS_SCOPES
from canopy.report import answer_plots as plots
from canopy.report.answer_tables import KEPT, systems_table
from canopy.report.answered import Answered, Group, View, build_views
from canopy.report.build import page_of
from canopy.report.drawing import file_name, standalone
from canopy.report.render import to_csv
from canopy.report.sections import Drawn, Section, section
from canopy.report.tables import Settings, Table

# Short names of what the paper sweeps over, and where it shows the same.
SHORT = {"hierarchy.branching": "B", "answers.k": "k", "answers.rounds": "R"}
PLACES = {"hierarchy.branching": ("Table 3", "Table 9"), "answers.k": ("Table 3", "Table 10"), "answers.rounds": ("Table 3",)}
_DRAWN = 5  # lines that one can tell apart


def combine(points: Mapping[str, Answered]) -> Answered:
    """One benchmark's answers at every value as one, the value in place of a system's variant.

    Sizes that a value's own matrix swept over (``answers.sweep_k``, budgets) stand in that value's own report, not here.

    Parameters
    ----------
    points : mapping
        By value, in order; ``B=2``.
    """
    first = next(iter(points.values()))
    frame = pd.concat([a.frame[a.frame["variant"] == ""].assign(variant=value) for value, a in points.items()], ignore_index=True)
    unified = all(a.listed.get("own_is_unified") for a in points.values())
    readers = {r["name"]: r for a in points.values() for r in a.listed["readers"]}
    return replace(first, frame=frame, compression={}, listed={**first.listed, "readers": list(readers.values()), "own_is_unified": unified})


def sweep_views(benchmarks: Sequence[Mapping[str, Answered]], settings: Settings) -> list[View]:
    """What may stand in one table."""
    return build_views([combine(points) for points in benchmarks], settings)


def sweep_table(view: View) -> Table:
    """Every system at every value, each against itself at the first value that it has answers for."""
    systems = list(dict.fromkeys(s for g in view.groups for s, _ in g.names))
    made = []
    for system in systems:
        first = next(v for g in view.groups for s, v in g.names if s == system)
        part = systems_table(view, "sweep", "", lambda g, s=system: [n for n in g.names if n[0] == s], (system, first), beside=("rounds", "calls", "gold_item_recall"), best=False)
        part.columns = [replace(c, label=c.label.replace(f"{system} {first}", first)) for c in part.columns]
        made.append(part)
    columns = {c.key: c for part in made for c in part.columns}
    last = [k for k in columns if k.startswith(("difference", "change"))]  # a system without gold recall has fewer columns
    title = f"Values side by side, {CORPUS_SCOPES[view.corpus_scope]}, read by {view.reader}"
    rows = sorted((r for part in made for r in part.rows), key=lambda r: [g.answered.name for g in view.groups].index(r["benchmark"]))
    return Table(view.key("sweep"), title, [c for k, c in columns.items() if k not in last] + [columns[k] for k in last], rows, made[0].note, {**view.about})


def sweep_files(title: str, keys: Sequence[str], benchmarks: Sequence[Mapping[str, Answered]], settings: Settings) -> tuple[dict[str, str], list[Table]]:
    """The comparison's files by their path, and its tables.

    Parameters
    ----------
    keys : sequence of str
        The parameters that have several values.
    """
    views = sweep_views(benchmarks, settings)
    tables = [t for t in map(sweep_table, views) if t.rows]
    drawn = [Drawn(*d) for v in views if len(keys) == 1 for g in v.groups if (d := _draw(v, g, keys[0]))]
    places = tuple(dict.fromkeys(p for k in keys for p in PLACES.get(k, ())))
    lead = f"Each value has a workspace of its own and is run whole; its own report has every table of it. Intervals are {100 * settings.confidence:g}% intervals of " \
           f"{settings.resamples:,} paired bootstrap resamples of the test questions; differences are to the first value, over the same questions."
    made: list[Section] = [section("sweep", "Values side by side", [lead], tables, drawn, places=places, headed=True)]
    files = {"comparison.html": page_of(f"Sweep: {title}", lead, made), "comparison.md": f"# Sweep: {title}\n\n" + "\n".join(s.as_markdown() for s in made)}
    return files | {f"tables/{t.key}.csv": to_csv(t) for t in tables} | {f"figures/{d.name}.svg": standalone(d.svg) for d in drawn}, tables


def _draw(view: View, group: Group, key: str) -> tuple[str, str, str, str] | None:
    """Quality and tokens by the values, where these are numbers."""
    short = SHORT.get(key, key.rpartition(".")[2])
    systems = list(dict.fromkeys(s for s, _ in group.names))
    systems = sorted(systems, key=lambda s: (s not in plots.STYLES, systems.index(s)))[:_DRAWN]
    try:
        [float(v.partition("=")[2]) for _, v in group.names]
    except ValueError:
        return None
    svg = plots.sizes_plot(view, group, systems, f"{short}=", [group.answered.primary[0], *KEPT, "tokens"], short)
    name = file_name("sweep", view.corpus_scope + view.suffix, group.answered.name)
    return (name, f"{group.answered.name}, {CORPUS_SCOPES[view.corpus_scope]}:", f"by {short}, with intervals.", svg) if svg else None
