"""Systems side by side on the same questions, the paper's figures beside them: the table that most of the paper's
tables are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from canopy.answers.comparison import Name
from canopy.report.groups import Group, View
from canopy.report.model import GOOD, MARK, Column, Row, Table
from canopy.report.paper import BENCHMARKS, MEAN, find_published
from canopy.report.values import judged
from canopy.scoring.bootstrap import Interval, interval_of
from canopy.scoring.measure import ANSWERS, label_of, measures_of

KEPT = ("gold_recall", "answer_in_evidence")
PAIRED = "Brackets: paired bootstrap over questions, their ids resampled once for all systems."
_OF_ANSWERS = ("em", "f1", "accuracy")


def columns_of(view: View, measures: Sequence[str]) -> list[Column]:
    """Columns of measures, without those that no system of the view has, and without counts that are 0 for all."""
    declared = measures_of(ANSWERS)
    columns = []
    for name in measures:
        measure = declared.get(name)
        values = [v.estimate for g in view.groups if name in g.measures for n in g.names
                  if (v := g.value(n, name)) is not None]
        if any(values) if measure is not None and measure.counted else values:
            columns.append(Column(name, label_of(name), measure.unit if measure is not None else "percent"))
    return columns


def leading(view: View) -> list[str]:
    """The measures of a table, in order.

    Without a language model, those that need no reader come first. Official ones beyond the answer's own come last.
    """
    official = list(dict.fromkeys(m for g in view.groups for m in g.answered.primary))
    own = [m for m in official if m in _OF_ANSWERS]
    more = [m for m in official if m not in _OF_ANSWERS]
    return [*KEPT, "tokens", *own, *more] if view.kind != "llm" else [*own, *KEPT, "tokens", *more]


def mark_best(group: Group, names: Sequence[Name], rows: Sequence[Row], measure: str) -> None:
    """Sign the best row of a group by point value, and those that the paired interval does not tell from it.

    Oracles do not compete.
    """
    oracles = {s["name"] for s in group.answered.systems if s["oracle"]}
    values = {n: v.estimate for n in names if n[0] not in oracles and (v := group.value(n, measure)) is not None}
    if len(set(values.values())) < 2:
        return
    best = max(values, key=lambda n: values[n])
    for name, row in zip(names, rows, strict=True):
        if name not in values:
            continue
        difference = group.difference(name, best, measure)
        if values[name] == values[best]:
            row[f"{MARK}{measure}"] = "★"
        elif difference is not None and difference.low <= 0 <= difference.high:
            row[f"{MARK}{measure}"] = "≈"


def systems_table(view: View, key: str, title: str, choose: Callable[[Group], Sequence[Name]], reference: Name, *,
                  places: Sequence[str] = (), beside: Sequence[str] = (), note: str = "", best: bool = True,
                  mean: bool = False) -> Table:
    """Some systems of every benchmark, each against a reference.

    Parameters
    ----------
    choose : callable
        The systems of a group, in order. Those that did not run are left out, and so is a benchmark on which fewer than
        two ran.
    places : sequence of str
        The paper's tables and figures whose values stand beside.
    beside : sequence of str
        Further measures, after the leading ones.
    best : bool
        Sign the best of each benchmark in its first official measure.
    mean : bool
        Add the mean over benchmarks.
    """
    measures = [*leading(view), *beside]
    rows: list[Row] = []
    groups: list[Group] = []
    for group in view.groups:
        names = [n for n in choose(group) if n in group]
        if len(names) < 2:
            continue
        part = [_row(group, n, reference, measures, places) for n in names]
        if best:
            mark_best(group, names, part, group.first)
        rows += part
        groups.append(group)
    if mean and len(groups) > 1:
        rows += _mean_rows(groups, choose, reference, places)
        note = f"{note} The mean is over each benchmark's first official measure, all benchmarks alike."
    columns = _columns(view.only(groups), measures, rows, f"{reference[0]} {reference[1]}".strip())
    return Table(view.key(key), title, columns, rows, f"{note} {PAIRED}".strip(), {**view.about})


def _columns(view: View, measures: Sequence[str], rows: Sequence[Row], reference: str) -> list[Column]:
    published = {k.removeprefix("paper_") for r in rows for k in r if k.startswith("paper_")}
    columns = [Column("benchmark", "benchmark"), Column("system", "system")]
    for c in columns_of(view, measures):
        columns.append(c)
        if c.key in published:
            columns.append(Column(f"paper_{c.key}", f"the paper: {c.label}", c.kind))
    first = " or ".join(dict.fromkeys(label_of(g.first) for g in view.groups))
    differences = (
        Column("difference", f"{first}, less {reference}'s", "points"),
        Column("difference_gold_recall", f"gold recall, less {reference}'s", "points"),
        Column("change_tokens", f"tokens against {reference}", "change"))
    return columns + [c for c in differences if any(r.get(c.key) for r in rows)]


def _row(group: Group, name: Name, reference: Name, measures: Sequence[str], places: Sequence[str]) -> Row:
    answered = group.answered
    row: Row = {"benchmark": answered.name, "system": " ".join(name).strip(), "variant": name[1]}
    row |= {m: group.value(name, m) for m in measures if m in group.measures}
    row |= judged("difference", group.difference(name, reference, group.first))
    row |= judged("difference_gold_recall", group.difference(name, reference, "gold_recall"))
    row |= judged("change_tokens", group.change(name, reference, "tokens"), higher_is_better=False)
    published = find_published(places, answered.paper_name, name[0]) if not name[1] else {}
    return row | {f"paper_{m}": v for m, v in published.items()}


def _mean_rows(groups: Sequence[Group], choose: Callable[[Group], Sequence[Name]], reference: Name,
               places: Sequence[str]) -> list[Row]:
    """Means over benchmarks, each weighing the same, of the systems that ran on all of them."""
    names = [n for n in dict.fromkeys(n for g in groups for n in choose(g)) if all(n in g for g in groups)]
    first = groups[0].first
    is_the_papers = sorted(g.answered.paper_name
                           for g in groups) == sorted(BENCHMARKS)  # its mean is over these, and over no others
    rows: list[Row] = []
    for name in names:
        row: Row = {"benchmark": f"mean of {len(groups)} benchmarks", "system": " ".join(name).strip(),
                    "variant": name[1]}
        row[first] = _mean([[g.paired.draws((*name, g.first))] for g in groups], groups[0])
        for measure in (*KEPT, "tokens"):
            row[measure] = _mean([[g.paired.draws((*name, measure))] for g in groups], groups[0])
        if is_the_papers:
            row |= {f"paper_{first}": v for v in find_published(places, MEAN, name[0]).values()}
        if name != reference and all(reference in g for g in groups):
            d = _mean([[g.paired.draws((*n, g.first)) for n in (name, reference)] for g in groups], groups[0])
            row |= {"difference": d, f"{GOOD}difference": bool(d is not None and d.estimate > 0)}
        rows.append(row)
    return rows


def _mean(parts: Sequence[Sequence[tuple[float, np.ndarray]]], group: Group) -> Interval | None:
    """Mean over benchmarks of a ratio, or of the difference of two; None if one of them is not defined."""
    values = [p[0][0] - (p[1][0] if len(p) > 1 else 0.0) for p in parts]
    draws = [p[0][1] - (p[1][1] if len(p) > 1 else 0.0) for p in parts]
    if not np.isfinite(values).all():
        return None
    return interval_of(float(np.mean(values)), np.mean(draws, axis=0), group.paired.confidence)
