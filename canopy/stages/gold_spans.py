"""Stage `gold_spans`: annotations to fragments of each item's hierarchy, and the texts that the split compares."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.benchmarks.declaration import read_declaration
from canopy.config import Config, Select
from canopy.errors import DataError
from canopy.gold.coverage import coverage_metrics, coverage_table
from canopy.gold.examples import render_examples
from canopy.gold.expected import Comparison, compare_counts
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.selection import choose_questions, keep_questions
from canopy.gold.texts import TEXT_SCHEMA, gold_texts
from canopy.items import Question, read_annotations, read_items, read_questions, write_questions, write_table
from canopy.paths import Paths
from canopy.progress import counted
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("gold_spans", per_benchmark=True, group="data", kinds=("parquet",),
              reads={"benchmark": ("items", "questions", "annotations")})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Map one benchmark's annotations into ``data/gold_spans/<name>``.

    It writes gold, the chosen questions and the texts of gold items as Parquet, unlocated.jsonl and examples.html.
    Only the questions that ``benchmarks.<name>.select`` chooses go on from here; the benchmark's items all stay.
    """
    assert benchmark is not None
    check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    source = paths.output("benchmark", benchmark)
    read = read_questions(source / "questions.parquet")
    select = read_selection(source, config.benchmarks[benchmark].select)
    questions = choose_questions(read, select, f"{paths.root / 'params.yaml'}: benchmarks.{benchmark}.select")
    of = {q.id for q in questions}
    annotations = [a for a in read_annotations(source / "annotations.parquet") if a.question_id in of]
    items = {i.id: i for i in read_items(source / "items.parquet", list(dict.fromkeys(a.item_id for a in annotations)))}
    marks = counted(annotations, "locating gold", len(annotations), "annotations")
    rows, unlocated = map_annotations(marks, items, config.hierarchy.segment_seconds)
    mapped, selected = rows, of
    questions = keep_questions(questions, rows, select)
    of = {q.id for q in questions}
    rows, unlocated = ([r for r in each if r["question_id"] in of] for each in (rows, unlocated))
    sources = {i.id: i.source for i in items.values()}
    expected = compare_counts(read_declaration(source).expected, read, selected, mapped, sources,
                              video_files(source / "items.parquet"))
    with replace_directory(paths.output("gold_spans", benchmark)) as out:
        gold = write_table(out / "gold.parquet", rows, GOLD_SCHEMA)
        write_questions(out / "questions.parquet", questions)
        texts = gold_texts(rows, items, config.hierarchy.segment_seconds)
        write_table(out / "texts.parquet", (t._asdict() for t in texts), TEXT_SCHEMA)
        lines = "".join(json.dumps(u, ensure_ascii=False) + "\n" for u in unlocated)
        (out / "unlocated.jsonl").write_text(lines, "utf-8")
        (out / "examples.html").write_text(render_examples(
            benchmark, questions, annotations, rows, items, segment_seconds=config.hierarchy.segment_seconds,
            seed=select.seed, media=(paths.raw(config, benchmark), source)), "utf-8")
        coverage = coverage_table(rows, [q.id for q in questions])
        result = StageResult(metrics={
            "questions_read": float(len(read)), "questions_selected": float(len(questions)),
            "gold_rows": float(len(rows)), "located": float(sum(r["coverage"] == "located" for r in rows)),
            "whole": float(sum(r["coverage"] == "whole" for r in rows)), "unlocated": float(len(unlocated)),
            **coverage_metrics(coverage)})
        result.tables["coverage"], result.tables["expected"] = coverage, expected
        result.tables["gold"] = [{**r, "fragments": str(r["fragments"])} for r in rows[:10]]
        result.files = ["unlocated.jsonl", "examples.html"]
        result.notes = _sentences(len(read), questions, rows, unlocated, expected)
        result.checks = validator.check("gold_spans", {"gold": gold})
        write_summary(out, result)
    tracker.log_artifact(paths.output("gold_spans", benchmark) / "examples.html")
    return result


def video_files(items: Path) -> list[str]:
    """Media paths of a benchmark's video items."""
    table = pq.read_table(items, columns=["modality", "media"])
    return table.filter(pc.equal(table["modality"], "video"))["media"].to_pylist()


def read_selection(source: Path, default: Select) -> Select:
    """The selection that the benchmark stage wrote beside its tables; a change of it reaches this stage as data."""
    path = source / "select.json"
    try:
        return Select.model_validate_json(path.read_bytes()) if path.exists() else default
    except ValueError as e:
        raise DataError(f"{path}: not a selection ({str(e).splitlines()[0]}); "
                        "`canopy run --force benchmark` writes it again") from None


def _sentences(read: int, questions: list[Question], rows: list[dict[str, object]], unlocated: list[dict[str, str]],
               expected: list[Comparison]) -> list[str]:
    sentences = [f"{len(questions)} of {read} questions are selected."] if len(questions) < read else []
    sentences += [f"{e['what']}: {e['published']:,} expected ({e['source']} says), {e['found']:,} found here."
             for e in expected if e["found"] is not None]
    bare = len({q.id for q in questions} - {r["question_id"] for r in rows})
    if bare:
        sentences.append(f"{bare} questions have no gold evidence: they are used for retrieval only.")
    pseudo = len({r["question_id"] for r in rows if r["pseudo"]})
    if pseudo:
        sentences.append(f"pseudo-gold: {pseudo} questions; their evidence was found by locating the answer, "
                    "not annotated by anyone.")
    if unlocated:
        sentences.append(f"{len(unlocated)} annotations touch no fragment and count as gold whole, "
                         f"e.g. {unlocated[0]}.")
    return sentences
