"""Stage ``answers``: every system answers a benchmark's test questions; an interrupted run resumes."""

from __future__ import annotations

from canopy.answers.answering import answer_all
from canopy.answers.compression import CompressionFile, measure_compression
from canopy.answers.fingerprint import fingerprint, remove_other_journals
from canopy.answers.gold import leave_out
from canopy.answers.journal import Journal
from canopy.answers.listing import SystemsFile, describe_systems
from canopy.answers.run import Run, prepare_run
from canopy.answers.summary import Line, compare_systems, flat
from canopy.answers.tables import AnswerCounts, write_tables
from canopy.answers.timings import TimingsFile, measure_timings
from canopy.answers.workers import one_thread
from canopy.atomic import replace_directory, write_json
from canopy.config import Config
from canopy.paths import Paths
from canopy.stages.base import StageResult, Tracker
from canopy.stages.code import CODE_ROOT, code_deps
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("answers", per_benchmark=True, group="evaluation", kinds=("parquet",), reads={
    "benchmark": ("items", "questions", "annotations"),
    "gold_spans": ("gold",),
    "split": ("splits", "gold"),
})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Answer one benchmark's test questions into ``data/answers/<name>``.

    It writes answers.parquet, rounds.parquet, systems.json and compression.json. Finished answers are lines of
    ``.canopy/work/answers/<name>-<fingerprint>.jsonl``. They are kept while code, data, model and sizes stay as they
    are; other systems, corpus scopes, seeds or samples only add to them. Seconds go to
    ``.canopy/timings/answers-<name>.json``.

    Raises
    ------
    DataError
        If a system that params.yaml names does not exist, or data cannot be used.
    ServerError
        If the language model's server fails after all tries. Finished answers are kept, and the next run goes on.
    """
    assert benchmark is not None
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    with one_thread():
        matrix = prepare_run(config, paths, benchmark)
        _log_parameters(matrix, tracker)
        name = fingerprint(config, paths, benchmark, CODE_ROOT, code_deps(CODE_ROOT, "answers"))
        journal = Journal(paths.work("answers") / f"{benchmark}-{name}.jsonl")
        try:
            answer_all(matrix, paths, journal)
            systems = describe_systems(matrix)
            with replace_directory(paths.output("answers", benchmark)) as out:
                rows, counts = write_tables(out, matrix, journal)
                write_json(out / "systems.json", systems)
                compression = _measure_compression(matrix)
                write_json(out / "compression.json", compression)
                e = config.evaluation
                kinds = matrix.bench.gold.kinds
                lines = compare_systems(leave_out(rows, kinds.left_out), matrix.metric.PRIMARY, resamples=e.resamples,
                                        seed=config.answers.seeds[0], confidence=e.confidence)
                result = _describe(lines, len(rows), systems, counts)
                result.metrics |= kinds.counts()
                result.notes += [f"Gold: {kinds.describe()}."] if kinds.pseudo else []
                result.checks = checks
                write_summary(out, result)
            timings = measure_timings(matrix, journal)
            write_json(paths.root / ".canopy" / "timings" / f"answers-{benchmark}.json", timings)
            _log_timings(timings, tracker)
            _log_curves(compression, tracker)
            remove_other_journals(journal.path, benchmark)
        finally:
            journal.close()
    return result


def _log_parameters(matrix: Run, tracker: Tracker) -> None:
    settings = matrix.config.answers
    tracker.log_params({
        "reader": ", ".join(r.label for r in matrix.readers.values()),
        "systems": len({c.spec.name for c in matrix.cells}), "corpus_scopes": ", ".join(settings.corpus_scopes),
        "k": settings.k, "rounds": settings.rounds, "questions": settings.questions or "all",
    })


def _log_timings(timings: TimingsFile, tracker: Tracker) -> None:
    tracker.log_metrics({f"seconds.{s['corpus_scope']}.{s['system']}": s["mean"]
                         for s in timings["systems"] if not s["variant"]})
    tracker.log_metrics({f"seconds.{corpus_scope}.{step}": v
                         for corpus_scope, steps in timings["retrieval"].items() for step, v in steps.items()})


def _log_curves(compression: CompressionFile, tracker: Tracker) -> None:
    """Gold recall and answers in evidence against tokens: a curve of each compressor, tokens as its steps."""
    for point in compression["curves"]:
        name = f"curve.{point['corpus_scope']}.{point['compressor']}.{point['scorer'] or 'all'}"
        values = {"gold_recall": point["gold_recall"], "answer_in_evidence": point["answer_in_evidence"]}
        if point["tokens"] is not None:
            tracker.log_metrics({f"{name}.{m}": v for m, v in values.items() if v is not None},
                                step=round(point["tokens"]))


def _measure_compression(matrix: Run) -> CompressionFile:
    """What compressors keep without a reader, in the first reader's tokens."""
    bench, settings, e = matrix.bench, matrix.config.answers, matrix.config.evaluation
    roles = next(iter(matrix.readers.values())).roles(settings.seeds)
    ids = {i for sample in matrix.by_seed.values() for i in sample}
    tools = [bench.tools(scope, roles, settings) for scope in matrix.scopes]
    questions = [q for q in bench.questions if q.id in ids - bench.gold.kinds.left_out]
    return measure_compression(tools, questions, bench.gold, bench.places, resamples=e.resamples,
                               seed=settings.seeds[0], confidence=e.confidence)


def _describe(lines: list[Line], answers: int, systems: SystemsFile, counts: AnswerCounts) -> StageResult:
    """Metrics, tables and notes of the stage's summary."""
    primary, missing = systems["metric"]["primary"], [s for s in systems["systems"] if not s["ran"]]
    result = StageResult(files=["systems.json"], metrics={
        "questions": float(systems["questions"]["test"]), "answers": float(answers),
        "systems": float(len(systems["systems"]) - len(missing)), "systems_not_run": float(len(missing)),
        **{name: float(v) for name, v in counts._asdict().items()},
    })
    for line in lines:
        if not line.variant and line.reader == systems["readers"][0]["name"]:
            for m in (primary[0], "gold_recall", "tokens"):
                if (v := line.values[m].estimate) == v:
                    result.metrics[f"{line.corpus_scope}.{line.system}.{m}"] = float(v)
    for scope in dict.fromkeys(line.corpus_scope for line in lines):
        result.tables[f"answers, {scope}"] = flat([x for x in lines if x.corpus_scope == scope], primary)
    result.tables["not run"] = [{"system": s["name"], "why": "; ".join(s["why_not"])} for s in missing]
    result.notes = _notes(answers, systems, counts)
    return result


def _notes(answers: int, systems: SystemsFile, counts: AnswerCounts) -> list[str]:
    labels = ", ".join(r["label"] for r in systems["readers"])
    notes = [f"Read by: {labels}." + (" No language model took part." if systems["llm_free"] else "")]
    if not answers:
        notes.append("No answer was asked for: there is no test question, or no system can run here.")
    elif systems["own_is_unified"] and "own" in systems["corpus_scopes"]:
        notes.append("The benchmark's own corpus is all there is: its rows are those of the unified corpus.")
    if counts.cap_cut:
        notes.append(f"The evidence cap cut {counts.cap_cut} answers' evidence.")
    if counts.fallbacks:
        notes.append(f"{counts.fallbacks} of {counts.calls} replies could not be used, and a fallback stood in.")
    if names := [s["name"] for s in systems["systems"] if not s["ran"]]:
        notes.append(f"Not run, see systems.json for what each needs: {', '.join(names)}.")
    return notes
