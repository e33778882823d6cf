"""Writes the figures that the documents quote, and the tables that quote them.

``make figures`` writes the starter benchmark's, from the outputs of `make demo`; ``make figures-slices WORKSPACE=DIR``
writes those of release files, from a workspace's report.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
METRICS = ROOT / "data" / "report" / "metrics.json"
FIGURES = ROOT / "docs" / "figures" / "starter.json"
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
MEASURES = {"decision_accuracy": "decision accuracy", "gold_recall": "gold recall", "kept_share": "kept tokens",
            "pruned": "pruned"}
SLICES = ROOT / "docs" / "figures" / "slices.json"
RESULTS = ROOT / "docs" / "results.md"
UNMEASURED = ("Not measured since the split became one over all benchmarks: figures of earlier splits were taken out. "
              "`make figures-slices WORKSPACE=DIR` writes them here.\n")
_ANSWERED = ("gold_recall", "tokens", "difference", "difference_gold_recall", "change_tokens")


def read_figures(metrics: Path) -> dict[str, Any]:
    """The figures that the documents quote: f0 in the better of its two modes, f_theta, and their differences.

    Raises
    ------
    SystemExit
        If the report has not been made.
    """
    if not metrics.is_file():
        raise SystemExit(f"{metrics}: no such file; `make demo` makes it")
    starter = json.loads(metrics.read_text("utf-8"))["starter"]
    baseline = starter["difference"]["decision_accuracy"]["baseline"]
    differences = {m: starter["difference"][m][f"to_{baseline}"] for m in MEASURES}
    return {"questions": starter["counts"]["questions"], "baseline": baseline,
            "f0": {m: starter[baseline][m] for m in MEASURES}, "f_theta": {m: starter["f_theta"][m] for m in MEASURES},
            "difference": {m: [d["value"], d["low"], d["high"]] for m, d in differences.items()}}


def write_table(figures: dict[str, Any]) -> str:
    """The table of the documents, in Markdown."""
    def percent(values: dict[str, float]) -> str:
        return " | ".join(f"{100 * values[m]:.1f}%" for m in MEASURES)

    intervals = ("{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * v for v in figures["difference"][m])) for m in MEASURES)
    head = f"starter benchmark, {figures['questions']} test questions (small text encoder, LLM-free: no language model)"
    return "\n".join((
        f"| {head} | {' | '.join(MEASURES.values())} |",
        "|---|" + "--:|" * len(MEASURES),
        f"| f0, the frozen encoder | {percent(figures['f0'])} |",
        f"| f_theta, tuned | {percent(figures['f_theta'])} |",
        f"| difference [95% CI] | {' | '.join(intervals)} |", ""))


def read_slices(workspace: Path) -> dict[str, Any]:
    """The figures of a workspace's report over release files, and what they are of.

    Raises
    ------
    SystemExit
        If the report has not been made, or answers are missing.
    """
    report = workspace / "data" / "report"
    try:
        metrics = json.loads((report / "metrics.json").read_text("utf-8"))
        with open(report / "tables" / "main-unified.csv", encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
    except OSError as e:
        raise SystemExit(f"{e.filename}: no such file; `canopy run` and `canopy evaluate` make the report") from None
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.strip()
    benchmarks: dict[str, Any] = {}
    for name, of in metrics.items():
        d = of["difference"]["decision_accuracy"]
        systems = {r["system"]: r for r in rows if r["benchmark"] == name}
        benchmarks[name] = {
            "questions": of["counts"]["questions"], "decisions": of["counts"]["decisions"], "about": of["about"],
            "tuning": {"f0": of[d["baseline"]]["decision_accuracy"], "f_theta": of["f_theta"]["decision_accuracy"],
                       "difference": [d["value"], d["low"], d["high"]]},
            "vanilla": {k: _number(systems["vanilla"], k) for k in ("gold_recall", "tokens")},
            "canopy": {k: [_number(systems["canopy"], f"{k}{end}") for end in ("", "_low", "_high")]
                       for k in _ANSWERED}}
    return {"commit": commit, "benchmarks": benchmarks}


def _number(row: dict[str, str], key: str) -> float | None:
    value = row.get(key, "")
    return float(value) if value else None


def write_slices(figures: dict[str, Any] | None) -> str:
    """The tables of release files, in Markdown; a sentence if they were not measured."""
    if figures is None:
        return UNMEASURED

    def points(values: list[float | None]) -> str:
        return "–" if None in values else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * float(v or 0) for v in values))

    def share(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.1f}%"

    def count(value: float | None) -> str:
        return "–" if value is None else f"{value:,.0f}"

    lines = [f"Measured with commit {figures['commit']}, which also names the split. LLM-free: no language model took "
             "part.", "",
             "| tuning, decision accuracy | test questions | pseudo-gold | f0 | f_theta | difference [95% CI] |",
             "|---|--:|--:|--:|--:|--:|"]
    for name, b in figures["benchmarks"].items():
        gold = b["about"]["gold"]
        lines.append(f"| {name} ({b['decisions']:,.0f} decisions) | {b['questions']:,.0f} | "
                     f"{share(gold['pseudo_gold_share'])}, {gold['figures_count']} counted | "
                     f"{share(b['tuning']['f0'])} | {share(b['tuning']['f_theta'])} | "
                     f"{points(b['tuning']['difference'])} |")
    lines += ["", "| unified corpus | gold recall, whole items -> CANOPY | difference [95% CI] | tokens a question | "
                  "official measure, difference |", "|---|--:|--:|--:|--:|"]
    for name, b in figures["benchmarks"].items():
        whole, ours = b["vanilla"], b["canopy"]
        lines.append(f"| {name} | {share(whole['gold_recall'])} -> {share(ours['gold_recall'][0])} | "
                     f"{points(ours['difference_gold_recall'])} | {count(whole['tokens'])} -> "
                     f"{count(ours['tokens'][0])} | {points(ours['difference'])} |")
    return "\n".join([*lines, ""])


def replace_block(page: Path, name: str, table: str) -> None:
    """Put a table between a page's markers."""
    block = re.compile(rf"(<!-- figures: {name} -->\n).*?(<!-- end of figures -->)", re.S)
    page.write_text(block.sub(lambda m: f"{m[1]}{table}{m[2]}", page.read_text("utf-8")), "utf-8")


def main(arguments: list[str]) -> int:
    """Write the figures and the tables that quote them."""
    if arguments[:1] == ["slices"] and len(arguments) == 2:
        path, pages, name, figures = SLICES, (RESULTS,), "slices", read_slices(Path(arguments[1]))
        table = write_slices(figures)
    elif not arguments:
        path, pages, name, figures = FIGURES, PAGES, "starter", read_figures(METRICS)
        table = write_table(figures)
    else:
        raise SystemExit("usage: python docs/figures.py [slices WORKSPACE]")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")
    for page in pages:
        replace_block(page, name, table)
    print(f"written: {path.relative_to(ROOT)} and the tables of {', '.join(p.name for p in pages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
