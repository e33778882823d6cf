"""The report: what was run, what came out, with what certainty, and how far it carries, as a page, a text, tables and
metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from canopy.items import Item
from canopy.report.answered import Answered
from canopy.report.cases.model import Case
from canopy.report.cases.page import CasePage
from canopy.report.drawing import standalone
from canopy.report.groups import View, build_views
from canopy.report.markdown import page_markdown
from canopy.report.metrics import Metrics, about_metrics, answer_metrics, build_metrics, summary_rows, with_all_gold
from canopy.report.model import Bullets, Heading, Section, Terms, section
from canopy.report.page import page_html
from canopy.report.paper import RELATED
from canopy.report.provenance import Provenance
from canopy.report.quotations import quote_everything
from canopy.report.results import Results, Settings, Summary, compare_measures, measured_results, system_values
from canopy.report.summary import summarise
from canopy.report.tables.compression import compression_section
from canopy.report.tables.cost import cost_section
from canopy.report.tables.data import data_section
from canopy.report.tables.figure_5_selection import selection_section
from canopy.report.tables.figure_6_levels import levels_section
from canopy.report.tables.figure_7_flat_m import flat_section
from canopy.report.tables.figure_8_decisions import decision_cells, decisions_section
from canopy.report.tables.figure_9_outcomes import decided_section, nodes_section
from canopy.report.tables.not_run import not_run_section
from canopy.report.tables.options import options_section
from canopy.report.tables.retrieval import retrieval_section
from canopy.report.tables.run import run_section
from canopy.report.tables.selectors import selectors_section
from canopy.report.tables.table_1_main import main_section
from canopy.report.tables.table_2_components import components_section
from canopy.report.tables.table_3_sensitivity import sensitivity_section
from canopy.report.tables.table_4_encoder import quality_section
from canopy.report.tables.table_6_aks import aks_section
from canopy.report.tables.table_7_compressors import compressors_section
from canopy.report.tables.table_8_routed import routed_section
from canopy.report.tables.table_9_branching import branching_section
from canopy.report.tables.table_10_items_a_round import items_section
from canopy.report.tables.table_11_gold_recall import gold_recall_section
from canopy.report.tables.table_12_out_of_domain import out_of_domain_section
from canopy.report.tables.table_13_14_case_studies import PAGE, case_sections
from canopy.report.tables.training import training_section
from canopy.report.values import to_csv
from canopy.report.words import DEFINITIONS, limits_of

TITLE = "CANOPY: what compression keeps, and what is answered from it"
_UNANSWERED = ("The stage answers has not run, so no system answered a question: `canopy evaluate` runs it and writes "
               "this report again.")


@dataclass(slots=True)
class Report:
    """A report.

    Attributes
    ----------
    files : dict
        Texts by their path within the output folder.
    metrics : dict
        The content of metrics.json.
    rows : list of dict
        Rows to print after a run.
    """

    files: dict[str, str]
    metrics: Metrics = field(default_factory=dict)
    rows: list[dict[str, str]] = field(default_factory=list)


def build_report(results: Sequence[Results], training: Mapping[str, object], curve: pd.DataFrame | None,
                 settings: Settings,
                 corpus: Summary | None = None, answers: Sequence[Answered] = (), cases: Sequence[Case] = (),
                 items: Mapping[str, Item] | None = None, page: CasePage | None = None) -> Report:
    """The report over all benchmarks; equal input gives equal bytes.

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
    everything = measured_results(results)
    measured = [r.headline() for r in everything]
    answers = [a.headline() for a in answers]
    values = {r.name: system_values(r, settings) for r in measured}
    comparisons = {r.name: compare_measures(r, settings) for r in measured}
    cells = [c for r in measured for c in decision_cells(r, settings)]
    views = build_views(answers, settings)
    summary = summarise(measured, comparisons, views)
    of_answers = answer_sections(views, answers)
    cited = case_sections(cases, items or {})
    gold = {a.name: a.gold for a in answers} | {r.name: r.gold for r in measured}
    provenance = Provenance(gold, views, ["summary", *(s.key for s in (*of_answers, *cited))])
    sections = [
        summary.section,
        run_section(training, settings, measured, views),
        *(of_answers or [section("main", "Answers", [_UNANSWERED])]),
        quality_section(measured, values, comparisons),
        decisions_section(cells),
        gold_recall_section(measured, settings),
        selectors_section(measured, values),
        nodes_section(measured),
        levels_section(measured),
        *cited,
        retrieval_section(measured, settings, [r.name for r in results]),
        training_section(curve),
        data_section(results, training, corpus or {}),
        _paper_section(),
        Section("limits", "Limits", (Bullets(tuple(limits_of(measured, settings, training, views))),)),
        Section("definitions", "How it is measured",
                (Terms((*DEFINITIONS, *((f"scores of {a.name}", a.rules) for a in answers))),)),
    ]
    sections.append(not_run_section(answers, [s.key for s in sections]))
    sections = [provenance.mark(s) for s in sections]
    metrics = build_metrics(measured, values, comparisons, cells)
    for benchmark, figures in answer_metrics(views).items():
        metrics[benchmark] = {**_mapping(metrics.get(benchmark)), "answers": figures}
    for benchmark in metrics:
        metrics[benchmark] = {**_mapping(metrics[benchmark]), "about": about_metrics(
            benchmark, provenance, [r.name for r in results])}
    for r in (r for r, kept in zip(everything, measured, strict=True) if kept.gold.left_out):
        metrics[r.name] = {**_mapping(metrics[r.name]), "all_gold": with_all_gold(r, settings)}
    files = page_files("report", TITLE, summary.lead, sections)
    files["metrics.json"] = json.dumps(metrics, indent=1, sort_keys=True) + "\n"
    if page is not None:
        files[PAGE] = page.render(cases)
    return Report(files, metrics, summary_rows(measured, values, comparisons))


def _mapping(metrics: Metrics | float | str | None) -> Metrics:
    return metrics if isinstance(metrics, dict) else {}


def answer_sections(views: Sequence[View], answers: Sequence[Answered] = ()) -> list[Section]:
    """Every part on answers that has anything to show; the one on compression alone stands beside the compressors."""
    inside = [v.only([g for g in v.groups if not g.answered.out_of_domain]) for v in views]
    outside = [v.only([g for g in v.groups if g.answered.out_of_domain]) for v in views]
    sections = [
        main_section(inside), components_section(views), options_section(views), selection_section(views),
        flat_section(views),
        compressors_section(views), compression_section(answers), aks_section(views), sensitivity_section(views),
        branching_section(views), items_section(views), routed_section(views), out_of_domain_section(outside),
        decided_section(views), cost_section(views)]
    return [s for s in sections if s is not None]


def page_files(name: str, title: str, lead: str, sections: Sequence[Section]) -> dict[str, str]:
    """A page and a text of sections, and their tables and figures as files of their own."""
    files = {f"{name}.html": page_html(title, lead, sections), f"{name}.md": page_markdown(title, lead, sections)}
    files |= {f"tables/{t.key}.csv": to_csv(t) for s in sections for t in s.tables}
    files |= {f"figures/{f.name}.svg": standalone(f.svg) for s in sections for f in s.figures}
    return files


def _paper_section() -> Section:
    related = Bullets(tuple(f"{name}: {text}" for name, text in RELATED))
    heading = Heading("Related work that is no baseline here")
    return Section("paper", "The paper's own figures", (quote_everything(), heading, related))
