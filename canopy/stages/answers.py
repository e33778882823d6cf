"""Stage ``answers``: every system answers a benchmark's test questions, in each corpus scope; a killed run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.answers.compression import measure_compression
from canopy.answers.journal import Journal
from canopy.answers.matrix import do_all, do_until_done, scopes_of
from canopy.answers.rows import ANSWER_SCHEMA, ROUND_SCHEMA, calls_of
from canopy.answers.run import Run, prepare_run
from canopy.answers.summary import compare_systems, flat
from canopy.answers.timings import summarise_seconds, time_retrieval
from canopy.answers.workers import WORTHWHILE, Answer, answer_in_processes, one_thread, usable_cores
from canopy.atomic import replace_directory, write_json
from canopy.benchmarks.declaration import read_declaration
from canopy.config import Config
from canopy.digests import file_sha256
from canopy.embeddings.store import BRANCHING
from canopy.errors import CanopyError
from canopy.items import Question
from canopy.llm.wire import Failed
from canopy.paths import Paths
from canopy.pipelines.availability import describe_needs, find_models, folder_mark
from canopy.pipelines.base import SystemSpec
from canopy.progress import progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.code import CODE_ROOT, code_deps
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("answers", per_benchmark=True, group="evaluation", kinds=("parquet",), reads={
    "benchmark": ("items", "questions", "annotations"),
    "gold_spans": ("gold", "splits", "duplicates"),
})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str | None = None) -> StageResult:
    """Answer one benchmark's test questions into ``data/answers/<name>``: answers.parquet, rounds.parquet, systems.json, compression.json.

    Finished answers are lines of ``.canopy/work/answers/<name>-<fingerprint>.jsonl`` and are not made again while code, data, model and sizes stay as
    they are; other systems, settings, seeds or samples only add to them. Seconds go to ``.canopy/timings/answers-<name>.json``.

    Raises
    ------
    DataError
        Where a system that params.yaml names does not exist, or data cannot be used.
    ServerError
        Where the language model's server fails after all tries and turns: what was answered is kept, and the next run goes on from there.
    """
    assert benchmark is not None
    checks = check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    with one_thread():
        made = prepare_run(config, paths, benchmark)
        settings = config.answers
        tracker.log_params({"reader": ", ".join(r.label for r in made.readers.values()), "systems": len({c.spec.name for c in made.cells}),
                            "corpus_scopes": ", ".join(settings.corpus_scopes), "k": settings.k, "rounds": settings.rounds, "questions": settings.questions or "all"})
        journal = Journal(paths.work("answers") / f"{benchmark}-{fingerprint(config, paths, benchmark)}.jsonl")
        try:
            _answer_all(made, paths, journal)
            listed = describe_systems(made)
            with replace_directory(paths.output("answers", benchmark)) as out:
                rows, notes = _write(out, made, journal)
                write_json(out / "systems.json", listed)
                write_json(out / "compression.json", _measure_compression(made))
                result = _describe(rows, listed, notes, made.metric.PRIMARY, config)
                result.checks = checks
                write_summary(out, result)
            _write_timings(paths.root / ".canopy" / "timings" / f"answers-{benchmark}.json", made, journal, tracker)
            _forget_others(journal.path, benchmark)
        finally:
            journal.close()
    return result


def fingerprint(config: Config, paths: Paths, benchmark: str) -> str:
    """Names what every answer depends on: code, data, encoder, baselines' models, parameters. What is asked for (systems, settings, seeds, samples, sizes) does not
    count, and language models are named by each answer's own key, so that another reader leaves finished answers be."""
    asked = {"systems", "corpus_scopes", "seeds", "questions", "budgets", "sweep_k", "sweep_rounds", "readers"}
    answers = config.answers.model_dump(mode="json", exclude=asked)
    declared = read_declaration(paths.output("benchmark", benchmark))
    seen = hashlib.sha256(json.dumps([answers, config.hierarchy.model_dump(mode="json"),
                                      config.encoder.model_dump(mode="json"),
                                      declared.metric, declared.supporting_facts, declared.evidence_cap], sort_keys=True).encode())
    root = CODE_ROOT
    files = [root / name for name in code_deps(root, "answers")]
    data = [paths.output("benchmark", benchmark) / n for n in ("items.parquet", "questions.parquet")]
    data += [paths.output("gold_spans", benchmark) / n for n in ("gold.parquet", "splits.parquet")]
    data += sorted(f for s in ("corpus", "item_index") for f in paths.output(s).glob("*") if f.suffix in (".parquet", ".json"))
    # Another B's nodes are the same encoder's over the same items: it adds answers and changes none.
    data += sorted(f for f in paths.output("node_embeddings").glob("*/manifest.json") if not f.parent.name.startswith(BRANCHING))
    for key, folder in sorted(find_models(config.answers.models, paths.root).items()):
        seen.update(f"\x1f{key}\x1f{folder_mark(folder)}".encode())
    for file, name in [*((f, f.relative_to(root)) for f in files), *((f, f.relative_to(paths.root)) for f in data)]:
        seen.update(f"\x1f{name}\x1f".encode())
        seen.update(bytes.fromhex(file_sha256(file)))
    return seen.hexdigest()[:16]


def _answer_all(made: Run, paths: Paths, journal: Journal) -> None:
    """Answer what the journal does not hold: over a server with as many threads as it takes, else here or, where there is enough to do, on all cores."""
    wanted = [(n, q) for n, cell in enumerate(made.cells) for q in made.questions(cell)]
    tasks = [(n, q) for n, q in wanted if made.cells[n].key(q.id) not in journal]
    with progress(f"answers {made.benchmark}", len(wanted), "answers") as advance:
        advance(len(wanted) - len(tasks))

        def take(answer: Answer) -> None:
            journal.add(*answer)
            advance(1)

        cores = usable_cores()
        asking = {n for n, cell in enumerate(made.cells) if made.readers[cell.reader].kind == "llm"}

        def do(task: tuple[int, Question]) -> None:
            take((made.cells[task[0]].key(task[1].id), made.answer(made.cells[task[0]], task[1])))

        try:
            alone = [t for t in tasks if t[0] not in asking]  # without a model to wait for, threads would only hold each other up
            if made.config.encoder.light and cores > 1 and len(alone) >= WORTHWHILE:
                # A baseline's own model is loaded once, here: one in every process would fill the memory.
                light = [(n, q.id) for n, q in alone if not made.cells[n].spec.needs.models]
                if light:
                    answer_in_processes(made, paths, light, take, cores)
                alone = [(n, q) for n, q in alone if made.cells[n].spec.needs.models]
            do_all(alone, do, 1)
            asked = [t for t in tasks if t[0] in asking]
            if asked:
                do_until_done(asked, do, max(lang.concurrency for lang in (made.config.language, *made.config.answers.readers)), lambda e: isinstance(e.__cause__, Failed))
        except CanopyError as e:
            raise type(e)(f"{e}; {len(journal)} finished answers are kept, and the next run goes on from there") from e


def _measure_compression(made: Run) -> dict[str, Any]:
    """What compressors keep without a reader, in the first reader's tokens."""
    config, bench, settings = made.config, made.bench, made.config.answers
    roles, asked = next(iter(made.readers.values())).roles(settings.seeds), {i for drawn in made.by_seed.values() for i in drawn}
    return measure_compression([bench.tools(s, roles, settings) for s in made.searched], [q for q in bench.questions if q.id in asked], bench.gold, bench.places,
                               resamples=config.evaluation.resamples, seed=settings.seeds[0], confidence=config.evaluation.confidence)


def _write(out: Path, made: Run, journal: Journal) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Write both tables, a row group a cell; returns the answers' rows without their evidence, and counts for people."""
    kept, counts = [], dict.fromkeys(("cap_cut", "fallbacks", "calls"), 0)
    with pq.ParquetWriter(out / "answers.parquet", ANSWER_SCHEMA, compression="zstd") as answers, \
            pq.ParquetWriter(out / "rounds.parquet", ROUND_SCHEMA, compression="zstd") as rounds:
        for cell in made.cells:
            held = {q.id: journal.get(cell.key(q.id))["row"] for q in made.questions(cell)}
            for corpus_scope in (cell.corpus_scope, *(("own",) if made.copies_own and cell.corpus_scope == "unified" else ())):
                columns = {**cell.columns, "corpus_scope": corpus_scope}
                told = [{"question_id": q, **columns, "seed": seed, **cell.sizes, **held[q]} for seed in cell.seeds for q in made.by_seed[seed]]
                answers.write_table(pa.Table.from_pylist([{k: v for k, v in r.items() if k != "steps"} for r in told], schema=ANSWER_SCHEMA))
                steps = [{"question_id": q, **columns, **step} for q in held for step in held[q]["steps"]]
                rounds.write_table(pa.Table.from_pylist(steps, schema=ROUND_SCHEMA))
                kept += [{k: v for k, v in r.items() if k not in ("steps", "evidence", "prediction")} for r in told]
            counts["cap_cut"] += sum(r["cap_cut"] for r in held.values())
            counts["calls"] += sum(map(calls_of, held.values()))
            counts["fallbacks"] += sum(c["fallbacks"] for r in held.values() for c in r["calls"])
    return kept, counts


def describe_systems(made: Run) -> dict[str, Any]:
    """What systems.json says: who read, what was asked, and of every system with which readers and in which settings it ran, or why not."""
    readers, settings, metric = made.readers, made.config.answers.corpus_scopes, made.metric

    def describe(spec: SystemSpec) -> dict[str, Any]:
        able, where = [n for n in readers if not made.obstacles[n][spec.name]], scopes_of(spec, settings)
        why = made.obstacles[next(iter(readers))][spec.name] if not able else [] if where else [f"not run in the settings asked for ({', '.join(settings)})"]
        return {"name": spec.name, "says": spec.says, "family": spec.family, "paper": spec.paper, "needs": describe_needs(spec), "ran": bool(able and where),
                "readers": able, "corpus_scopes": where if able else [], "why_not": why, "main": spec.main, "component": spec.component,
                "oracle": spec.oracle, "searcher": spec.searcher, "sweeps": list(spec.sweeps)}

    return {
        "readers": [{"name": n, "label": r.label, "kind": r.kind} for n, r in readers.items()],
        "llm_free": all(r.kind == "plain" for r in readers.values()),
        "metric": {"adapter": made.config.benchmarks[made.benchmark].adapter, "primary": list(metric.PRIMARY), "rules": metric.RULES},
        "questions": {"test": len(made.bench.questions), "asked": {str(s): len(q) for s, q in made.by_seed.items()}},
        "corpus_scopes": list(settings), "own_is_unified": made.bench.same_corpus, "seeds": list(made.config.answers.seeds),
        "systems": [describe(s) for s in made.wanted],
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
                if (v := line.values[m].estimate) == v:
                    result.metrics[f"{line.corpus_scope}.{line.system}.{m}"] = float(v)
    for corpus_scope in dict.fromkeys(line.corpus_scope for line in lines):
        result.tables[f"answers, {corpus_scope}"] = flat([x for x in lines if x.corpus_scope == corpus_scope], primary)
    result.tables["not run"] = [{"system": s["name"], "why": "; ".join(s["why_not"])} for s in listed["systems"] if not s["ran"]]
    labels = ", ".join(r["label"] for r in listed["readers"])
    result.notes.append(f"Read by: {labels}." + (" No language model took part." if listed["llm_free"] else ""))
    if not rows:
        result.notes.append("No answer was asked for: there is no test question, or no system can run here.")
    elif listed["own_is_unified"] and "own" in listed["corpus_scopes"]:
        result.notes.append("The benchmark's own corpus is all there is: its rows are those of the unified corpus.")
    if counts["cap_cut"]:
        result.notes.append(f"The evidence cap cut {counts['cap_cut']} answers' evidence.")
    if counts["fallbacks"]:
        result.notes.append(f"{counts['fallbacks']} of {counts['calls']} replies could not be used, and a fallback stood in.")
    if left := [s["name"] for s in listed["systems"] if not s["ran"]]:
        result.notes.append(f"Not run, see systems.json for what each needs: {', '.join(left)}.")
    result.files = ["systems.json"]
    return result


def _write_timings(path: Path, made: Run, journal: Journal, tracker: Tracker) -> None:
    bench, config = made.bench, made.config
    asked = [(c, q.id) for c in made.cells for q in made.questions(c)]
    systems = summarise_seconds((c.columns, journal.get(c.key(q))["seconds"]) for c, q in asked)
    retrieval = {s: time_retrieval(bench, s, config.answers.k, config.hierarchy.branching, config.hierarchy.segment_seconds)
                 for s in dict.fromkeys(c.corpus_scope for c in made.cells if c.corpus_scope != "gold")} if bench.questions else {}
    write_json(path, {"systems": systems, "retrieval": retrieval})
    tracker.log_metrics({f"seconds.{s['corpus_scope']}.{s['system']}": s["mean"] for s in systems if not s["variant"]})
    tracker.log_metrics({f"seconds.{corpus_scope}.{name}": v for corpus_scope, values in retrieval.items() for name, v in values.items()})


def _forget_others(current: Path, benchmark: str) -> None:
    """Answers that were made with other code, data or models are of no further use."""
    for other in current.parent.glob("*.jsonl"):
        if other != current and re.fullmatch(re.escape(benchmark) + r"-[0-9a-f]{16}", other.stem):
            other.unlink()
