"""Which of the paper's tables and figures this run has nothing to set beside, and what would fill them."""

from __future__ import annotations

from collections.abc import Sequence

from canopy.report.answered import Answered
from canopy.report.paper import BENCHMARKS, OUT_OF_DOMAIN, TITLES
from canopy.report.tables import Column, Table

# The part of the report that answers to a table or figure, and what would make it where it is missing.
_RUN = "run `canopy evaluate`"
PARTS: dict[str, tuple[str, str]] = {
    "Table 1": ("main", _RUN), "Figure 2": ("main", _RUN), "Table 2": ("components", _RUN),
    "Table 3": ("sensitivity", "set answers.sweep_k and answers.sweep_rounds, for example to [5, 10, 20] and [1, 2, 3], and run `canopy evaluate`"),
    "Table 6": ("aks", "add a benchmark with videos, and run `canopy evaluate`"), "Table 7": ("compressors", _RUN), "Figure 4": ("compressors", _RUN),
    "Table 8": ("routed", _RUN),
    "Table 9": ("branching", "set store.branchings, for example to [3, 4], and run `canopy evaluate`; `canopy sweep hierarchy.branching=2,3,4` trains for every B too"),
    "Table 10": ("by-k", "set answers.sweep_k, for example to [5, 10, 20], and run `canopy evaluate`"),
    "Table 12": ("out-of-domain", "add one of the benchmarks"), "Figure 5": ("selection", "add gold to answers.corpus_scopes"), "Figure 7": ("flat-m", _RUN),
    "Figure 9": ("decided", _RUN), "Table 13": ("case-1", _RUN), "Table 14": ("case-2", _RUN),
}


def unfilled_table(keys: Sequence[str], answers: Sequence[Answered]) -> Table:
    """What the paper has and this run has not.

    Parameters
    ----------
    keys : sequence of str
        The parts that the report has.
    """
    rows = [{"place": place, "what": TITLES[place], "why": why} for place, (part, why) in PARTS.items() if part not in keys or (not answers and part == "main")]
    there = {a.paper_name for a in answers}
    for place, named in (("Table 1", BENCHMARKS), ("Table 12", OUT_OF_DOMAIN)):
        missing = [name for name in named if name not in there]
        if missing and (len(missing) < len(named) or place == "Table 1"):
            rows.append({"place": place, "what": f"benchmarks of it: {', '.join(missing)}", "why": "not among this run's benchmarks: `canopy data fetch` says how to get each, "
                                                                                                "`canopy evaluate --data DIR --benchmarks LIST` runs it"})
    return Table("unfilled", "The paper's tables and figures that this run leaves empty", [Column("place", "the paper's"), Column("what", "what"), Column("why", "what would fill it")], rows)
