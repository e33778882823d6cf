"""The report's tables and metrics, computed from the evaluation's files; rendering is elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from canopy.evaluation.measures import MEASURES, TUNED, Comparison, compare, measured, slug
from canopy.scoring.bootstrap import Interval, ratio_intervals


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are drawn."""

    resamples: int
    seed: int
    confidence: float


@dataclass(slots=True)
class Results:
    """What the report knows of one benchmark: the evaluation's tables, the summaries of the stages before it, where its examples are, what the paper calls it."""

    name: str
    systems: pd.DataFrame
    decisions: pd.DataFrame
    regions: pd.DataFrame
    retrieval: pd.DataFrame
    levels: pd.DataFrame
    splits: pd.DataFrame
    benchmark_summary: dict[str, Any] = field(default_factory=dict)
    gold_summary: dict[str, Any] = field(default_factory=dict)
    examples: str = ""
    paper_name: str = ""

    @property
    def names(self) -> list[str]:
        """Systems in the order in which the evaluation wrote them."""
        return list(dict.fromkeys(self.systems["system"]))

    @property
    def frozen(self) -> list[str]:
        """The f0 modes."""
        return [n for n in self.names if n.startswith("f0 ")]

    def columns(self, system: str) -> dict[str, np.ndarray]:
        """The per-question columns of one system, questions in file order."""
        rows = self.systems[self.systems["system"] == system]
        return {c: rows[c].to_numpy(dtype=np.float64, na_value=np.nan) for c in rows.columns if c not in ("question_id", "system")}

    @property
    def better(self) -> str:
        """The f0 mode with the higher decision accuracy: the one that figures show beside f_theta."""
        def accuracy(name: str) -> float:
            top, low = measured(self.columns(name), MEASURES["decision_accuracy"])
            return float(top.sum() / low.sum()) if low.sum() else -math.inf
        return max(sorted(self.frozen), key=accuracy)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, what people read, and how a value is shown (text, count, number, percent, points)."""

    key: str
    label: str
    kind: str = "text"


@dataclass(slots=True)
class Table:
    """Rows with raw values (an ``Interval`` where there is one); every format is rendered from this.

    ``about``: what holds for the whole table and must not be missed (who read, which corpus): shown with it, and columns of its CSV. Keys of a
    row that begin with ``_`` tell how it is shown: ``_percent``, ``_good`` and ``_good_<column>`` whether a difference is for the better, ``_marks`` a sign
    by column. Columns whose key begins with ``paper`` hold the paper's figures, set apart from ours.
    """

    key: str
    title: str
    columns: list[Column]
    rows: list[dict[str, Any]]
    note: str = ""
    about: Mapping[str, str] = field(default_factory=dict)


def _boot(s: Settings) -> tuple[int, int, float]:
    return s.resamples, s.seed, s.confidence


def comparisons(r: Results, s: Settings) -> dict[str, Comparison]:
    """f_theta against f0 for each measure that has something to measure."""
    found = {}
    for key, m in MEASURES.items():
        c = compare(key, measured(r.columns(TUNED), m), {b: measured(r.columns(b), m) for b in r.frozen}, m.higher_is_better, *_boot(s))
        if c:
            found[key] = c
    return found


def system_values(r: Results, s: Settings) -> dict[str, dict[str, Interval]]:
    """Every system's every measure, with intervals from one resampling of the questions."""
    keys = [(n, k) for n in r.names for k in MEASURES]
    columns = {n: r.columns(n) for n in r.names}
    pairs = [measured(columns[n], MEASURES[k]) for n, k in keys]
    out: dict[str, dict[str, Interval]] = {n: {} for n in r.names}
    for (n, k), interval in zip(keys, ratio_intervals(pairs, *_boot(s)), strict=True):
        if math.isfinite(interval.estimate):
            out[n][k] = interval
    return out


def quality_table(results: Sequence[Results], values: Mapping[str, Mapping[str, Mapping[str, Interval]]],
                  compared: Mapping[str, Mapping[str, Comparison]]) -> Table:
    """f0 in both modes, f_theta, and the difference to the better mode."""
    rows = []
    for r in results:
        for key, c in compared[r.name].items():
            m = MEASURES[key]
            rows.append({"benchmark": r.name, "measure": m.label, **{slug(b): values[r.name][b].get(key) for b in r.frozen},
                         TUNED: values[r.name][TUNED].get(key), "baseline": c.baseline, "difference": c.difference,
                         "_percent": m.percent, "_good": c.difference.estimate > 0 if m.higher_is_better else c.difference.estimate < 0})
    modes = list(dict.fromkeys(b for r in results for b in r.frozen))
    return Table("quality", "f0 against f_theta", [
        Column("benchmark", "benchmark"), Column("measure", "measure"), *(Column(slug(b), b, "auto") for b in modes),
        Column(TUNED, TUNED, "auto"), Column("difference", "difference", "auto_points"), Column("baseline", "against")], rows,
        "Brackets: 95% interval, paired bootstrap over questions. The difference is to the better f0 mode of that row.")


def decision_cells(r: Results, s: Settings) -> list[dict[str, Any]]:
    """Decision accuracy by modality and kind, f_theta against the better f0 mode of each cell."""
    cells = []
    modalities, questions = sorted(set(r.decisions["modality"])), list(dict.fromkeys(r.systems["question_id"]))
    for modality in (["all", *modalities] if len(modalities) > 1 else modalities or []):
        for kind in ("all", "stop", "descend"):
            d = r.decisions
            d = d[((d["modality"] == modality) | (modality == "all")) & ((d["kind"] == kind) | (kind == "all"))]
            if d.empty:
                continue
            pair = {}
            for n in (TUNED, *r.frozen):
                per = d[d["system"] == n].groupby("question_id")["held"].agg(["sum", "count"]).reindex(questions, fill_value=0)
                pair[n] = per["sum"].to_numpy(dtype=np.float64), per["count"].to_numpy(dtype=np.float64)
            c = compare("decision_accuracy", pair[TUNED], {b: pair[b] for b in r.frozen}, True, *_boot(s))
            if c is None:
                continue
            f0 = ratio_intervals([pair[c.baseline]], *_boot(s))[0]
            cells.append({"benchmark": r.name, "modality": modality, "kind": kind, "questions": int((pair[TUNED][1] > 0).sum()),
                          "decisions": int(pair[TUNED][1].sum()), "f0": f0, TUNED: c.after, "difference": c.difference,
                          "baseline": c.baseline, "_percent": True, "_good": c.difference.estimate > 0})
    return cells


def decisions_table(cells: Sequence[dict[str, Any]]) -> Table:
    """Decision accuracy by benchmark, modality and kind."""
    return Table("decisions", "Decision accuracy by modality and kind", [
        Column("benchmark", "benchmark"), Column("modality", "modality"), Column("kind", "decision"),
        Column("f0", "f0", "percent"), Column(TUNED, TUNED, "percent"), Column("difference", "difference", "points"),
        Column("baseline", "against"), Column("questions", "questions", "count"), Column("decisions", "decisions", "count")], list(cells),
        "stop: the node is all gold and must beat its children. descend: gold lies in a part of it, and the children that hold "
        "gold must be explored and the others dropped. Nodes on which alternative annotations disagree count under all only.")


def selectors_table(results: Sequence[Results], values: Mapping[str, Mapping[str, Mapping[str, Interval]]]) -> Table:
    """Every system on the same gold items."""
    rows = [{"benchmark": r.name, "system": n, **{k: values[r.name][n].get(k) for k in MEASURES}, "_percent": True}
            for r in results for n in r.names]
    return Table("selectors", "All systems, gold items given", [
        Column("benchmark", "benchmark"), Column("system", "system"), *(
            Column(k, m.label, "percent" if m.percent else "number") for k, m in MEASURES.items())], rows,
        "flat leaf and any-level take m regions of each item by f_theta's scores. Only the rule makes decisions, so only f0 and "
        "f_theta have a decision accuracy.")


def retrieval_table(results: Sequence[Results], s: Settings) -> Table:
    """Recall of gold items at k, over the corpus of all configured benchmarks."""
    rows = []
    for r in results:
        for k, part in r.retrieval.groupby("k", sort=True):
            recall = part["recall"].to_numpy(dtype=np.float64)
            rows.append({"benchmark": r.name, "k": int(k), "recall": ratio_intervals([(recall, np.ones(len(recall)))], *_boot(s))[0],
                         "questions": len(part)})
    return Table("retrieval", "Recall of gold items at k", [
        Column("benchmark", "benchmark"), Column("k", "k", "count"), Column("recall", "recall", "percent"),
        Column("questions", "questions", "count")], rows)


def sizes_table(results: Sequence[Results]) -> Table:
    """Questions on either side of the split, and what of the test side is measured."""
    rows = []
    for r in results:
        sides = r.splits["split"].value_counts()
        whole = r.regions[r.regions["system"] == TUNED]
        row = {"benchmark": r.name, "train": int(sides.get("train", 0)), "test": int(sides.get("test", 0)),
               "components": int(r.splits["component"].nunique()), "measured": int(r.systems["question_id"].nunique()),
               "pairs": len(whole), "refinable": int((whole["fragments"] > 1).sum()),
               "decisions": int((r.decisions["system"] == TUNED).sum())}
        rows.append(row)
    labels = {"train": "train questions", "test": "test questions", "components": "components", "measured": "measured",
              "pairs": "gold items", "refinable": "of them refinable", "decisions": "decisions"}
    return Table("sizes", "Sample sizes", [Column("benchmark", "benchmark"), *(Column(k, v, "count") for k, v in labels.items())], rows,
                 "Questions and gold items are split by connected component: no gold item is on both sides. A gold item counts once "
                 "a question.")


def counts_table(key: str, title: str, results: Sequence[Results], attribute: str, note: str = "", without: tuple[str, ...] = ()) -> Table:
    """The counts that an earlier stage wrote into its summary, as it named them, but for names that begin as ``without`` says."""
    metrics = {r.name: {n: v for n, v in getattr(r, attribute).get("metrics", {}).items() if not n.startswith(without)} for r in results}
    names = list(dict.fromkeys(n for m in metrics.values() for n in m))
    return Table(key, title, [Column("count", "count"), *(Column(r.name, r.name, "number") for r in results)],
                 [{"count": n.replace("_", " "), **{b: m.get(n) for b, m in metrics.items()}} for n in names], note)


def _told(i: Interval) -> dict[str, float]:
    return {"value": round(i.estimate, 6), "low": round(i.low, 6), "high": round(i.high, 6)}


def build_metrics(results: Sequence[Results], values: Mapping[str, Mapping[str, Mapping[str, Interval]]],
                  compared: Mapping[str, Mapping[str, Comparison]], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """DVC's metrics: benchmark -> system -> measure, with differences, decisions by cell, retrieval and counts beside them."""
    out: dict[str, Any] = {}
    for r in results:
        mine: dict[str, Any] = {slug(n): {k: round(i.estimate, 6) for k, i in v.items()} for n, v in values[r.name].items()}
        mine["difference"] = {k: {"baseline": slug(c.baseline), **_told(c.difference),
                                  **{f"to_{slug(b)}": _told(i) for b, i in c.against.items()}} for k, c in compared[r.name].items()}
        for c in cells:
            if c["benchmark"] == r.name:
                mine.setdefault("decisions", {}).setdefault(c["modality"], {})[c["kind"]] = {
                    "baseline": slug(c["baseline"]), "n": c["decisions"], "f0": round(c["f0"].estimate, 6),
                    TUNED: round(c[TUNED].estimate, 6), "difference": _told(c["difference"])}
        mine["retrieval"] = {f"recall_at_{int(k)}": round(float(p["recall"].mean()), 6) for k, p in r.retrieval.groupby("k", sort=True)}
        mine["counts"] = {"questions": int(r.systems["question_id"].nunique()),
                          "decisions": int((r.decisions["system"] == TUNED).sum())}
        out[r.name] = mine
    return out


def summary_rows(metrics: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows to print after a run: f0 (its better mode by decision accuracy) and f_theta per benchmark, keys as column titles.

    Parameters
    ----------
    metrics : dict
        The content of the report's metrics.json.
    """
    rows = []
    for benchmark, m in metrics.items():
        if TUNED not in m or "decision_accuracy" not in m.get("difference", {}):
            continue
        f0 = m["difference"]["decision_accuracy"]["baseline"]
        for system in (f0, TUNED):
            row = {"benchmark": benchmark, "system": system.replace("_", " ", 1) if system != TUNED else TUNED}
            for key, title in (("decision_accuracy", "decision accuracy"), ("gold_recall", "gold recall"), ("pruned", "pruned"),
                               ("kept_share", "kept tokens")):
                value = m[system].get(key)
                text = "-" if value is None else f"{value:.1%}"
                if key == "kept_share" and "kept_tokens" in m[system]:
                    text = f"{m[system]['kept_tokens']:.0f} a question ({text})"
                if system == TUNED and key in m["difference"]:
                    d = m["difference"][key][f"to_{f0}"]
                    text += f"  {100 * d['value']:+.1f} [{100 * d['low']:+.1f}, {100 * d['high']:+.1f}]"
                row[title] = text
            rows.append(row)
    return rows
