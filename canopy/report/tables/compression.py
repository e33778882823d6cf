"""Compression alone: what each compressor keeps of the gold at which length, and at equal length; no reader takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from canopy.config import CORPUS_SCOPES
from canopy.report.answered import Answered, Curve, EqualTokens
from canopy.report.drawing import ANY_LEVEL, F0, F_THETA, FLAT, INK, SERIES, figure_of, file_name, percent_axis, svg_of
from canopy.report.model import Column, Figure, Row, Section, Table, section
from canopy.report.values import judged
from canopy.scoring.bootstrap import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOBODY = "nobody: no answer is read"
_Measured = Literal["gold_recall", "answer_in_evidence"]
MEASURES: dict[_Measured, str] = {"gold_recall": "gold recall", "answer_in_evidence": "answer in evidence"}
_TUNED = "f_theta"
# A line a compressor and scorer; those of f0 are left to the table.
_LINES: dict[tuple[str, str], tuple[str, str]] = {
    ("canopy", _TUNED): (F_THETA, "D"), ("canopy-lookahead", _TUNED): ("#35a7c4", "D"), ("flat-leaf", _TUNED): (FLAT, "o"),
    ("any-level", _TUNED): (ANY_LEVEL, "o"), ("near-best", _TUNED): (SERIES[2], "s"), ("flat-share", _TUNED): (SERIES[4], "v"),
    ("flat-all", _TUNED): (SERIES[5], "^"), ("flat-leaf", "words"): (F0, "x"), ("whole", ""): (INK, "s"),
}
TEXT = ("Every compressor gets the same items, those retrieved for the question alone or the annotated ones, and keeps regions of them; no "
        "reader takes part. Another compressor's curve over its sizes is read where it is as long as CANOPY's, so that both keep equally "
        "many tokens.")
NOTE = ("Paired bootstrap over questions; each resample has its own lengths and its own point on the other's curve. words: leaves scored "
        "by the question's words. Within its sizes, no: the other has no size that short or that long, so that it is mixed with nothing or "
        "with everything; judge it by its curve.")


def compression_section(answers: Sequence[Answered]) -> Section | None:
    """Curves and comparisons of every benchmark that has them; None if none has."""
    measured = [a for a in answers if a.compression.get("curves")]
    if not measured:
        return None
    tables, figures = [], []
    for corpus_scope in CORPUS_SCOPES:
        rows = [r for a in measured for r in _rows(a, corpus_scope)]
        if rows:
            tables.append(_table(corpus_scope, rows))
        for answered in measured:
            if any(c["corpus_scope"] == corpus_scope for c in answered.compression["curves"]):
                figures.append(_figure(answered, corpus_scope))
    return section("compression", "Compression alone, at equal tokens", [TEXT], tables[:1], figures, folded=tables[1:], headed=True)


def _rows(answered: Answered, corpus_scope: str) -> list[Row]:
    """A row for each of CANOPY's rules and each other compressor, with both measures; f_theta's scores first."""
    rows: dict[tuple[str, str, str], Row] = {}
    for point in answered.compression.get("equal_tokens", ()):
        if point["corpus_scope"] == corpus_scope:
            key = (point["reference"], point["scorer"], point["compressor"])
            rows.setdefault(key, _row(answered.name, point))
            measure = point["measure"]
            rows[key][f"ours_{measure}"] = point["ours"]
            rows[key] |= judged(f"difference_{measure}", Interval(point["difference"], point["low"], point["high"]))
    order = [_TUNED, "words"]
    keys = sorted(rows, key=lambda k: (k[0], order.index(k[1]) if k[1] in order else len(order)))
    return [rows[k] for k in keys]


def _row(benchmark: str, point: EqualTokens) -> Row:
    return {"benchmark": benchmark, "reference": point["reference"], "against": f"{point['compressor']}, {point['scorer']}",
            "tokens": point["tokens"], "reached": "" if point["reached"] else "no"}


def _table(corpus_scope: str, rows: list[Row]) -> Table:
    columns = [Column("benchmark", "benchmark"), Column("reference", "CANOPY"), Column("against", "against, by the scores of"),
               Column("tokens", "tokens of both", "count"), Column("reached", "within its sizes")]
    for m, label in MEASURES.items():
        columns.append(Column(f"ours_{m}", f"{label} of CANOPY", "percent"))
        columns.append(Column(f"difference_{m}", f"{label}, less theirs", "points"))
    title = f"At equal tokens, {CORPUS_SCOPES[corpus_scope]}"
    about = {"read by": NOBODY, "corpus": CORPUS_SCOPES[corpus_scope]}
    return Table(f"compression-{corpus_scope}", title, columns, rows, NOTE, about)


def _figure(answered: Answered, corpus_scope: str) -> Figure:
    curves: dict[tuple[str, str], list[Curve]] = {}
    for c in answered.compression["curves"]:
        if c["corpus_scope"] == corpus_scope and (c["compressor"], c["scorer"]) in _LINES:
            curves.setdefault((c["compressor"], c["scorer"]), []).append(c)
    name = file_name("compression", corpus_scope, answered.name)
    with figure_of(5.2, 6.4, nrows=2, ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (measure, label) in zip(grid[:, 0], MEASURES.items(), strict=True):
            _draw_curves(ax, curves, measure)
            percent_axis(ax.yaxis)
            ax.set_title(label)
        grid[-1, 0].set_xlabel("tokens kept a question")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        caption = "what is kept by length; f_theta's scores unless said, bands are 95% intervals."
        return Figure(name, f"{answered.name}, {CORPUS_SCOPES[corpus_scope]}:", caption, svg_of(figure, name))


def _ends(measure: _Measured) -> tuple[Literal["gold_recall_low", "answer_in_evidence_low"],
                                       Literal["gold_recall_high", "answer_in_evidence_high"]]:
    """The keys of a measure's interval in a curve's point."""
    if measure == "gold_recall":
        return "gold_recall_low", "gold_recall_high"
    return "answer_in_evidence_low", "answer_in_evidence_high"


def _draw_curves(ax: Axes, curves: Mapping[tuple[str, str], Sequence[Curve]], measure: _Measured) -> None:
    low, high = _ends(measure)
    for key, (color, marker) in _LINES.items():
        points = [p for p in curves.get(key, ()) if p[measure] is not None and p["tokens"] is not None]
        points.sort(key=lambda p: p["tokens"] or 0.0)
        if not points:
            continue
        x, y = [p["tokens"] for p in points], [p[measure] for p in points]
        label = f"{key[0]}{', by words' if key[1] == 'words' else ''}"
        ax.fill_between(x, [p[low] for p in points], [p[high] for p in points], color=color, alpha=0.1, linewidth=0)
        ax.plot(x, y, marker=marker, color=color, linewidth=1.4, markersize=7 if len(points) == 1 else 4, label=label,
                zorder=4 if key[0].startswith("canopy") else 2)
        if len(points) == 1:
            ax.plot([x[0]] * 2, [points[0][low], points[0][high]], color=color, linewidth=1.2)
