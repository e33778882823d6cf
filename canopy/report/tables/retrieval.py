"""Retrieval of whole items by f0, over the corpus of all configured benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from canopy.report.drawing import SERIES, figure_of, percent_axis, svg_of
from canopy.report.model import Column, Figure, Row, Section, Table, section
from canopy.report.results import NOBODY, Results, Settings, recall_depths
from canopy.scoring.bootstrap import Interval, ratio_intervals

TEXT = "Whole items by f0, over the corpus of all configured benchmarks together."
_Points = dict[str, list[tuple[int, Interval]]]  # benchmark to (k, recall at k)


def retrieval_table(results: Sequence[Results], settings: Settings, corpus: Sequence[str]) -> Table:
    """Recall of gold items at k; ``corpus`` names the benchmarks whose items are searched."""
    rows: list[Row] = []
    for r in results:
        for k in recall_depths(r):
            part = r.retrieval[r.retrieval["k"] == k]
            recall = part["recall"].to_numpy(dtype=np.float64)
            interval = ratio_intervals([(recall, np.ones(len(recall)))], *settings.arguments)[0]
            rows.append({"benchmark": r.name, "k": k, "recall": interval, "questions": len(part)})
    columns = [Column("benchmark", "benchmark"), Column("k", "k", "count"), Column("recall", "recall", "percent"),
               Column("questions", "questions", "count")]
    about = {"read by": NOBODY, "corpus scope": "unified", "corpus": f"items of {', '.join(corpus)}"}
    return Table("retrieval", "Recall of gold items at k", columns, rows, "", about)


def retrieval_section(results: Sequence[Results], settings: Settings, corpus: Sequence[str]) -> Section:
    """The table and its figure."""
    table = retrieval_table(results, settings, corpus)
    points: _Points = {}
    for row in table.rows:
        k, recall = row["k"], row["recall"]
        if isinstance(k, int) and isinstance(recall, Interval):
            points.setdefault(str(row["benchmark"]), []).append((k, recall))
    figures = [Figure("retrieval", "", f"Recall of gold items at k, among the items of {', '.join(corpus)}; 95% "
                      "band.",
                      retrieval_plot(points))] if points else []
    return section("retrieval", "Retrieval", [TEXT], [table], figures)


def retrieval_plot(points: _Points) -> str:
    """Recall of gold items at k, with intervals, a line a benchmark."""
    with figure_of(5.2, 3.0) as (figure, ax):
        for n, (benchmark, recalls) in enumerate(points.items()):
            k, color = [k for k, _ in recalls], SERIES[n % len(SERIES)]
            ax.fill_between(k, [r.low for _, r in recalls], [r.high for _, r in recalls], color=color, alpha=0.18,
                            linewidth=0)
            ax.plot(k, [r.estimate for _, r in recalls], "o-", color=color, linewidth=2, markersize=5, label=benchmark)
        ax.set_xticks(sorted({k for recalls in points.values() for k, _ in recalls}))
        ax.set_ylim(0, 1.02)
        percent_axis(ax.yaxis)
        ax.set_xlabel("items retrieved (k)")
        ax.set_ylabel("recall of gold items")
        figure.legend(loc="outside upper right", ncols=3)
        return svg_of(figure, "retrieval")
