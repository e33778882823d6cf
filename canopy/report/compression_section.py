"""The report's part on compression alone: what each compressor keeps of the gold at which length, and at equal length; no reader takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from canopy.config import CORPUS_SCOPES
from canopy.report.answered import Answered
from canopy.report.drawing import (
    ANY_LEVEL,
    F0,
    F_THETA,
    FLAT,
    INK,
    SERIES,
    figure_of,
    file_name,
    percent_axis,
    svg_of,
)
from canopy.report.sections import Drawn, Section, section
from canopy.report.tables import Column, Table
from canopy.scoring.bootstrap import Interval

MEASURES = {"gold_recall": "gold recall", "answer_in_evidence": "answer in evidence"}
NOBODY = "nobody: no answer is read"
_TUNED = "f_theta"
# A line a compressor and scorer; those of f0 are left to the table.
_LINES: dict[tuple[str, str], tuple[str, str]] = {
    ("canopy", _TUNED): (F_THETA, "D"), ("canopy-lookahead", _TUNED): ("#35a7c4", "D"), ("flat-leaf", _TUNED): (FLAT, "o"), ("any-level", _TUNED): (ANY_LEVEL, "o"),
    ("near-best", _TUNED): (SERIES[2], "s"), ("flat-share", _TUNED): (SERIES[4], "v"), ("flat-all", _TUNED): (SERIES[5], "^"), ("flat-leaf", "words"): (F0, "x"),
    ("whole", ""): (INK, "s"),
}


def compression_section(answers: Sequence[Answered]) -> Section | None:
    """Curves and comparisons of every benchmark that has them; None where none has."""
    with_points = [a for a in answers if a.compression.get("curves")]
    if not with_points:
        return None
    tables, drawn = [], []
    for corpus_scope in CORPUS_SCOPES:
        rows = [r for a in with_points for r in _rows(a, corpus_scope)]
        if rows:
            tables.append(_table(corpus_scope, rows))
        drawn += [_figure(a, corpus_scope) for a in with_points if any(c["corpus_scope"] == corpus_scope for c in a.compression["curves"])]
    return section("compression", "Compression alone, at equal tokens", [
        "Every compressor gets the same items, those retrieved for the question alone or the annotated ones, and keeps regions of them; no reader takes part. Another "
        "compressor's curve over its sizes is read where it is as long as CANOPY's, so that both keep equally many tokens."], tables[:1], drawn, folded=tables[1:], headed=True)


def _rows(answered: Answered, corpus_scope: str) -> list[dict[str, Any]]:
    """A row for each of CANOPY's rules and each other compressor, with both measures; f_theta's scores first."""
    held: dict[tuple[str, ...], dict[str, Any]] = {}
    for r in answered.compression.get("equal_tokens", ()):
        if r["corpus_scope"] == corpus_scope:
            key = (r["reference"], r["scorer"], r["compressor"])
            row = held.setdefault(key, {"benchmark": answered.name, "reference": r["reference"], "against": f"{r['compressor']}, {r['scorer']}", "tokens": r["tokens"],
                                         "reached": "" if r["reached"] else "no"})
            difference = Interval(r["difference"], r["low"], r["high"])
            row |= {f"ours_{r['measure']}": r["ours"], f"difference_{r['measure']}": difference, f"_good_difference_{r['measure']}": difference.estimate > 0}
    order = [_TUNED, "words"]
    return [held[k] for k in sorted(held, key=lambda k: (k[0], order.index(k[1]) if k[1] in order else len(order)))]


def _table(corpus_scope: str, rows: list[dict[str, Any]]) -> Table:
    columns = [Column("benchmark", "benchmark"), Column("reference", "CANOPY"), Column("against", "against, by the scores of"), Column("tokens", "tokens of both", "count"),
               Column("reached", "within its sizes")]
    for m, label in MEASURES.items():
        columns += [Column(f"ours_{m}", f"{label} of CANOPY", "percent"), Column(f"difference_{m}", f"{label}, less theirs", "points")]
    return Table(f"compression-{corpus_scope}", f"At equal tokens, {CORPUS_SCOPES[corpus_scope]}", columns, rows,
                 "Paired bootstrap over questions; each resample has its own lengths and its own point on the other's curve. words: leaves scored by the question's words. "
                 "Within its sizes, no: the other has no size that short or that long, so that it is mixed with nothing or with everything; judge it by its curve.",
                 {"read by": NOBODY, "corpus": CORPUS_SCOPES[corpus_scope]})


def _figure(answered: Answered, corpus_scope: str) -> Drawn:
    held: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for c in answered.compression["curves"]:
        if c["corpus_scope"] == corpus_scope and (c["compressor"], c["scorer"]) in _LINES:
            held.setdefault((c["compressor"], c["scorer"]), []).append(c)
    name = file_name("compression", corpus_scope, answered.name)
    with figure_of(5.2, 6.4, nrows=2, ncols=1, sharex=True, squeeze=False) as (figure, grid):
        for ax, (measure, label) in zip(grid[:, 0], MEASURES.items(), strict=True):
            for key, (color, marker) in _LINES.items():
                points = sorted((p for p in held.get(key, ()) if p[measure] is not None and p["tokens"] is not None), key=lambda p: p["tokens"])
                if not points:
                    continue
                x, y = [p["tokens"] for p in points], [p[measure] for p in points]
                ax.fill_between(x, [p[f"{measure}_low"] for p in points], [p[f"{measure}_high"] for p in points], color=color, alpha=0.1, linewidth=0)
                ax.plot(x, y, marker=marker, color=color, linewidth=1.4, markersize=7 if len(points) == 1 else 4, label=f"{key[0]}{', by words' if key[1] == 'words' else ''}",
                        zorder=4 if key[0].startswith("canopy") else 2)
                if len(points) == 1:
                    ax.plot([x[0]] * 2, [points[0][f"{measure}_low"], points[0][f"{measure}_high"]], color=color, linewidth=1.2)
            percent_axis(ax.yaxis)
            ax.set_title(label)
        grid[-1, 0].set_xlabel("tokens kept a question")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return Drawn(name, f"{answered.name}, {CORPUS_SCOPES[corpus_scope]}:", "what is kept by length; f_theta's scores unless said, bands are 95% intervals.", svg_of(figure, name))
