"""The head of the report: what came out, in a few sentences, tiles and one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canopy.answers.comparison import Name
from canopy.config import CORPUS_SCOPES
from canopy.evaluation.comparison import Comparison
from canopy.report.choices import main_systems
from canopy.report.groups import CANOPY, LOOKAHEAD, VANILLA, Group, View
from canopy.report.model import Block, Bullets, Column, Kind, Paragraph, Row, Section, Table, Tabular, Tile, Tiles
from canopy.report.results import Results
from canopy.report.tables.options import winners
from canopy.report.values import judged, show, show_interval, verdict_of
from canopy.scoring.bootstrap import Interval
from canopy.scoring.measure import EVALUATION, label_of, measures_of

# The measures of the evaluation that the tiles show.
HEADLINE = ("decision_accuracy", "gold_recall", "pruned", "kept_share", "answer_in_evidence")


@dataclass(frozen=True, slots=True)
class Summary:
    """The sentence under the page's title, and the first part."""

    lead: str
    section: Section


def summarise(results: Sequence[Results], comparisons: Mapping[str, Mapping[str, Comparison]],
              views: Sequence[View]) -> Summary:
    """What came out, of the encoder and of the answers of the first reader over its first corpus."""
    blocks: list[Block] = []
    if views:
        view = views[0]
        blocks += [Paragraph(_answers_lead(view)), Bullets(tuple(_answer_sentences(view)))]
        glance = _glance_table(view)
        if glance.rows:
            blocks.append(Tabular(glance))
    blocks += [_tiles(r, comparisons[r.name]) for r in results]
    section = Section("summary", "Summary", tuple(blocks) or (Paragraph("Nothing was measured."),))
    return Summary(_lead(results, comparisons), section)


def _lead(results: Sequence[Results], comparisons: Mapping[str, Mapping[str, Comparison]]) -> str:
    sentences = []
    for r in results:
        c = comparisons[r.name].get("decision_accuracy")
        if c is None:
            sentences.append(f"{r.name}: no decision could be measured.")
            continue
        d = c.difference
        doubt = "" if d.low > 0 or d.high < 0 else ", which the sample cannot tell from zero"
        sentences.append(
            f"{r.name}: tuning moves decision accuracy from {show(c.before, 'percent')} ({c.baseline}) to "
            f"{show(c.after.estimate, 'percent')}, {show(d.estimate, 'points')} points "
            f"{show_interval(d, 'points')}{doubt}."
            + (f" Gold: {r.gold.describe()}." if r.gold.pseudo else ""))
    return " ".join(sentences) or "Nothing was measured."


def _tiles(r: Results, comparisons: Mapping[str, Comparison]) -> Tiles:
    measures = measures_of(EVALUATION)
    tiles = []
    for key in (k for k in HEADLINE if k in comparisons):
        c, d = comparisons[key], comparisons[key].difference
        good = d.estimate > 0 if measures[key].higher_is_better else d.estimate < 0
        tiles.append(Tile(
            measures[key].label, show(c.before, "percent"), show(c.after.estimate, "percent"),
            show(d.estimate, "points"),
            show_interval(d, "points"), verdict_of(d, good), c.baseline))
    gold = f"; gold: {r.gold.describe()}" if r.gold.pseudo else ""
    return Tiles(f"{r.name}: f0 → f_theta, gold items given, LLM-free{gold}", tuple(tiles))


def _with_interval(interval: Interval, kind: Kind) -> str:
    return f"{show(interval.estimate, kind)} {show_interval(interval, kind)}".strip()


def _answers_lead(view: View) -> str:
    if view.corpus_scope == "gold":
        return f"Answers from the gold items, read by {view.label}:"
    return f"Answers over the {CORPUS_SCOPES[view.corpus_scope]}, read by {view.label}:"


def _answer_sentences(view: View) -> list[str]:
    """A sentence a benchmark: CANOPY against whole items, the look-ahead rule against CANOPY, options that win."""
    options = winners(view)
    sentences = []
    for g in view.groups:
        parts = [_against(g, name, reference) for name, reference in ((CANOPY, VANILLA), (LOOKAHEAD, CANOPY))
                 if name in g and reference in g]
        if names := options.get(g.answered.name):
            parts.append(f"options that win: {', '.join(names)}")
        elif CANOPY in g:
            parts.append("no option wins")
        sentences.append(f"{g.answered.name} ({g.questions:,} questions): {'; '.join(parts)}.")
    return sentences


def _against(group: Group, name: Name, reference: Name) -> str:
    first = group.difference(name, reference, group.first)
    recall = group.difference(name, reference, "gold_recall")
    tokens = group.change(name, reference, "tokens")
    parts = [f"{_with_interval(first, 'points')} {label_of(group.first)}" if first else "",
             f"{_with_interval(recall, 'points')} gold recall" if recall else "",
             f"{_with_interval(tokens, 'change')} tokens" if tokens else ""]
    return f"{name[0]} against {reference[0]}: {', '.join(p for p in parts if p)}"


def _glance_table(view: View) -> Table:
    """A row a benchmark: the best system by its first official measure, CANOPY and whole items."""
    rows: list[Row] = []
    for g in view.groups:
        values = {n: v.estimate for n in main_systems(g) if (v := g.value(n, g.first)) is not None}
        best = [n[0] for n in values if values[n] == max(values.values())] if len(set(values.values())) > 1 else []
        rows.append({
            "benchmark": g.answered.name, "measure": label_of(g.first), "best": ", ".join(best) or "none",
            "vanilla": g.value(VANILLA, g.first), "canopy": g.value(CANOPY, g.first),
            "recall": g.value(CANOPY, "gold_recall"), "tokens": g.value(CANOPY, "tokens"),
            **judged("difference", g.difference(CANOPY, VANILLA, g.first)),
            **judged("change_tokens", g.change(CANOPY, VANILLA, "tokens"), higher_is_better=False)})
    columns = [
        Column("benchmark", "benchmark"), Column("measure", "measure"), Column("best", "best by its point"),
        Column("vanilla", "vanilla", "percent"), Column("canopy", "canopy", "percent"),
        Column("difference", "canopy, less vanilla's", "points"), Column("recall", "gold recall of canopy", "percent"),
        Column("tokens", "tokens of canopy", "count"), Column("change_tokens", "against vanilla", "change")]
    return Table("summary", "At a glance", columns, rows, "", {**view.about})
