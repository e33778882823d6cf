"""Stage ``report``: a page, a page of cases, a Markdown text, tables, figures and DVC's metrics over all benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.errors import DataError
from canopy.paths import Paths
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("report", per_benchmark=False, group="evaluation", kinds=("html",), reads={"gold_spans": ("gold", "splits", "duplicates")})

CASES = 5  # questions of each benchmark that are drawn to be shown, beside the case studies


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as e:
        raise DataError(f"{path}: not JSON ({e}); rerun the stage that writes it") from None


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str | None = None) -> StageResult:
    """Write the report over every configured benchmark."""
    from canopy.benchmarks.declaration import read_declaration
    from canopy.corpus.folds import read_folds
    from canopy.report.answered import read_answered
    from canopy.report.build import build_report
    from canopy.report.case_page import CasePage
    from canopy.report.case_studies import choose, read_cases, read_shown
    from canopy.report.tables import Results, Settings, summary_rows

    check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    results, answers, cases, folds = [], [], [], read_folds(paths.output("corpus"))
    for name in config.benchmarks:
        measured, gold = paths.output("evaluation", name), paths.output("gold_spans", name)
        declaration = read_declaration(paths.output("benchmark", name))
        frames = {t: pq.read_table(measured / f"{t}.parquet").to_pandas() for t in ("systems", "decisions", "regions", "retrieval", "levels")}
        results.append(Results(name, **frames, splits=pq.read_table(gold / "splits.parquet").to_pandas(),
                               benchmark_summary=_json(paths.output("benchmark", name) / "summary.json"),
                               gold_summary=_json(gold / "summary.json"),
                               examples=f"../gold_spans/{quote(name)}/examples.html" if (gold / "examples.html").is_file() else "",
                               paper_name=declaration.paper_name))
        sides = dict(zip(results[-1].splits["question_id"], results[-1].splits["split"], strict=True))
        answered = read_answered(paths.output("answers", name), name, "train" in set(sides.values()), declaration)
        if answered is not None:
            answers.append(answered)
            chosen = choose(answered, [q for q, side in sides.items() if side == "test"], CASES, config.evaluation.seed)
            cases += read_cases(paths.output("answers", name), paths.output("benchmark", name), gold, answered, chosen, folds)
    encoder, e = paths.output("node_encoder"), config.evaluation
    curve = pq.read_table(encoder / "curve.parquet").to_pandas() if (encoder / "curve.parquet").exists() else None
    items = read_shown(paths.output("corpus"), [paths.output("benchmark", b) for b in config.benchmarks], cases)
    page = CasePage(items, config.hierarchy.branching, config.hierarchy.segment_seconds, paths.media(config)) if answers else None
    files = build_report(results, _json(encoder / "training.json"), curve, Settings(e.resamples, e.seed, e.confidence),
                         _json(paths.output("corpus") / "summary.json"), answers, cases, items, page)

    metrics = json.loads(files["metrics.json"])
    headline = ("decision_accuracy", "gold_recall", "pruned", "kept_share", "answer_in_evidence")
    flat = {f"{b}.f_theta.{k}": float(v) for b, m in metrics.items() for k, v in m.get("f_theta", {}).items() if k in headline}
    flat |= {f"{b}.difference.{k}": float(m["difference"][k]["value"]) for b, m in metrics.items() for k in headline if k in m.get("difference", {})}
    result = StageResult(metrics=flat, tables={"summary": summary_rows(metrics)}, files=sorted(files))
    with replace_directory(paths.output("report")) as out:
        for name, text in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text, encoding="utf-8")
        write_summary(out, result)
    for name in ("report.html", "cases.html"):
        if name in files:
            tracker.log_artifact(paths.output("report") / name)
    return result
