"""Writes the starter benchmark's figures and the table that quotes them (`make figures`)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
METRICS = ROOT / "data" / "report" / "metrics.json"
FIGURES = ROOT / "docs" / "figures" / "starter.json"
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
MEASURES = {"decision_accuracy": "decision accuracy", "gold_recall": "gold recall", "kept_share": "kept tokens",
            "pruned": "pruned"}
_TABLE = re.compile(r"(<!-- figures: starter -->\n).*?(<!-- end of figures -->)", re.S)


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
    head = f"starter benchmark, {figures['questions']} test questions (small text encoder, no language model)"
    return "\n".join((
        f"| {head} | {' | '.join(MEASURES.values())} |",
        "|---|" + "--:|" * len(MEASURES),
        f"| f0, the frozen encoder | {percent(figures['f0'])} |",
        f"| f_theta, tuned | {percent(figures['f_theta'])} |",
        f"| difference [95% CI] | {' | '.join(intervals)} |", ""))


def main() -> int:
    """Write the figures and the tables that quote them."""
    figures = read_figures(METRICS)
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")
    for page in PAGES:
        text = page.read_text("utf-8")
        page.write_text(_TABLE.sub(lambda m: f"{m[1]}{write_table(figures)}{m[2]}", text), "utf-8")
    print(f"written: {FIGURES.relative_to(ROOT)} and the tables of {', '.join(p.name for p in PAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
