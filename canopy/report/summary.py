"""The head of the report: what came out, in a few sentences, tiles and one table."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canopy.config import CORPUS_SCOPES
from canopy.evaluation.measures import MEASURES, Comparison
from canopy.report.answer_sections import main_systems
from canopy.report.answer_tables import CANOPY, LOOKAHEAD, VANILLA, label_of
from canopy.report.answered import Name, View
from canopy.report.option_tables import winners
from canopy.report.render import show, show_interval, to_html, to_markdown, verdict
from canopy.report.sections import Section, bullets, paragraphs
from canopy.report.tables import Column, Results, Table
from canopy.scoring.bootstrap import Interval

_TILES = ("decision_accuracy", "gold_recall", "pruned", "kept_share", "answer_in_evidence")


@dataclass(frozen=True, slots=True)
class Summary:
    """The sentence under the page's title, and the first part."""

    lead: str
    section: Section


def summarise(results: Sequence[Results], compared: Mapping[str, Mapping[str, Comparison]], views: Sequence[View]) -> Summary:
    """What came out, of the encoder and of the answers of the first reader over its first corpus."""
    view = views[0] if views else None
    sentences = _answers(view) if view else []
    glance = _glance(view) if view else None
    page, text = ("\n".join(pair) for pair in zip(paragraphs(sentences[0]), bullets(sentences[1:]), strict=True)) if sentences else ("", "")
    if view is not None and glance is not None and glance.rows:
        page += to_html(glance)
        text += "\n" + to_markdown(glance)
    page += "".join(_tiles(r, compared[r.name]) for r in results)
    return Summary(_lead(results, compared), Section("summary", "Summary", page or "<p>Nothing was measured.</p>", text, tables=(glance,) if glance is not None and glance.rows else ()))


def _lead(results: Sequence[Results], compared: Mapping[str, Mapping[str, Comparison]]) -> str:
    told = []
    for r in results:
        c = compared[r.name].get("decision_accuracy")
        if c is None:
            told.append(f"{r.name}: no decision could be measured.")
            continue
        d = c.difference
        certain = "" if d.low > 0 or d.high < 0 else ", which the sample cannot tell from zero"
        told.append(f"{r.name}: tuning moves decision accuracy from {show(c.before, 'percent')} ({c.baseline}) to "
                    f"{show(c.after.estimate, 'percent')}, {show(d.estimate, 'points')} points {show_interval(d, 'points')}{certain}.")
    return " ".join(told) or "Nothing was measured."


def _tiles(r: Results, compared: Mapping[str, Comparison]) -> str:
    tiles = []
    for key in _TILES:
        if key not in compared:
            continue
        c, m = compared[key], MEASURES[key]
        good = c.difference.estimate > 0 if m.higher_is_better else c.difference.estimate < 0
        tiles.append(
            f'<div class="tile"><div class="what">{html.escape(m.label)}</div><div class="value"><span class="from">{show(c.before, "percent")} →</span> '
            f'{show(c.after.estimate, "percent")}</div><div class="by"><span class="{verdict(c.difference, good)}">'
            f'{show(c.difference.estimate, "points")}</span> {show_interval(c.difference, "points")} points against {html.escape(c.baseline)}</div></div>')
    return f"<h3>{html.escape(r.name)}: f0 → f_theta, gold items given</h3><div class=\"tiles\">{''.join(tiles)}</div>"


def _told(i: Interval, kind: str) -> str:
    return f"{show(i.estimate, kind)} {show_interval(i, kind)}".strip()


def _answers(view: View) -> list[str]:
    """A sentence a benchmark on CANOPY against whole items, and one on the options that win."""
    told = [f"Answers over the {CORPUS_SCOPES[view.corpus_scope]}, read by {view.label}:" if view.corpus_scope != "gold" else f"Answers from the annotated items, read by {view.label}:"]
    won = winners(view)
    for g in view.groups:
        parts = []
        for name, reference in ((CANOPY, VANILLA), (LOOKAHEAD, CANOPY)):
            if name not in g or reference not in g:
                continue
            recall, tokens, first = g.difference(name, reference, "gold_recall"), g.change(name, reference, "tokens"), g.difference(name, reference, g.answered.primary[0])
            said = [f"{_told(first, 'points')} {label_of(g.answered.primary[0])}" if first else "", f"{_told(recall, 'points')} gold recall" if recall else "",
                    f"{_told(tokens, 'change')} tokens" if tokens else ""]
            parts.append(f"{name[0]} against {reference[0]}: {', '.join(s for s in said if s)}")
        if wins := won.get(g.answered.name):
            parts.append(f"options that win: {', '.join(wins)}")
        elif CANOPY in g:
            parts.append("no option wins")
        told.append(f"{g.answered.name} ({g.questions:,} questions): {'; '.join(parts)}.")
    return told


def _glance(view: View) -> Table:
    """A row a benchmark: the best system by its first official measure, CANOPY and whole items."""
    rows: list[dict[str, Any]] = []
    for g in view.groups:
        first = g.answered.primary[0]
        values: dict[Name, float] = {n: v.estimate for n in main_systems(g) if (v := g.value(n, first)) is not None}
        best = [n[0] for n in values if values[n] == max(values.values())] if len(set(values.values())) > 1 else []
        rows.append({"benchmark": g.answered.name, "measure": label_of(first), "best": ", ".join(best) or "none", "vanilla": g.value(VANILLA, first), "canopy": g.value(CANOPY, first),
                     "difference": g.difference(CANOPY, VANILLA, first), "recall": g.value(CANOPY, "gold_recall"), "tokens": g.value(CANOPY, "tokens"),
                     "change_tokens": g.change(CANOPY, VANILLA, "tokens")})
        for column, good in (("difference", 1), ("change_tokens", -1)):
            if rows[-1][column] is not None:
                rows[-1][f"_good_{column}"] = bool(rows[-1][column].estimate * good > 0)
    return Table("summary", "At a glance", [
        Column("benchmark", "benchmark"), Column("measure", "measure"), Column("best", "best by its point"), Column("vanilla", "vanilla", "percent"),
        Column("canopy", "canopy", "percent"), Column("difference", "canopy, less vanilla's", "points"), Column("recall", "gold recall of canopy", "percent"),
        Column("tokens", "tokens of canopy", "count"), Column("change_tokens", "against vanilla", "change")], rows, "", {**view.about})
