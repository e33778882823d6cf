"""What was not run, and why; and which of the paper's tables and figures the run leaves empty, and what would fill
them."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.answered import Answered
from canopy.report.model import Column, Row, Section, Table, section
from canopy.report.paper import BENCHMARKS, OUT_OF_DOMAIN, TITLES

# The part of the report that answers to a table or figure, and what would make it if it is missing.
_RUN = "run `canopy evaluate`"
_SENSITIVITY = ("set answers.sweep_k and answers.sweep_rounds, for example to [5, 10, 20] and [1, 2, 3], and run "
                "`canopy evaluate`")
_BRANCHING = ("set store.branchings, for example to [3, 4], and run `canopy evaluate`; `canopy sweep "
              "hierarchy.branching=2,3,4` trains for "
              "every B too")
PARTS: dict[str, tuple[str, str]] = {
    "Table 1": ("main", _RUN),
    "Figure 2": ("main", _RUN),
    "Table 2": ("components", _RUN),
    "Table 3": ("sensitivity", _SENSITIVITY),
    "Table 6": ("aks", "add a benchmark with videos, and run `canopy evaluate`"),
    "Table 7": ("compressors", _RUN),
    "Figure 4": ("compressors", _RUN),
    "Table 8": ("routed", _RUN),
    "Table 9": ("branching", _BRANCHING),
    "Table 10": ("by-k", "set answers.sweep_k, for example to [5, 10, 20], and run `canopy evaluate`"),
    "Table 12": ("out-of-domain", "add one of the benchmarks"),
    "Figure 5": ("selection", "add gold to answers.corpus_scopes"),
    "Figure 7": ("flat-m", _RUN),
    "Figure 9": ("decided", _RUN),
    "Table 13": ("case-1", _RUN),
    "Table 14": ("case-2", _RUN),
}
_MISSING = ("not among this run's benchmarks: `canopy data fetch` says how to get each, `canopy evaluate --data DIR "
            "--benchmarks LIST` "
            "runs it")


def missing_table(answers: Sequence[Answered]) -> Table:
    """Every system that did not run somewhere, where, and what it lacks."""
    rows: dict[tuple[str, str], Row] = {}
    benchmarks: dict[tuple[str, str], list[str]] = {}
    for a in answers:
        for s in a.systems:
            absent = [r["label"] for r in a.readers if r["name"] not in s["readers"]]
            why = "; ".join(s["why_not"]) or (f"not with {', '.join(absent)}" if absent else "")
            if s["ran"] and not why:
                continue
            key = (s["name"], why)
            benchmarks.setdefault(key, []).append(a.name)
            rows[key] = {"system": s["name"], "says": s["says"], "row": s["paper"],
                         "benchmarks": ", ".join(benchmarks[key]),
                         "why": why or "no reason was given"}
    columns = [Column("system", "system"), Column("says", "what it is"), Column("row", "its row in the paper"),
               Column("benchmarks", "benchmarks"), Column("why", "why, and what to do")]
    note = "A system that cannot run is left out; nothing else ever stands in its row."
    return Table("not-run", "What was not run, and why", columns, list(rows.values()), note)


def unfilled_table(keys: Sequence[str], answers: Sequence[Answered]) -> Table:
    """What the paper has and this run has not.

    Parameters
    ----------
    keys : sequence of str
        The parts that the report has.
    """
    rows: list[Row] = [{"place": place, "what": TITLES[place], "why": why} for place, (part, why) in PARTS.items()
                       if part not in keys or (not answers and part == "main")]
    present = {a.paper_name for a in answers}
    for place, names in (("Table 1", BENCHMARKS), ("Table 12", OUT_OF_DOMAIN)):
        missing = [name for name in names if name not in present]
        if missing and (len(missing) < len(names) or place == "Table 1"):
            rows.append({"place": place, "what": f"benchmarks of it: {', '.join(missing)}", "why": _MISSING})
    columns = [Column("place", "the paper's"), Column("what", "what"), Column("why", "what would fill it")]
    return Table("unfilled", "The paper's tables and figures that this run leaves empty", columns, rows)


def not_run_section(answers: Sequence[Answered], keys: Sequence[str]) -> Section:
    """Both tables; ``keys`` are the parts that the report has."""
    tables = [t for t in (missing_table(answers), unfilled_table(keys, answers)) if t.rows]
    return section("not-run", "What was not run, and why", [] if tables else ["Everything was run."], tables,
                   headed=True)
