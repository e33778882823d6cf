"""The report: what was run, what came out, with what certainty, and how far it carries; a page, the page of cases, a text, tables and a metrics file."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from canopy.items import Item
from canopy.report.answer_sections import answer_sections
from canopy.report.answer_tables import answer_metrics, missing_table
from canopy.report.answered import Answered, View, build_views
from canopy.report.case_page import CasePage
from canopy.report.case_sections import PAGE, case_sections
from canopy.report.case_studies import Case
from canopy.report.compression_section import compression_section
from canopy.report.data_tables import (
    corpus_table,
    coverage_rows,
    expected_table,
    folding_tables,
    records_table,
)
from canopy.report.drawing import standalone
from canopy.report.encoder_sections import encoder_sections, support_sections
from canopy.report.paper import RELATED, all_claims_table, main_table
from canopy.report.render import to_csv
from canopy.report.sections import Section, bullets, cite_box, facts, paragraphs, section, terms
from canopy.report.summary import summarise
from canopy.report.tables import (
    Results,
    Settings,
    build_metrics,
    comparisons,
    counts_table,
    decision_cells,
    sizes_table,
    system_values,
)
from canopy.report.unfilled import unfilled_table
from canopy.report.words import DEFINITIONS, limits_of, what_it_sees

TITLE = "CANOPY: what compression keeps, and what is answered from it"


def build_report(results: Sequence[Results], training: Mapping[str, Any], curve: pd.DataFrame | None, settings: Settings,
                 corpus: Mapping[str, Any] | None = None, answers: Sequence[Answered] = (), cases: Sequence[Case] = (), items: Mapping[str, Item] | None = None,
                 page: CasePage | None = None) -> dict[str, str]:
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
    answers : sequence of Answered
        What the stage ``answers`` wrote, one a benchmark.
    cases, items : optional
        The questions to show, and the items that they show.
    page : CasePage, optional
        What renders the page of cases; without it there is no such page.
    """
    measured = [r for r in results if len(r.systems)]
    values = {r.name: system_values(r, settings) for r in measured}
    compared = {r.name: comparisons(r, settings) for r in measured}
    cells = [c for r in measured for c in decision_cells(r, settings)]
    views = build_views(answers, settings)
    summary = summarise(measured, compared, views)
    told = answer_sections(views, compression_section(answers))
    sections = [
        summary.section,
        _run(training, settings, measured, views),
        *(told or [_unanswered()]),
        *encoder_sections(measured, values, compared, cells, settings),
        *case_sections(cases, items or {}),
        *support_sections(measured, curve, settings),
        _data(results, training, corpus or {}),
        _paper(),
        Section("limits", "Limits", *bullets(limits_of(measured, settings, training, views))),
        Section("definitions", "How it is measured", *terms([*DEFINITIONS, *_rules(answers)])),
    ]
    sections.append(_not_run(answers, [s.key for s in sections]))
    metrics = build_metrics(measured, values, compared, cells)
    for benchmark, mine in answer_metrics(views).items():
        metrics.setdefault(benchmark, {})["answers"] = mine
    files = {"report.html": page_of(TITLE, summary.lead, sections), "report.md": f"# {TITLE}\n\n{summary.lead}\n\n" + "\n".join(s.as_markdown() for s in sections if s.markdown),
             "metrics.json": json.dumps(metrics, indent=1, sort_keys=True) + "\n"}
    if page is not None:
        files[PAGE] = page.render(cases)
    files |= {f"tables/{t.key}.csv": to_csv(t) for s in sections for t in s.tables}
    files |= {f"figures/{d.name}.svg": standalone(d.svg) for s in sections for d in s.figures}
    return files


def page_of(title: str, lead: str, sections: Sequence[Section]) -> str:
    """A self-contained page of sections, with their contents."""
    return Template((Path(__file__).parent / "templates" / "page.html").read_text("utf-8")).substitute(
        title=html.escape(title), lead=html.escape(lead), contents="".join(f'<li><a href="#{s.key}">{html.escape(s.title)}</a></li>' for s in sections),
        body="\n".join(s.as_html() for s in sections))


def _run(training: Mapping[str, Any], settings: Settings, measured: Sequence[Results], views: Sequence[View]) -> Section:
    share = f"{100 * settings.confidence:g}%"
    readers = list(dict.fromkeys(v.label for v in views))
    read = f"Answers were read by: {'; '.join(readers)}." if readers else "No answers were read."
    if readers and all(v.kind != "llm" for v in views):
        read += " No language model took part, and no figure below is a language model's."
    made = section("run", "What this run is", [
        f"f0 is the frozen pretrained encoder, f_theta the same encoder with a LoRA adapter trained on the training split's gold. Both are {what_it_sees(training)[0]}. {read}",
        f"Intervals are {share} percentile intervals of {settings.resamples:,} paired bootstrap resamples of the test questions (seed {settings.seed}): question ids are "
        "resampled once for all systems that are compared."], [sizes_table(measured)])
    known = facts(training)
    return Section(made.key, made.title, f"{made.html}<details><summary>The tuned encoder</summary>{known[0]}</details>",
                   f"{made.markdown}\n### The tuned encoder\n\n{known[1]}", tables=made.tables)


def _unanswered() -> Section:
    return Section("main", "Answers", *paragraphs("The stage answers has not run, so no system answered a question: `canopy evaluate` runs it and writes this report again."))


def _data(results: Sequence[Results], training: Mapping[str, Any], corpus: Mapping[str, Any]) -> Section:
    gold = counts_table("gold", "Gold and split", results, "gold_summary", without=("located_", "whole_", "questions_without"))
    tables = [t for t in (corpus_table(corpus), records_table(results), expected_table(results, training), coverage_rows(results), gold, *folding_tables(corpus)) if t.rows]
    made = section("data", "Data", ["What the stages before this one counted."], tables, places=("Table 5",))
    shown = [(r.name, r.examples) for r in results if r.examples]
    if not shown:
        return made
    lead = "Twenty random examples of each benchmark, their gold marked, to judge the mapping by eye: "
    links = ", ".join(f'<a href="{html.escape(at)}">{html.escape(name)}</a>' for name, at in shown)
    return Section(made.key, made.title, f"<p>{lead}{links}.</p>{made.html}", f"{lead}{', '.join(f'[{name}]({at})' for name, at in shown)}.\n\n{made.markdown}", made.places,
                   made.tables, made.figures)


def _paper() -> Section:
    page, text = cite_box("The paper's figures, not this run's", [main_table(), all_claims_table()])
    related = bullets([f"{name}: {says}" for name, says in RELATED])
    return Section("paper", "The paper's own figures", f"{page}<h3>Related work that is no baseline here</h3>{related[0]}",
                   f"{text}\n### Related work that is no baseline here\n\n{related[1]}")


def _rules(answers: Sequence[Answered]) -> list[tuple[str, str]]:
    """Each benchmark's official rules."""
    return [(f"scores of {a.name}", str(a.listed["metric"]["rules"])) for a in answers]


def _not_run(answers: Sequence[Answered], keys: Sequence[str]) -> Section:
    tables = [t for t in (missing_table(answers), unfilled_table(keys, answers)) if t.rows]
    return section("not-run", "What was not run, and why", [] if tables else ["Everything was run."], tables, headed=True)

