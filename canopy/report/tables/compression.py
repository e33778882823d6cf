"""Compression alone: what each compressor keeps of the gold at which length, and at equal length.

No reader takes part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from canopy.answers.compression import CompressionFile
from canopy.answers.curves import CurvePoint, EqualTokens
from canopy.config import CORPUS_SCOPES, CorpusScope
from canopy.evaluation.systems import TUNED
from canopy.report.answered import Answered
from canopy.report.drawing import ANY_LEVEL, F0, F_THETA, FLAT, INK, SERIES, figure_of, file_name, percent_axis, svg_of
from canopy.report.model import Column, Figure, Row, Section, Table, section
from canopy.report.results import NOBODY
from canopy.report.values import judged
from canopy.scoring.bootstrap import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Measured = Literal["gold_recall", "answer_in_evidence"]
MEASURES: dict[_Measured, str] = {"gold_recall": "gold recall", "answer_in_evidence": "answer in evidence"}
# A line a compressor and scorer; those of f0 are left to the table.
_LINES: dict[tuple[str, str], tuple[str, str]] = {
    ("canopy", TUNED): (F_THETA, "D"), ("canopy-lookahead", TUNED): ("#35a7c4", "D"),
    ("flat-leaf", TUNED): (FLAT, "o"),
    ("any-level", TUNED): (ANY_LEVEL, "o"), ("near-best", TUNED): (SERIES[2], "s"),
    ("flat-share", TUNED): (SERIES[4], "v"),
    ("flat-all", TUNED): (SERIES[5], "^"), ("flat-leaf", "words"): (F0, "x"), ("whole", ""): (INK, "s"),
}
TEXT = ("Every compressor gets the same items, those retrieved for the question alone or the gold ones, and keeps "
        "regions of them; no "
        "reader takes part. Another compressor's curve over its sizes is read where it is as long as CANOPY's, so "
        "that both keep equally "
        "many tokens.")
NOTE = ("Paired bootstrap over questions; each resample has its own lengths and its own point on the other's curve. "
        "words: leaves scored "
        "by the question's words. Within its sizes, no: the other has no size that short or that long, so that it is "
        "mixed with nothing or "
        "with everything; judge it by its curve.")


def compression_section(answers: Sequence[Answered]) -> Section | None:
    """Curves and comparisons of every benchmark that has them; None if none has."""
    measured = [(a.name, a.compression) for a in answers if a.compression is not None and a.compression["curves"]]
    if not measured:
        return None
    tables, figures = [], []
    for corpus_scope in CORPUS_SCOPES:
        rows = [r for name, compression in measured for r in _rows(name, compression, corpus_scope)]
        if rows:
            tables.append(_table(corpus_scope, rows))
        for name, compression in measured:
            if any(c["corpus_scope"] == corpus_scope for c in compression["curves"]):
                figures.append(compression_figure(name, compression, corpus_scope))
    return section("compression", "Compression alone, at equal tokens", [TEXT], tables[:1], figures, folded=tables[1:],
                   headed=True)


def _rows(benchmark: str, compression: CompressionFile, corpus_scope: CorpusScope) -> list[Row]:
    """A row for each of CANOPY's rules and each other compressor, with both measures; f_theta's scores first."""
    rows: dict[tuple[str, str, str], Row] = {}
    for point in compression["equal_tokens"]:
        if point["corpus_scope"] == corpus_scope:
            key = (point["reference"], point["scorer"], point["compressor"])
            rows.setdefault(key, _row(benchmark, point))
            measure = point["measure"]
            rows[key][f"ours_{measure}"] = point["ours"]
            rows[key] |= judged(f"difference_{measure}", Interval(point["difference"], point["low"], point["high"]))
    order = [TUNED, "words"]
    keys = sorted(rows, key=lambda k: (k[0], order.index(k[1]) if k[1] in order else len(order)))
    return [rows[k] for k in keys]


def _row(benchmark: str, point: EqualTokens) -> Row:
    return {"benchmark": benchmark, "reference": point["reference"],
            "against": f"{point['compressor']}, {point['scorer']}",
            "tokens": point["tokens"], "reached": "" if point["reached"] else "no"}


def _table(corpus_scope: CorpusScope, rows: list[Row]) -> Table:
    columns = [Column("benchmark", "benchmark"), Column("reference", "CANOPY"),
               Column("against", "against, by the scores of"),
               Column("tokens", "tokens of both", "count"), Column("reached", "within its sizes")]
    for m, label in MEASURES.items():
        columns.append(Column(f"ours_{m}", f"{label} of CANOPY", "percent"))
        columns.append(Column(f"difference_{m}", f"{label}, less theirs", "points"))
    title = f"At equal tokens, {CORPUS_SCOPES[corpus_scope]}"
    about = {"read by": NOBODY, "corpus": CORPUS_SCOPES[corpus_scope]}
    return Table(f"compression-{corpus_scope}", title, columns, rows, NOTE, about)


def compression_figure(benchmark: str, compression: CompressionFile, corpus_scope: CorpusScope) -> Figure:
    """What each compressor keeps of the gold, and of the answers, against the tokens that it keeps."""
    curves: dict[tuple[str, str], list[CurvePoint]] = {}
    for c in compression["curves"]:
        if c["corpus_scope"] == corpus_scope and (c["compressor"], c["scorer"]) in _LINES:
            curves.setdefault((c["compressor"], c["scorer"]), []).append(c)
    name = file_name("compression", corpus_scope, benchmark)
    with figure_of(5.2, 6.4, nrows=2, ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (measure, label) in zip(grid[:, 0], MEASURES.items(), strict=True):
            _draw_curves(ax, curves, measure)
            percent_axis(ax.yaxis)
            ax.set_title(label)
        grid[-1, 0].set_xlabel("tokens kept a question")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        caption = "what is kept by length; f_theta's scores unless said, bands are 95% intervals."
        return Figure(name, f"{benchmark}, {CORPUS_SCOPES[corpus_scope]}:", caption, svg_of(figure, name))


def _points(curve: Sequence[CurvePoint], measure: _Measured) -> list[tuple[float, float, float, float]]:
    """Tokens, value and the ends of its interval, by tokens, of the points at which the measure is defined."""
    points = []
    for p in curve:
        if measure == "gold_recall":
            value, low, high = p["gold_recall"], p["gold_recall_low"], p["gold_recall_high"]
        else:
            value, low, high = p["answer_in_evidence"], p["answer_in_evidence_low"], p["answer_in_evidence_high"]
        tokens = p["tokens"]
        if tokens is not None and value is not None and low is not None and high is not None:
            points.append((tokens, value, low, high))
    return sorted(points, key=lambda p: p[0])


def _draw_curves(ax: Axes, curves: Mapping[tuple[str, str], Sequence[CurvePoint]], measure: _Measured) -> None:
    for key, (color, marker) in _LINES.items():
        points = _points(curves.get(key, ()), measure)
        if not points:
            continue
        x, y, low, high = (list(column) for column in zip(*points, strict=True))
        label = f"{key[0]}{', by words' if key[1] == 'words' else ''}"
        ax.fill_between(x, low, high, color=color, alpha=0.1, linewidth=0)
        ax.plot(x, y, marker=marker, color=color, linewidth=1.4, markersize=7 if len(points) == 1 else 4, label=label,
                zorder=4 if key[0].startswith("canopy") else 2)
        if len(points) == 1:
            ax.plot([x[0]] * 2, [low[0], high[0]], color=color, linewidth=1.2)
