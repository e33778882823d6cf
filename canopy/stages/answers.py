"""Stage ``answers``: every system answers a benchmark's test questions, in each corpus setting; a killed run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import replace_directory, write_json
from canopy.config import Config
from canopy.errors import CanopyError, DataError, ServerError
from canopy.evaluation.answer_rows import ANSWER_SCHEMA, ROUND_SCHEMA, Scorekeeper, calls_of, seconds_of
from canopy.evaluation.answer_summary import compare_systems, flat
from canopy.evaluation.answer_timings import summarise_seconds, time_retrieval
from canopy.evaluation.answering import Reading, Workbench, connect_readers, open_workbench
from canopy.evaluation.budgets import measure_compression
from canopy.evaluation.journal import Journal
from canopy.evaluation.matrix import Cell, do_all, plan, sample_by_seed, settings_of
from canopy.evaluation.official.base import official_metric
from canopy.gold.selection import draw
from canopy.items import Question
from canopy.llm.roles import Trace
from canopy.pipelines.availability import describe_needs, find_obstacles
from canopy.pipelines.base import SystemSpec, all_systems, find_systems
from canopy.progress import progress
from canopy.stages.base import Paths, StageResult, Tracker, Validator
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs

BySeed = Mapping[int, Sequence[str]]  # ids of the questions that each seed asks
FACTS = frozenset({"hotpotqa", "two_wiki"})  # adapters whose official scores include supporting facts


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str | None = None) -> StageResult:
    """Answer one benchmark's test questions into ``data/answers/<name>``: answers.parquet, rounds.parquet, systems.json, compression.json.

    Finished answers are lines of ``.canopy/work/answers/<name>-<fingerprint>.jsonl`` and are not made again while code, data, model and sizes stay as
    they are; other systems, settings, seeds or samples only add to them. Seconds go to ``.canopy/timings/answers-<name>.json``.

    Raises
    ------
    DataError
        Where a system that params.yaml names does not exist, or data cannot be used.
    ServerError
        Where the language model's server fails after all tries: what was answered is kept, and the next run goes on from there.
    """
    assert benchmark is not None
    checks = check_inputs("answers", config, paths, validator, benchmark)
    settings = config.answers
    bench = open_workbench(config, paths, benchmark)
    readers = connect_readers(config, paths, bench.f0)
    wanted = find_systems(settings.systems) if settings.systems else list(all_systems().values())
    obstacles = {name: {s.name: find_obstacles(s, bench.situation(r.kind == "llm")) for s in wanted} for name, r in readers.items()}
    # Where a benchmark's own corpus is all there is, its rows are those of the unified corpus: the same items are searched.
    searched = [s for s in settings.settings if s != "own" or not (bench.same_corpus and "unified" in settings.settings)]
    cells = [c for r in readers.values() for c in plan([s for s in wanted if not obstacles[r.name][s.name]], r.name, searched, settings, drawn=r.drawn)]
    ids = [q.id for q in bench.questions]
    by_seed = sample_by_seed(ids, settings.seeds, (lambda seed: [q.id for q in draw(bench.questions, settings.questions, seed)]) if settings.questions else None)
    tracker.log_params({"reader": ", ".join(r.label for r in readers.values()), "systems": len({c.spec.name for c in cells}), "settings": ", ".join(settings.settings),
                        "k": settings.k, "rounds": settings.rounds, "questions": settings.questions or "all"})
    metric = official_metric(config.benchmarks[benchmark].adapter)
    keeper = Scorekeeper(metric, bench.gold, bench.places, config.benchmarks[benchmark].adapter in FACTS)
    work = paths.work("answers")
    journal = Journal(work / f"{benchmark}-{fingerprint(config, paths, benchmark)}.jsonl")
    try:
        _answer_all(cells, bench, readers, keeper, journal, by_seed, config, benchmark)
        listed = describe_systems(wanted, obstacles, bench, readers, config, benchmark, metric, by_seed)
        with replace_directory(paths.output("answers", benchmark)) as out:
            rows, notes = _write(out, cells, bench, journal, by_seed, "own" in settings.settings and "own" not in searched)
            write_json(out / "systems.json", listed)
            write_json(out / "compression.json", _measure_compression(bench, readers, searched, by_seed, config))
            result = _describe(rows, listed, notes, metric.PRIMARY, config)
            result.checks = checks
            write_summary(out, result)
        _write_timings(paths.root / ".canopy" / "timings" / f"answers-{benchmark}.json", cells, bench, journal, config, tracker)
        _forget_others(journal.path, benchmark)
    finally:
        journal.close()
    return result


def fingerprint(config: Config, paths: Paths, benchmark: str) -> str:
    """Names everything that an answer depends on, but which systems, settings, seeds, samples and sizes are asked for: code, data, models, parameters."""
    answers = config.answers.model_dump(mode="json", exclude={"systems", "settings", "seeds", "questions", "budgets", "sweep_k", "sweep_rounds", "readers"})
    unread = {"base_url", "concurrency", "timeout_seconds", "tries"}  # where and how patiently a model is asked does not change what it says
    languages = [lang.model_dump(mode="json", exclude=unread) for lang in (config.language, *config.answers.readers)]
    seen = hashlib.sha256(json.dumps([answers, languages, os.environ.get("CANOPY_LLM_MODEL", ""), config.hierarchy.model_dump(mode="json"),
                                      config.encoder.model_dump(mode="json"), config.benchmarks[benchmark].adapter], sort_keys=True).encode())
    package = Path(__file__).resolve().parents[1]
    files = sorted(f for f in package.rglob("*") if f.is_file() and f.suffix != ".pyc" and "starter" not in f.relative_to(package).parts)
    data = [paths.output("benchmark", benchmark) / n for n in ("items.parquet", "questions.parquet")]
    data += [paths.output("gold_spans", benchmark) / n for n in ("gold.parquet", "splits.parquet")]
    data += sorted(f for s in ("corpus", "item_index") for f in paths.output(s).glob("*") if f.suffix in (".parquet", ".json"))
    data += sorted(paths.output("node_embeddings").glob("*/manifest.json"))
    for file, name in [*((f, f.relative_to(package)) for f in files), *((f, f.relative_to(paths.root)) for f in data)]:
        seen.update(f"\x1f{name}\x1f".encode())
        with open(file, "rb") as f:
            seen.update(hashlib.file_digest(f, "sha256").digest())
    return seen.hexdigest()[:16]


def _answer_all(cells: Sequence[Cell], bench: Workbench, readers: dict[str, Reading], keeper: Scorekeeper, journal: Journal,
                by_seed: BySeed, config: Config, benchmark: str) -> None:
    tools = {id(c): bench.tools(c.setting, readers[c.reader].roles(c.seeds), c.answers) for c in cells}
    wanted = [(c, q) for c in cells for q in _asked(c, bench, by_seed)]
    tasks = [(c, q) for c, q in wanted if c.key(q.id) not in journal]
    total = len(wanted)
    with progress(f"answers {benchmark}", total, "answers") as advance:
        advance(total - len(tasks))

        def do(task: tuple[Cell, Question]) -> None:
            cell, question = task
            trace, started = Trace(), time.perf_counter()
            try:
                answer = cell.system.answer(question, tools[id(cell)], trace)
                seconds = seconds_of(trace, time.perf_counter() - started)
                row = keeper.measure(question, answer, tools[id(cell)], trace)
            except CanopyError as e:
                raise _stopped(e, cell, question, len(journal), benchmark) from e
            except Exception as e:
                e.add_note(f"{cell.spec.name} ({cell.setting}) on question {question.id}")
                raise
            journal.add(cell.key(question.id), {"row": row, "seconds": seconds})
            advance(1)

        do_all(tasks, do, config.language.concurrency if any(r.kind == "llm" for r in readers.values()) else 1)


def _asked(cell: Cell, bench: Workbench, by_seed: BySeed) -> list[Question]:
    """The questions that a cell answers, in the benchmark's order."""
    drawn = {q for seed in cell.seeds for q in by_seed[seed]}
    return [q for q in bench.questions if q.id in drawn]


def _stopped(error: CanopyError, cell: Cell, question: Question, finished: int, benchmark: str) -> CanopyError:
    kind = next(k for k in (ServerError, DataError, CanopyError) if isinstance(error, k))
    return kind(f"answers@{benchmark}: {cell.spec.name} ({cell.setting}) stopped at question {question.id}: {error}; {finished} finished answers are kept, and "
                "the next run goes on from there")


def _measure_compression(bench: Workbench, readers: dict[str, Reading], searched: Sequence[str], by_seed: BySeed, config: Config) -> dict[str, Any]:
    """What compressors keep without a reader, in the first reader's tokens."""
    settings = config.answers
    roles, asked = next(iter(readers.values())).roles(settings.seeds), {i for drawn in by_seed.values() for i in drawn}
    return measure_compression([bench.tools(s, roles, settings) for s in searched], [q for q in bench.questions if q.id in asked], bench.gold, bench.places,
                               resamples=config.evaluation.resamples, seed=settings.seeds[0], confidence=config.evaluation.confidence)


def _write(out: Path, cells: Sequence[Cell], bench: Workbench, journal: Journal, by_seed: BySeed, copy_own: bool) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Write both tables, a row group a cell; returns the answers' rows without their evidence, and counts for people."""
    kept, counts = [], dict.fromkeys(("cap_cut", "fallbacks", "calls"), 0)
    with pq.ParquetWriter(out / "answers.parquet", ANSWER_SCHEMA, compression="zstd") as answers, \
            pq.ParquetWriter(out / "rounds.parquet", ROUND_SCHEMA, compression="zstd") as rounds:
        for cell in cells:
            held = {q.id: journal.get(cell.key(q.id))["row"] for q in _asked(cell, bench, by_seed)}
            for setting in (cell.setting, *(("own",) if copy_own and cell.setting == "unified" else ())):
                columns = {**cell.columns, "setting": setting}
                made = [{"question_id": q, **columns, "seed": seed, **cell.sizes, **held[q]} for seed in cell.seeds for q in by_seed[seed]]
                answers.write_table(pa.Table.from_pylist([{k: v for k, v in r.items() if k != "steps"} for r in made], schema=ANSWER_SCHEMA))
                steps = [{"question_id": q, **columns, **step} for q in held for step in held[q]["steps"]]
                rounds.write_table(pa.Table.from_pylist(steps, schema=ROUND_SCHEMA))
                kept += [{k: v for k, v in r.items() if k not in ("steps", "evidence", "prediction")} for r in made]
            counts["cap_cut"] += sum(r["cap_cut"] for r in held.values())
            counts["calls"] += sum(map(calls_of, held.values()))
            counts["fallbacks"] += sum(c["fallbacks"] for r in held.values() for c in r["calls"])
    return kept, counts


def describe_systems(wanted: Sequence[SystemSpec], obstacles: dict[str, dict[str, list[str]]], bench: Workbench, readers: dict[str, Reading], config: Config,
                     benchmark: str, metric: ModuleType, by_seed: BySeed) -> dict[str, Any]:
    """What systems.json says: who read, what was asked, and of every system with which readers and in which settings it ran, or why not."""
    settings = config.answers.settings

    def describe(spec: SystemSpec) -> dict[str, Any]:
        able, where = [n for n in readers if not obstacles[n][spec.name]], settings_of(spec, settings)
        why = obstacles[next(iter(readers))][spec.name] if not able else [] if where else [f"not run in the settings asked for ({', '.join(settings)})"]
        return {"name": spec.name, "says": spec.says, "family": spec.family, "paper": spec.paper, "needs": describe_needs(spec), "ran": bool(able and where),
                "readers": able, "settings": where if able else [], "why_not": why}

    return {
        "readers": [{"name": n, "label": r.label, "kind": r.kind} for n, r in readers.items()],
        "llm_free": all(r.kind == "plain" for r in readers.values()),
        "metric": {"adapter": config.benchmarks[benchmark].adapter, "primary": list(metric.PRIMARY), "rules": metric.RULES},
        "questions": {"test": len(bench.questions), "asked": {str(s): len(q) for s, q in by_seed.items()}},
        "settings": list(settings), "own_is_unified": bench.same_corpus, "seeds": list(config.answers.seeds),
        "systems": [describe(s) for s in wanted],
    }


def _describe(rows: list[dict[str, Any]], listed: dict[str, Any], counts: dict[str, int], primary: Sequence[str], config: Config) -> StageResult:
    result = StageResult(metrics={"questions": float(listed["questions"]["test"]), "answers": float(len(rows)),
                                  "systems": float(sum(s["ran"] for s in listed["systems"])), "systems_not_run": float(sum(not s["ran"] for s in listed["systems"])),
                                  **{k: float(v) for k, v in counts.items()}})
    e = config.evaluation
    lines = compare_systems(rows, primary, resamples=e.resamples, seed=config.answers.seeds[0], confidence=e.confidence)
    for line in lines:
        if not line.variant and line.reader == listed["readers"][0]["name"]:
            for m in (primary[0], "gold_recall", "tokens"):
                if (v := line.values[m].difference) == v:
                    result.metrics[f"{line.setting}.{line.system}.{m}"] = float(v)
    for setting in dict.fromkeys(line.setting for line in lines):
        result.tables[f"answers, {setting}"] = flat([x for x in lines if x.setting == setting], primary)
    result.tables["not run"] = [{"system": s["name"], "why": "; ".join(s["why_not"])} for s in listed["systems"] if not s["ran"]]
    labels = ", ".join(r["label"] for r in listed["readers"])
    result.notes.append(f"Read by: {labels}." + (" No language model took part." if listed["llm_free"] else ""))
    if not rows:
        result.notes.append("No answer was asked for: there is no test question, or no system can run here.")
    elif listed["own_is_unified"] and "own" in listed["settings"]:
        result.notes.append("The benchmark's own corpus is all there is: its rows are those of the unified corpus.")
    if counts["cap_cut"]:
        result.notes.append(f"The evidence cap cut {counts['cap_cut']} answers' evidence.")
    if counts["fallbacks"]:
        result.notes.append(f"{counts['fallbacks']} of {counts['calls']} replies could not be used, and a fallback stood in.")
    if left := [s["name"] for s in listed["systems"] if not s["ran"]]:
        result.notes.append(f"Not run, see systems.json for what each needs: {', '.join(left)}.")
    result.files = ["systems.json"]
    return result


def _write_timings(path: Path, cells: Sequence[Cell], bench: Workbench, journal: Journal, config: Config, tracker: Tracker) -> None:
    asked = [(c, q.id) for c in cells for q in bench.questions if c.key(q.id) in journal]
    systems = summarise_seconds((c.columns, journal.get(c.key(q))["seconds"]) for c, q in asked)
    retrieval = {s: time_retrieval(bench, s, config.answers.k, config.hierarchy.branching, config.hierarchy.segment_seconds)
                 for s in dict.fromkeys(c.setting for c in cells if c.setting != "gold")} if bench.questions else {}
    write_json(path, {"systems": systems, "retrieval": retrieval})
    tracker.log_metrics({f"seconds.{s['setting']}.{s['system']}": s["mean"] for s in systems if not s["variant"]})
    tracker.log_metrics({f"seconds.{setting}.{name}": v for setting, values in retrieval.items() for name, v in values.items()})


def _forget_others(current: Path, benchmark: str) -> None:
    """Answers that were made with other code, data or models are of no further use."""
    for other in current.parent.glob("*.jsonl"):
        if other != current and re.fullmatch(re.escape(benchmark) + r"-[0-9a-f]{16}", other.stem):
            other.unlink()
