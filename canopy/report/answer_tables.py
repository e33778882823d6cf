"""The paper's tables, drawn from our answers: systems side by side on the same questions, the paper's figures beside them, one corpus a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from canopy.report.answered import ORACLES, Answered, Group, Name, View
from canopy.report.paper import BENCHMARKS, MEAN, find_published
from canopy.report.tables import Column, Table
from canopy.scoring.bootstrap import Interval, interval_of

LABELS = {"em": "EM", "f1": "F1", "accuracy": "accuracy", "sp_em": "supporting-fact EM", "sp_f1": "supporting-fact F1", "joint_em": "joint EM", "joint_f1": "joint F1",
          "table_f1": "F1, answer in a table", "passage_f1": "F1, answer in a passage",
          "gold_recall": "gold recall", "gold_item_recall": "gold items found", "answer_in_evidence": "answer in evidence", "tokens": "tokens a question",
          "kept_share": "tokens, of the items'", "rounds": "rounds", "calls": "LLM calls", "duplicate_share": "duplicates in follow-ups", "pruned": "pruned",
          "cap_cut": "cut by the cap", "parse_failed": "unusable answers", "fallbacks": "fallbacks a question", "prompt_tokens": "prompt tokens",
          "completion_tokens": "tokens written"}
KINDS = {"tokens": "count", "rounds": "number", "calls": "number", "fallbacks": "number", "prompt_tokens": "count", "completion_tokens": "count"}
COUNTED = frozenset({"calls", "prompt_tokens", "completion_tokens", "cap_cut", "fallbacks", "parse_failed"})
_OF_ANSWERS = ("em", "f1", "accuracy")
KEPT = ("gold_recall", "answer_in_evidence")
CANOPY, LOOKAHEAD, VANILLA = ("canopy", ""), ("canopy-lookahead", ""), ("vanilla", "")
PAIRED = "Brackets: paired bootstrap over questions, their ids resampled once for all systems."


def label_of(measure: str) -> str:
    """A measure as a column's title."""
    return LABELS.get(measure, measure.replace("_", " "))


def columns_of(view: View, measures: Sequence[str]) -> list[Column]:
    """Columns of measures, without those that no system of the view has, and without counts that are 0 for all."""
    def is_there(measure: str) -> bool:
        values = [v.estimate for g in view.groups if measure in g.measures for n in g.names if (v := g.value(n, measure)) is not None]
        return any(values) if measure in COUNTED else bool(values)

    there = [m for m in measures if is_there(m)]
    return [Column(m, label_of(m), KINDS.get(m, "percent")) for m in there]


def leading(view: View) -> list[str]:
    """The measures of a table, in order: without a language model those that need no reader come first; official ones beyond the answer's own come last."""
    official = list(dict.fromkeys(m for g in view.groups for m in g.answered.primary))
    own, more = [m for m in official if m in _OF_ANSWERS], [m for m in official if m not in _OF_ANSWERS]
    return [*KEPT, "tokens", *own, *more] if view.kind != "llm" else [*own, *KEPT, "tokens", *more]


def mark_best(group: Group, names: Sequence[Name], rows: Sequence[dict[str, Any]], measure: str) -> None:
    """Sign the best row of a group by point value, and those that the paired interval does not tell from it; oracles do not compete."""
    values = {n: v.estimate for n in names if n[0] not in ORACLES and (v := group.value(n, measure)) is not None}
    if len(set(values.values())) < 2:
        return
    best = max(values, key=lambda n: values[n])
    for name, row in zip(names, rows, strict=True):
        d = group.difference(name, best, measure) if name in values and name != best else None
        if name in values and (values[name] == values[best] or (d is not None and d.low <= 0 <= d.high)):
            row.setdefault("_marks", {})[measure] = "★" if values[name] == values[best] else "≈"


def systems_table(view: View, key: str, title: str, choose: Callable[[Group], Sequence[Name]], reference: Name, *, places: Sequence[str] = (), beside: Sequence[str] = (),
                  note: str = "", best: bool = True, mean: bool = False) -> Table:
    """Chosen systems of every benchmark, each against a reference.

    Parameters
    ----------
    choose : callable
        The systems of a group, in order; those that did not run are left out, and a benchmark on which fewer than two of them ran.
    places : sequence of str
        The paper's tables and figures whose values stand beside.
    beside : sequence of str
        Further measures, after the leading ones.
    best : bool
        Sign the best of each benchmark in its first official measure.
    mean : bool
        Add the mean over benchmarks.
    """
    rows: list[dict[str, Any]] = []
    shown: list[Group] = []
    for group in view.groups:
        names = [n for n in choose(group) if n in group]
        if len(names) < 2:
            continue
        mine = [_row(group, n, reference, [*leading(view), *beside], places) for n in names]
        if best:
            mark_best(group, names, mine, group.answered.primary[0])
        rows += mine
        shown.append(group)
    if mean and len(shown) > 1:
        rows += _mean_rows(shown, choose, reference, places)
        note = f"{note} The mean is over each benchmark's first official measure, all benchmarks alike."
    part = view.only(shown)
    told = f"{reference[0]} {reference[1]}".strip()
    published = {k.removeprefix("paper_") for r in rows for k in r if k.startswith("paper_")}
    columns = [Column("benchmark", "benchmark"), Column("system", "system")]
    for c in columns_of(part, [*leading(view), *beside]):
        columns += [c, *([Column(f"paper_{c.key}", f"the paper: {c.label}", c.kind)] if c.key in published else [])]
    compared = [Column("difference", _difference_label(part, told), "points"), Column("difference_gold_recall", f"gold recall, less {told}'s", "points"),
                Column("change_tokens", f"tokens against {told}", "change")]
    columns += [c for c in compared if any(r.get(c.key) for r in rows)]
    return Table(view.key(key), title, columns, rows, f"{note} {PAIRED}".strip(), {**view.about})


def _difference_label(view: View, reference: str) -> str:
    first = list(dict.fromkeys(label_of(g.answered.primary[0]) for g in view.groups))
    return f"{' or '.join(first)}, less {reference}'s"


def _row(group: Group, name: Name, reference: Name, measures: Sequence[str], places: Sequence[str]) -> dict[str, Any]:
    a = group.answered
    row: dict[str, Any] = {"benchmark": a.name, "system": " ".join(name).strip(), "variant": name[1]}
    row |= {m: group.value(name, m) for m in measures if m in group.measures}
    for column, found, good in (("difference", group.difference(name, reference, a.primary[0]), 1),
                                ("difference_gold_recall", group.difference(name, reference, "gold_recall"), 1),
                                ("change_tokens", group.change(name, reference, "tokens"), -1)):
        if found is not None:
            row |= {column: found, f"_good_{column}": bool(found.estimate * good > 0)}
    published = find_published(places, a.paper_name, name[0]) if not name[1] else {}
    return row | {f"paper_{m}": v for m, v in published.items()}


def _mean_rows(groups: Sequence[Group], choose: Callable[[Group], Sequence[Name]], reference: Name, places: Sequence[str]) -> list[dict[str, Any]]:
    """Means over benchmarks of the first official measure, gold recall and tokens, of the systems that ran on all of them; each benchmark weighs the same."""
    names = [n for n in dict.fromkeys(n for g in groups for n in choose(g)) if all(n in g for g in groups)]
    title = f"mean of {len(groups)} benchmarks"
    rows = []
    for name in names:
        row: dict[str, Any] = {"benchmark": title, "system": " ".join(name).strip(), "variant": name[1]}
        for column, measure in (("_first", ""), ("gold_recall", "gold_recall"), ("answer_in_evidence", "answer_in_evidence"), ("tokens", "tokens")):
            row[column] = _mean([[g.paired.draws((*name, measure or g.answered.primary[0]))] for g in groups], groups[0])
        row[groups[0].answered.primary[0]] = row.pop("_first")
        if sorted(g.answered.paper_name for g in groups) == sorted(BENCHMARKS):  # the paper's mean is over these, and over no others
            row |= {f"paper_{groups[0].answered.primary[0]}": v for v in find_published(places, MEAN, name[0]).values()}
        if name != reference and all(reference in g for g in groups):
            d = _mean([[g.paired.draws((*n, g.answered.primary[0])) for n in (name, reference)] for g in groups], groups[0])
            row |= {"difference": d, "_good_difference": bool(d is not None and d.estimate > 0)}
        rows.append(row)
    return rows


def _mean(parts: Sequence[Sequence[tuple[float, np.ndarray]]], group: Group) -> Interval | None:
    """Mean over benchmarks of a ratio, or of the difference of two; None where one of them is not defined."""
    values = [p[0][0] - (p[1][0] if len(p) > 1 else 0.0) for p in parts]
    draws = [p[0][1] - (p[1][1] if len(p) > 1 else 0.0) for p in parts]
    if not np.isfinite(values).all():
        return None
    return interval_of(float(np.mean(values)), np.mean(draws, axis=0), group.paired.confidence)


def variants(group: Group, system: str, prefix: str) -> list[Name]:
    """A system at its own size and at the sizes that begin with ``prefix``, smallest first."""
    found = [n for n in group.names if n[0] == system and n[1].startswith(prefix)]
    return [*([(system, "")] if found and (system, "") in group else []), *sorted(found, key=size_of)]


def size_of(name: Name) -> float:
    """What to sort a system's variants by: its own size first, then the numbers in their names."""
    try:
        return float(name[1].partition("=")[2]) if name[1] else float("-inf")
    except ValueError:
        return float("inf")


def cost_table(view: View) -> Table:
    """What every system cost: rounds, calls, tokens, duplicates, cuts, and what could not be used."""
    measures = ("rounds", "calls", "prompt_tokens", "completion_tokens", "tokens", "kept_share", "pruned", "duplicate_share", "cap_cut", "fallbacks", "parse_failed")
    rows = [{"benchmark": g.answered.name, "system": n[0], **{m: g.value(n, m) for m in measures}} for g in view.groups for n in g.names if not n[1]]
    columns = columns_of(view, measures)
    left = [label_of(m) for m in ("calls", "cap_cut", "fallbacks", "parse_failed") if m not in {c.key for c in columns}]
    return Table(view.key("cost"), "What it took", [Column("benchmark", "benchmark"), Column("system", "system"), *columns], rows,
                 "Means over questions; shares are pooled over them." + (f" None for any system: {', '.join(left)}." if left else ""), {**view.about})


def notes_table(view: View) -> Table:
    """What went another way than the protocol, by system: counted, never hidden."""
    rows = []
    for g in view.groups:
        found = g.answered.notes
        mine = found[(found["reader"] == view.reader) & (found["corpus_scope"] == view.corpus_scope)]
        rows += [{"benchmark": g.answered.name, "system": r.system, "note": r.note, "count": int(r.count), "share": r.count / g.questions}
                 for r in mine.rename(columns={"count": "times"}).rename(columns={"times": "count"}).itertuples(index=False)]
    return Table(view.key("notes"), "What was noted on the way", [Column("benchmark", "benchmark"), Column("system", "system"), Column("note", "note"),
                                                                Column("count", "times", "count"), Column("share", "a question", "number")], rows, "", {**view.about})


def missing_table(answers: Sequence[Answered]) -> Table:
    """Every system that did not run somewhere, where, and what it lacks."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for a in answers:
        for s in a.listed["systems"]:
            absent = [r["label"] for r in a.listed["readers"] if r["name"] not in s["readers"]]
            why = "; ".join(s["why_not"]) or (f"not with {', '.join(absent)}" if absent else "")
            if not s["ran"] or why:
                row = rows.setdefault((s["name"], why), {"system": s["name"], "says": s["says"], "row": s["paper"], "benchmarks": [], "why": why or "no reason was given"})
                row["benchmarks"].append(a.name)
    return Table("not-run", "What was not run, and why", [Column("system", "system"), Column("says", "what it is"), Column("row", "its row in the paper"),
                                                         Column("benchmarks", "benchmarks"), Column("why", "why, and what to do")],
                 [{**r, "benchmarks": ", ".join(r["benchmarks"])} for r in rows.values()],
                 "A system that cannot run is left out; nothing else ever stands in its row.")


def answer_metrics(views: Sequence[View]) -> dict[str, Any]:
    """For DVC: benchmark -> corpus -> system -> measure, of the first reader, for the systems of the main table and the oracles."""
    out: dict[str, Any] = {}
    for view in (v for v in views if not v.suffix):
        for g in view.groups:
            families = {s["name"]: s["family"] for s in g.answered.listed["systems"]}
            mine: Mapping[str, Any] = {}
            for n in g.names:
                if not n[1] and families.get(n[0]) in ("main", "oracle"):
                    values = {m: g.value(n, m) for m in (*g.answered.primary, *KEPT, "tokens")}
                    mine = {**mine, n[0].replace("-", "_"): {m: round(v.estimate, 6) for m, v in values.items() if v is not None}}
            out.setdefault(g.answered.name, {})[view.corpus_scope] = mine
    return out

