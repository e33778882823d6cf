"""Table 4: the encoder, f0 in its modes against f_theta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canopy.evaluation.comparison import Comparison
from canopy.evaluation.systems import TUNED
from canopy.report.model import PERCENT, Column, Row, Section, Table, section
from canopy.report.paper import find_published
from canopy.report.quotations import quote
from canopy.report.results import ABOUT, Results, Values
from canopy.report.values import judged
from canopy.scoring.measure import EVALUATION, measures_of

PLACES = ("Table 4",)
TEXT = "All on the same gold items of the same test questions."
NOTE = ("Brackets: 95% interval, paired bootstrap over questions. The difference is to the better f0 mode of that row.")


def quality_table(results: Sequence[Results], values: Mapping[str, Values],
                  comparisons: Mapping[str, Mapping[str, Comparison]]) -> Table:
    """A row a benchmark and measure: f0 in its modes, f_theta, and the difference to the better mode.

    The paper's beside them.
    """
    measures = measures_of(EVALUATION)
    rows: list[Row] = []
    for r in results:
        for key, c in comparisons[r.name].items():
            m = measures[key]
            modes: Row = {b: values[r.name][b].get(key) for b in r.frozen}
            row: Row = {"benchmark": r.name, "measure": m.label, **modes, TUNED: values[r.name][TUNED].get(key),
                        "baseline": c.baseline, **judged("difference", c.difference, m.higher_is_better),
                        PERCENT: m.percent}
            if key == "decision_accuracy":
                row |= {f"paper_{s}": v for s in ("f0", TUNED)
                        if (v := find_published(PLACES, r.paper_name, s).get(key)) is not None}
            rows.append(row)
    modes_of_all = dict.fromkeys(b for r in results for b in r.frozen)
    columns = [Column("benchmark", "benchmark"), Column("measure", "measure"),
               *(Column(b, b, "auto") for b in modes_of_all),
               Column(TUNED, TUNED, "auto"), Column("difference", "difference", "auto_points"),
               Column("baseline", "against")]
    if any("paper_f0" in r for r in rows):
        columns += [Column("paper_f0", "the paper: f0", "percent"),
                    Column("paper_f_theta", "the paper: f_theta", "percent")]
    return Table("quality", "f0 against f_theta", columns, rows, NOTE, ABOUT)


def quality_section(results: Sequence[Results], values: Mapping[str, Values],
                    comparisons: Mapping[str, Mapping[str, Comparison]]) -> Section:
    """Table 4."""
    table = quality_table(results, values, comparisons)
    return section("quality", "The encoder: f0 against f_theta", [TEXT], [table], places=PLACES,
                   quotation=quote(*PLACES))
