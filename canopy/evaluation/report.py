"""The report: what was run, what came out, with what certainty, and how far it carries; one page, one text, one metrics file."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from canopy.evaluation import plots
from canopy.evaluation.data_tables import coverage_rows, expected_table, folding_tables, records_table
from canopy.evaluation.measures import MEASURES, TUNED, Comparison
from canopy.evaluation.rendering import show, show_interval, to_csv, to_html, to_markdown, verdict
from canopy.evaluation.tables import (
    Column,
    Results,
    Settings,
    Table,
    build_metrics,
    comparisons,
    counts_table,
    decision_cells,
    decisions_table,
    quality_table,
    retrieval_table,
    selectors_table,
    sizes_table,
    system_values,
)

PAPER = Table("paper", "Published figures of the paper, not of this run", [
    Column("what", "what"), Column("f0", "f0 (frozen)"), Column("f_theta", "f_theta (tuned)")], [
    {"what": "decision accuracy, mean", "f0": "36.9%", "f_theta": "58.5%"},
    {"what": "decision accuracy, NQ", "f0": "35.0%", "f_theta": "70.7%"},
    {"what": "decision accuracy, HotpotQA", "f0": "43.0%", "f_theta": "71.9%"},
    {"what": "decision accuracy, LVBench (video)", "f0": "28.3%", "f_theta": "34.3%"},
    {"what": "refinable items that lost something", "f0": "30.4–39.6%", "f_theta": "85.2–95.6%"},
    {"what": "gold-fragment recall (LVBench)", "f0": "–", "f_theta": "79.4% (60.7%)"},
])
PAPER_NOTE = ("CANOPY, arXiv 2610.00923, with Qwen3-VL-Embedding-2B as encoder, 4,162 training questions and other test sets. "
              "Encoder, data and sample differ from this run's, so the two are not comparable line by line.")

DEFINITIONS = (
    ("decision accuracy", "share of decisions (a question and an inner node that touches the gold) whose every preference holds: at an "
     "all-gold node the node beats each child; elsewhere each child with gold scores at least as much as the node, and the node "
     "beats every other child. Pooled over decisions, as in the paper. On a tie a child is explored, in the measure as in the rule."),
    ("gold recall", "share of a question's gold fragments that are kept, mean over questions. Of alternative annotations the best one "
     "counts. An item whose gold could not be located is gold whole."),
    ("pruned", "share of the items with more than one fragment that lost at least one."),
    ("kept tokens", "tokens of the evidence, counted with the encoder's tokenizer, as a share of the whole gold items' and per question. "
     "A table's title and a video's caption count once an item."),
    ("answer in evidence", "of the questions whose gold items state an accepted answer word for word, the share whose kept evidence still "
     "does; yes/no questions are left out."),
    ("recall at k", "share of a question's gold items among the first k retrieved by f0 from the items of all configured benchmarks."),
)


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: its anchor, its title, its HTML and its Markdown."""

    key: str
    title: str
    html: str
    markdown: str


def _paragraphs(*texts: str) -> tuple[str, str]:
    return "".join(f"<p>{html.escape(t)}</p>" for t in texts), "\n\n".join(texts) + "\n"


def _figures(drawn: Sequence[tuple[str, str, str]]) -> str:
    if not drawn:
        return ""
    return '<div class="figures">' + "".join(
        f'<figure role="img" aria-label="{html.escape(caption)}"><figcaption><b>{html.escape(title)}</b> {html.escape(caption)}</figcaption>'
        f"{plots.inline(svg)}</figure>" for title, caption, svg in drawn) + "</div>"


def _section(key: str, title: str, text: Sequence[str], tables: Sequence[Table] = (), drawn: Sequence[tuple[str, str, str]] = ()) -> Section:
    page, plain = _paragraphs(*text) if text else ("", "")
    titled = len(tables) > 1
    for t in tables:
        page += (f"<h3>{html.escape(t.title)}</h3>" if titled else "") + to_html(t)
        plain += (f"\n### {t.title}\n" if titled else "") + "\n" + to_markdown(t)
    return Section(key, title, page + _figures(drawn), plain)


def _tiles(r: Results, compared: Mapping[str, Comparison]) -> str:
    tiles = []
    for key in ("decision_accuracy", "gold_recall", "pruned", "kept_share", "answer_in_evidence"):
        if key not in compared:
            continue
        c, m = compared[key], MEASURES[key]
        good = c.difference.difference > 0 if m.higher_is_better else c.difference.difference < 0
        tiles.append(
            f'<div class="tile"><div class="what">{html.escape(m.label)}</div><div class="value"><span class="from">{show(c.before, "percent")} →</span> '
            f'{show(c.after.difference, "percent")}</div><div class="by"><span class="{verdict(c.difference, good)}">'
            f'{show(c.difference.difference, "points")}</span> {show_interval(c.difference, "points")} points against {html.escape(c.baseline)}</div></div>')
    return f"<h3>{html.escape(r.name)}</h3><div class=\"tiles\">{''.join(tiles)}</div>"


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
                    f"{show(c.after.difference, 'percent')}, {show(d.difference, 'points')} points {show_interval(d, 'points')}{certain}.")
    return " ".join(told) or "Nothing was measured."


def _facts(values: Mapping[str, Any]) -> tuple[str, str]:
    flat = {k: v for key, value in values.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])}
    shown = {k.replace("_", " "): f"{v:.6g}" if isinstance(v, float) else str(v) for k, v in flat.items()}
    page = '<dl class="facts">' + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in shown.items()) + "</dl>"
    return page, "\n".join(f"- {k}: {v}" for k, v in shown.items()) + "\n"


def _sees(training: Mapping[str, Any]) -> tuple[str, str]:
    """What the encoder is, and the limit of what it sees."""
    if training.get("pooling") == "last token":
        return (f"{training.get('base', 'Qwen3-VL')}, a vision-language encoder of the paper's kind",
                "The encoder sees an image's pixels and a video's frames, one every ten seconds and at most 32 a region, and reads subtitles; it hears nothing.")
    return ("a small text model (MiniLM), not the paper's 2-billion-parameter vision-language encoder",
            "The encoder is a small sentence encoder. It sees images and videos only through their words: titles, captions, subtitles and text "
            "read off the picture.")


def _limits(results: Sequence[Results], settings: Settings, training: Mapping[str, Any]) -> list[str]:
    small = [f"{r.name} ({n})" for r in results if (n := int(r.systems["question_id"].nunique())) < 200]
    limits = [
        "No language model took part: there is no reader, critic or router here, hence no EM or F1. Whether an answer is stated in the "
        "evidence says that a reader could find it, not that it would.",
        _sees(training)[1],
        "No question was classified as aggregate: every table was refined as for a lookup question, which costs recall where an answer "
        "needs the whole table.",
        "Selection is measured on the gold items alone, one round, no follow-up query. On items without gold every kept token is waste, "
        "and that is not counted here.",
        "Intervals resample questions. They do not cover another training seed or another split, and the many rows are not corrected for "
        "looking often.",
        "f0 is the better of its two modes on the very test it is compared on, which favours f0 slightly.",
        "Tokens hide what it costs to encode nodes and to search; the stage runs in the tracker hold those times.",
    ]
    if any((r.decisions["alternatives"] > 1).any() for r in results if len(r.decisions)):
        limits.append("Where a benchmark's labels are alternatives, a decision that holds under any one of them counts; that lifts f0 and f_theta alike.")
    if small:
        limits.append(f"Fewer than 200 test questions in {', '.join(small)}: read the intervals, not the points.")
    return limits


def _examples(results: Sequence[Results]) -> tuple[str, str]:
    """Links to the pages of mapped examples, which lie beside the report in the workspace."""
    there = [(r.name, r.examples) for r in results if r.examples]
    if not there:
        return "", ""
    told = "Twenty random examples of each benchmark, their gold marked, to judge the mapping by eye: "
    return (f"<p>{told}" + ", ".join(f'<a href="{html.escape(at)}">{html.escape(name)}</a>' for name, at in there) + ".</p>",
            told + ", ".join(f"[{name}]({at})" for name, at in there) + ".\n")


def build_report(results: Sequence[Results], training: Mapping[str, Any], curve: pd.DataFrame | None, settings: Settings,
                 corpus: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Every file of the report, by its path within the output folder.

    Parameters
    ----------
    results : list of Results
        One a benchmark; those on whose test split nothing could be measured appear in the data section only.
    training : dict
        training.json of the node encoder.
    curve : DataFrame, optional
        Columns ``step`` and ``loss``.
    corpus : dict, optional
        summary.json of the corpus.
    """
    measured = [r for r in results if len(r.systems)]
    values = {r.name: system_values(r, settings) for r in measured}
    compared = {r.name: comparisons(r, settings) for r in measured}
    cells = [c for r in measured for c in decision_cells(r, settings)]
    quality, decided = quality_table(measured, values, compared), decisions_table(cells)
    selectors, retrieved, sizes = selectors_table(measured, values), retrieval_table(measured, settings), sizes_table(measured)
    gold = counts_table("gold", "Gold and split", results, "gold_summary", without=("located_", "whole_", "questions_without"))
    data = [t for t in (records_table(results), expected_table(results, training), coverage_rows(results), gold, *folding_tables(corpus or {}))]
    examples = _examples(results)

    figures: dict[str, str] = {}

    def draw(name: str, title: str, caption: str, svg: str) -> tuple[str, str, str]:
        figures[name] = svg
        return title, caption, svg

    dots = [draw("decisions", "", "Decision accuracy of f0 (grey) and f_theta (green).", plots.decision_plot(cells))] if cells else []
    trade = [draw(plots.file_name("tradeoff", r.name), r.name, "quality against tokens; up and left is better. Crosses: 95% intervals.",
                  plots.tradeoff_plot(r, values[r.name])) for r in measured if "kept_share" in values[r.name][TUNED]]
    outcome = [draw(plots.file_name("outcomes", r.name), r.name, "what became of each node that the rule looked at.", plots.outcomes_plot(r)) for r in measured]
    levels = [draw(plots.file_name("levels", r.name), r.name, "median and middle half of s(v) − s(root).", plots.levels_plot(r)) for r in measured
              if len(r.levels)]
    search = [draw("retrieval", "", "Recall of gold items at k, 95% band.", plots.retrieval_plot(retrieved.rows))] if retrieved.rows else []
    learned = [draw("training", "", "Preference loss of f_theta's training.", plots.training_plot(curve))] if curve is not None and len(curve) else []

    share = f"{100 * settings.confidence:g}%"
    facts = _facts(training)
    what = _section("run", "What this run is", [
        "f0 is the frozen pretrained encoder, f_theta the same encoder with a LoRA adapter trained on the training split's gold. Both are "
        f"{_sees(training)[0]}, and nothing on this page used a language model.",
        f"Intervals are {share} percentile intervals of {settings.resamples:,} paired bootstrap resamples of the test questions (seed {settings.seed})."],
        [sizes])
    what = Section(what.key, what.title, what.html + "<h3>The tuned encoder</h3>" + facts[0], what.markdown + "\n### The tuned encoder\n\n" + facts[1])
    limits = _limits(measured, settings, training)
    cite = Section("paper", "The paper's own figures", f'<aside class="box cite"><h3>{html.escape(PAPER.title)}</h3>{to_html(PAPER)}<p class="note">{html.escape(PAPER_NOTE)}</p></aside>',
                   "> **" + PAPER.title + "**\n>\n" + "".join(f"> {line}\n" for line in to_markdown(PAPER).splitlines()) + f">\n> {PAPER_NOTE}\n")
    sections = [
        what,
        _section("quality", "f0 against f_theta", ["All on the same gold items of the same test questions."], [quality]),
        _section("decisions", "Decisions", ["Each inner node of a gold item that touches the gold asks for one of two things: to stop at it, or to descend into a part of it."],
                 [decided], dots),
        _section("selectors", "Selectors, and quality against tokens", [], [selectors], trade),
        _section("outcomes", "Kept, split and dropped", ["A node that the rule looks at is kept whole, split into its children, or dropped because it "
                 "scores below its parent."], [], outcome),
        _section("levels", "Scores by level", ["A node is explored when it scores at least what its parent does. Gold nodes should rise above the root "
                 "and others fall below it, more so the deeper they lie. Located gold only; levels with fewer than 5 nodes are left out."], [], levels),
        _section("retrieval", "Retrieval", ["Whole items by f0, over the corpus of all configured benchmarks together: another setting than the tables above, "
                 "in which the gold items are given."], [retrieved], search),
        _section("training", "Training", ["No training curve was written."] if not learned else [], [], learned),
        _section("data", "Data", ["What the stages before this one counted."], [t for t in data if t.rows]),
        cite,
        Section("limits", "Limits", "<ul>" + "".join(f"<li>{html.escape(t)}</li>" for t in limits) + "</ul>", "".join(f"- {t}\n" for t in limits)),
        Section("definitions", "How it is measured", '<dl class="facts">' + "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in DEFINITIONS) + "</dl>",
                "".join(f"- **{k}**: {v}\n" for k, v in DEFINITIONS)),
    ]
    sections = [Section(s.key, s.title, examples[0] + s.html, examples[1] + "\n" + s.markdown) if s.key == "data" and examples[0] else s for s in sections]
    lead = _lead(measured, compared)
    tiles = "".join(_tiles(r, compared[r.name]) for r in measured)
    page = Template(Path(__file__).with_name("page.html").read_text("utf-8")).substitute(
        lead=html.escape(lead), contents="".join(f'<li><a href="#{s.key}">{html.escape(s.title)}</a></li>' for s in sections),
        body=tiles + "\n".join(f'<section><h2 id="{s.key}">{html.escape(s.title)}</h2>\n{s.html}</section>' for s in sections))
    text = f"# Evidence compression: f0 against f_theta\n\n{lead}\n\n" + "\n".join(f"## {s.title}\n\n{s.markdown}" for s in sections if s.markdown)
    files = {"report.html": page, "report.md": text,
             "metrics.json": json.dumps(build_metrics(measured, values, compared, cells), indent=1, sort_keys=True) + "\n"}
    files |= {f"tables/{t.key}.csv": to_csv(t) for t in (sizes, quality, decided, selectors, retrieved, *data)}
    files |= {f"figures/{name}.svg": plots.standalone(svg) for name, svg in figures.items()}
    return files


