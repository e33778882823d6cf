"""Stage ``report``: a page, a page of cases, a Markdown text, tables, figures and DVC's metrics over all benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow.parquet as pq

from canopy.atomic import replace_directory, write_bytes
from canopy.config import Config
from canopy.paths import Paths
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("report", per_benchmark=False, group="evaluation", kinds=("html",),
              reads={"gold_spans": ("gold",), "split": ("splits", "gold")})

if TYPE_CHECKING:
    from canopy.report.metrics import Metrics
    from canopy.report.results import Results

CASES = 5  # questions of each benchmark that are drawn to be shown, beside the case studies


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str
        | None = None) -> StageResult:
    """Write the report over every configured benchmark."""
    from canopy.benchmarks.declaration import read_declaration
    from canopy.corpus.folds import read_folds
    from canopy.report.answered import read_answered
    from canopy.report.build import build_report
    from canopy.report.cases.choice import choose
    from canopy.report.cases.page import CasePage
    from canopy.report.cases.reading import read_case_items, read_cases
    from canopy.report.results import Settings, read_json, read_summary
    from canopy.report.seconds import PAGE, seconds_page

    check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    results, answers, cases, folds = [], [], [], read_folds(paths.output("corpus"))
    for name in config.benchmarks:
        results.append(_read_results(config, paths, name))
        sides = dict(zip(results[-1].splits["question_id"], results[-1].splits["split"], strict=True))
        answered = read_answered(paths.output("answers", name), name, "train" in set(sides.values()),
                                 read_declaration(paths.output("benchmark", name)))
        if answered is not None:
            answered.gold = results[-1].gold
            answers.append(answered)
            test = [q for q, side in sides.items() if side == "test"]
            choices = choose(answered, test, CASES, config.evaluation.seed)
            cases += read_cases(paths.output("answers", name), paths.output("benchmark", name),
                                paths.output("gold_spans", name), answered,
                                choices, folds)
    encoder, e = paths.output("node_encoder"), config.evaluation
    curve = pq.read_table(encoder / "curve.parquet").to_pandas() if (encoder / "curve.parquet").exists() else None
    items = read_case_items(paths.output("corpus"), [paths.output("benchmark", b) for b in config.benchmarks], cases)
    page = CasePage(items, config.hierarchy.branching, config.hierarchy.segment_seconds,
                    paths.media(config)) if answers else None
    report = build_report(results, read_json(encoder / "training.json"), curve,
                          Settings(e.resamples, e.seed, e.confidence),
                          read_summary(paths.output("corpus") / "summary.json"), answers, cases, items, page)

    result = StageResult(metrics=headline(report.metrics), tables={"summary": report.rows}, files=sorted(report.files))
    with replace_directory(paths.output("report")) as out:
        for name, text in report.files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, encoding="utf-8")
        write_summary(out, result)
    timings = paths.root / ".canopy" / "timings"
    write_bytes(timings / PAGE, seconds_page(timings, list(config.benchmarks)).encode())
    for name in ("report.html", "cases.html"):
        if name in report.files:
            tracker.log_artifact(paths.output("report") / name)
    return result


def _read_results(config: Config, paths: Paths, name: str) -> Results:
    """What the report knows of one benchmark."""
    from canopy.benchmarks.declaration import read_declaration
    from canopy.gold.expected import compare_sides
    from canopy.gold.kinds import read_kinds
    from canopy.report.results import Results, read_evaluation, read_summary

    gold, split = paths.output("gold_spans", name), paths.output("split", name)
    declared, splits = (read_declaration(paths.output("benchmark", name)), pq.read_table(split / "splits.parquet"))
    components = pq.read_table(split / "components.parquet", columns=["component"])
    sides = dict(zip(splits["question_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    split_summary = read_summary(split / "summary.json")
    if expected := compare_sides(declared.expected, sides):
        split_summary.setdefault("tables", {})["expected"] = [
            {"what": e["what"], "published": e["published"], "source": e["source"], "found": e["found"]}
            for e in expected]
    examples = f"../gold_spans/{quote(name)}/examples.html" if (gold / "examples.html").is_file() else ""
    return Results(
        name, **read_evaluation(paths.output("evaluation", name)),
        splits=splits.append_column("component", components["component"]).to_pandas(),
        benchmark_summary=read_summary(paths.output("benchmark", name) / "summary.json"),
        gold_summary=read_summary(gold / "summary.json"), split_summary=split_summary,
        examples=examples, paper_name=declared.paper_name, gold=read_kinds(gold / "gold.parquet"))


def headline(metrics: Metrics) -> dict[str, float]:
    """f_theta's headline measures of each benchmark, and their differences to f0, as flat metrics."""
    from canopy.report.summary import HEADLINE

    flat: dict[str, float] = {}
    for benchmark in metrics:
        for key in HEADLINE:
            paths = {f"{benchmark}.f_theta.{key}": ("f_theta", key),
                     f"{benchmark}.difference.{key}": ("difference", key, "value")}
            flat |= {name: value for name, path in paths.items()
                     if (value := _find(metrics, benchmark, *path)) is not None}
    return flat


def _find(metrics: Metrics, *path: str) -> float | None:
    """A number deep inside metrics; None if there is none."""
    value: Metrics | float | str | None = metrics
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, float | int) else None
