"""Figure 8: decision accuracy by modality and kind of decision, with its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from canopy.evaluation.comparison import compare
from canopy.evaluation.systems import TUNED
from canopy.report.drawing import F0, F_THETA, GRID, figure_of, percent_axis, svg_of
from canopy.report.model import PERCENT, Column, Figure, Row, Section, Table, section
from canopy.report.quotations import quote
from canopy.report.results import ABOUT, Results, Settings
from canopy.report.values import judged
from canopy.scoring.bootstrap import Interval, ratio_intervals

PLACES = ("Figure 8",)
TEXT = ("Each inner node of a gold item that touches the gold asks for one of two things: to stop at it, or to descend "
        "into a part of it.")
NOTE = ("stop: the node is all gold and must beat its children. descend: gold lies in a part of it, and the children "
        "that hold gold must be "
        "explored and the others dropped. Nodes on which alternative annotations disagree count under all only.")


@dataclass(frozen=True, slots=True)
class DecisionCell:
    """Decision accuracy of one benchmark, modality and kind of decision: f_theta against the better f0 mode."""

    benchmark: str
    modality: str
    kind: str
    questions: int
    decisions: int
    f0: Interval
    tuned: Interval
    difference: Interval
    baseline: str


def decision_cells(results: Results, settings: Settings) -> list[DecisionCell]:
    """A cell a modality and kind, ``all`` of them first; f_theta against the better f0 mode of each cell."""
    cells = []
    modalities = sorted(set(results.decisions["modality"]))
    questions = list(dict.fromkeys(results.systems["question_id"]))
    for modality in (["all", *modalities] if len(modalities) > 1 else modalities):
        for kind in ("all", "stop", "descend"):
            d = results.decisions
            d = d[((d["modality"] == modality) | (modality == "all")) & ((d["kind"] == kind) | (kind == "all"))]
            if d.empty:
                continue
            pairs = {}
            for name in (TUNED, *results.frozen):
                by_question = d[d["system"] == name].groupby("question_id")["held"]
                per = by_question.agg(["sum", "count"]).reindex(questions, fill_value=0)
                pairs[name] = per["sum"].to_numpy(dtype="float64"), per["count"].to_numpy(dtype="float64")
            baselines = {b: pairs[b] for b in results.frozen}
            c = compare("decision_accuracy", pairs[TUNED], baselines, True, *settings.arguments)
            if c is None:
                continue
            f0 = ratio_intervals([pairs[c.baseline]], *settings.arguments)[0]
            count = pairs[TUNED][1]
            cells.append(DecisionCell(results.name, modality, kind, int((count > 0).sum()), int(count.sum()), f0,
                                      c.after,
                                      c.difference, c.baseline))
    return cells


def decisions_table(cells: Sequence[DecisionCell]) -> Table:
    """Decision accuracy by benchmark, modality and kind."""
    rows: list[Row] = [
        {"benchmark": c.benchmark, "modality": c.modality, "kind": c.kind, "f0": c.f0, TUNED: c.tuned,
         **judged("difference", c.difference), "baseline": c.baseline, "questions": c.questions,
         "decisions": c.decisions,
         PERCENT: True} for c in cells]
    columns = [Column("benchmark", "benchmark"), Column("modality", "modality"), Column("kind", "decision"),
               Column("f0", "f0", "percent"),
               Column(TUNED, TUNED, "percent"), Column("difference", "difference", "points"),
               Column("baseline", "against"),
               Column("questions", "questions", "count"), Column("decisions", "decisions", "count")]
    return Table("decisions", "Decision accuracy by modality and kind", columns, rows, NOTE, ABOUT)


def decisions_section(cells: Sequence[DecisionCell]) -> Section:
    """Figure 8 and its table."""
    caption = "Decision accuracy of f0 (grey) and f_theta (green)."
    figures = [Figure("decisions", "", caption, decision_plot(cells))] if cells else []
    return section("decisions", "Decisions", [TEXT], [decisions_table(cells)], figures, places=PLACES,
                   quotation=quote(*PLACES))


def decision_plot(cells: Sequence[DecisionCell]) -> str:
    """f0 and f_theta's decision accuracy with intervals, one line a benchmark, modality and kind of decision."""
    with figure_of(5.2, 0.9 + 0.36 * len(cells)) as (figure, ax):
        places: list[float] = []
        labels: list[str] = []
        y = 0.0
        group = None
        for c in cells:
            y += 0.5 if group is not None and group != (c.benchmark, c.modality) else 0.0
            group = (c.benchmark, c.modality)
            a, b = c.f0, c.tuned
            ax.plot([a.estimate, b.estimate], [y, y], color=GRID, linewidth=5, solid_capstyle="butt", zorder=1)
            for i, color, shift in ((a, F0, 0.14), (b, F_THETA, -0.14)):
                ax.plot([i.low, i.high], [y + shift, y + shift], color=color, linewidth=1.4, zorder=2)
                ax.plot([i.estimate], [y + shift], "o", color=color, markersize=6, zorder=3)
            modality = "" if c.modality == "all" else f" {c.modality}"
            labels.append(f"{c.benchmark}{modality} · {c.kind}")
            places.append(y)
            y += 1
        ax.set_yticks(places, labels)
        ax.set_ylim(y - 0.4, -0.7)
        ax.grid(axis="y", visible=False)
        percent_axis(ax.xaxis)
        ax.set_xlabel("decision accuracy, 95% interval")
        ax.plot([], [], "o-", color=F0, label="f0 (better mode)")
        ax.plot([], [], "o-", color=F_THETA, label="f_theta")
        figure.legend(loc="outside upper right", ncols=2)
        return svg_of(figure, "decisions")
