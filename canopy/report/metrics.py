"""The report's metrics for DVC, and rows of them to print after a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.evaluation.comparison import Comparison
from canopy.evaluation.systems import TUNED
from canopy.gold.kinds import GoldKinds
from canopy.report.groups import View
from canopy.report.provenance import Provenance
from canopy.report.results import Results, Settings, Values, compare_measures, recall_depths, system_values
from canopy.report.systems_table import KEPT
from canopy.report.tables.figure_8_decisions import DecisionCell
from canopy.scoring.bootstrap import Interval

Metrics = dict[str, "Metrics | float | str"]  # names to values, nested
_PRINTED = (("decision_accuracy", "decision accuracy"), ("gold_recall", "gold recall"), ("pruned", "pruned"),
            ("kept_share", "kept tokens"))


def build_metrics(results: Sequence[Results], values: Mapping[str, Values],
                  comparisons: Mapping[str, Mapping[str, Comparison]],
                  cells: Sequence[DecisionCell]) -> Metrics:
    """Benchmark to system to measure, with differences, decisions by cell, retrieval and counts beside them."""
    return {r.name: _metrics_of(r, values[r.name], comparisons[r.name], [c for c in cells if c.benchmark == r.name])
            for r in results}


def _metrics_of(r: Results, values: Values, comparisons: Mapping[str, Comparison],
                cells: Sequence[DecisionCell]) -> Metrics:
    metrics: Metrics = {n: {k: round(i.estimate, 6) for k, i in v.items()} for n, v in values.items()}
    differences: Metrics = {}
    for key, c in comparisons.items():
        to_each: Metrics = {f"to_{b}": _rounded(i) for b, i in c.against.items()}
        differences[key] = {"baseline": c.baseline, **_rounded(c.difference), **to_each}
    metrics["difference"] = differences
    decisions: dict[str, Metrics] = {}
    for cell in cells:
        decisions.setdefault(cell.modality, {})[cell.kind] = {
            "baseline": cell.baseline, "n": cell.decisions, "f0": round(cell.f0.estimate, 6),
            TUNED: round(cell.tuned.estimate, 6),
            "difference": _rounded(cell.difference)}
    if decisions:
        metrics["decisions"] = {**decisions}
    recalls = {k: r.retrieval[r.retrieval["k"] == k]["recall"] for k in recall_depths(r)}
    metrics["retrieval"] = {f"recall_at_{k}": round(float(recall.mean()), 6) for k, recall in recalls.items()}
    metrics["counts"] = {"questions": r.questions, "decisions": r.decided}
    return metrics


def with_all_gold(r: Results, settings: Settings) -> Metrics:
    """f_theta's measures and their differences to f0 over all questions, those with pseudo-gold among them."""
    values, comparisons = system_values(r, settings), compare_measures(r, settings)
    return {"questions": r.questions, TUNED: {k: round(i.estimate, 6) for k, i in values[TUNED].items()},
            "difference": {k: {"baseline": c.baseline, **_rounded(c.difference)} for k, c in comparisons.items()}}


def about_metrics(benchmark: str, provenance: Provenance, corpus: Sequence[str]) -> Metrics:
    """What a benchmark's figures come from: who read, whether a language model took part, its gold, the corpus."""
    kinds = provenance.gold.get(benchmark, GoldKinds())
    counted = "annotated alone" if kinds.is_annotated_alone or not kinds.pseudo else \
        "annotated and pseudo" if kinds.annotated else "pseudo alone"
    return {"llm_free": provenance.llm_free, "read_by": "; ".join(provenance.readers) or "nobody",
            "gold": {**kinds.counts(), "figures_count": counted},
            "retrieval_corpus": f"unified: items of {', '.join(corpus)}"}


def _rounded(interval: Interval) -> Metrics:
    return {"value": round(interval.estimate, 6), "low": round(interval.low, 6), "high": round(interval.high, 6)}


def answer_metrics(views: Sequence[View]) -> Metrics:
    """Benchmark to corpus to system to measure, of the first reader: the main table's systems and the oracles."""
    metrics: dict[str, Metrics] = {}
    for view in (v for v in views if not v.suffix):
        for group in view.groups:
            members = {s["name"] for s in group.answered.systems if s["oracle"] or s["family"] == "main"}
            systems: Metrics = {}
            for name in (n for n in group.names if not n[1] and n[0] in members):
                values = {m: group.value(name, m) for m in (*group.answered.primary, *KEPT, "tokens")}
                systems[name[0]] = {m: round(v.estimate, 6) for m, v in values.items() if v is not None}
            metrics.setdefault(group.answered.name, {})[view.corpus_scope] = systems
    return {**metrics}


def summary_rows(results: Sequence[Results], values: Mapping[str, Values],
                 comparisons: Mapping[str, Mapping[str, Comparison]]) -> list[dict[str, str]]:
    """Rows to print after a run, keys as column titles: f0 in its mode of better decisions, and f_theta."""
    rows = []
    for r in results:
        if "decision_accuracy" not in comparisons[r.name]:
            continue
        f0 = comparisons[r.name]["decision_accuracy"].baseline
        for system in (f0, TUNED):
            row = {"benchmark": r.name, "system": system, **({"gold": r.gold.describe()} if r.gold.pseudo else {})}
            for key, title in _PRINTED:
                row[title] = _printed(values[r.name][system], key)
                if system == TUNED and key in comparisons[r.name]:
                    d = comparisons[r.name][key].against[f0]
                    row[title] += f"  {100 * d.estimate:+.1f} [{100 * d.low:+.1f}, {100 * d.high:+.1f}]"
            rows.append(row)
    return rows


def _printed(values: Mapping[str, Interval], key: str) -> str:
    text = f"{values[key].estimate:.1%}" if key in values else "-"
    if key == "kept_share" and "kept_tokens" in values:
        return f"{values['kept_tokens'].estimate:.0f} a question ({text})"
    return text
