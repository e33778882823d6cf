"""Stage `benchmark`: raw release files to items, questions and annotations; unusable records are quarantined."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from canopy.atomic import replace_directory, write_json, write_lines
from canopy.benchmarks.declaration import write_declaration
from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.config import Config
from canopy.errors import DataError
from canopy.gold.pseudo import describe, locate_answers
from canopy.ingest.enrichment import enrich_items
from canopy.ingest.sink import Sink
from canopy.items import Item, write_annotations, write_items, write_questions
from canopy.paths import Paths
from canopy.progress import progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.protocol import Validator

STAGE = Stage("benchmark", per_benchmark=True, group="data", kinds=("parquet",))


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Read one benchmark through its adapter into ``data/benchmark/<name>``.

    Raises
    ------
    DataError
        If the raw folder or a file is missing or broken, or if more records than ``ingest.max_quarantined_share``
        cannot be used.
    """
    assert benchmark is not None
    settings = config.benchmarks[benchmark]
    raw = paths.raw(config, benchmark)
    if not raw.is_dir():
        raise DataError(f"{raw}: no such folder (params.yaml: benchmarks.{benchmark}.path)")
    tracker.log_params({"adapter": settings.adapter, "max_quarantined_share": config.ingest.max_quarantined_share})
    with replace_directory(paths.output("benchmark", benchmark)) as out:
        sink = Sink(benchmark, out)
        adapter = load_benchmark_adapter(settings.adapter)
        with progress("reading", unit="records") as sink.advance:
            adapter.read(raw, sink)
        enrich_items(sink, raw, paths.work("benchmark"), ocr=config.ingest.ocr,
                     segmentation=config.hierarchy.segmentation)
        located: Counter[str] = Counter()
        if config.ingest.pseudo_gold:  # after the words were read off images and frames: answers may be there too
            with progress("locating answers"):
                pseudo = locate_answers(sink.questions.values(), sink.annotations, sink.items.values(),
                                        limit=config.ingest.pseudo_gold_limit, counts=located)
            sink.annotations += pseudo
            sink.notes += describe(located, pseudo)
        write_declaration(out, adapter.BENCHMARK)
        write_json(out / "select.json", settings.select.model_dump(mode="json"))  # gold_spans applies it
        write_lines(out / "quarantine.jsonl", sink.quarantine)
        write_lines(out / "waiting.jsonl", sink.waiting)
        _refuse_too_many(sink, raw, config, paths.work("benchmark") / f"{benchmark}-quarantine.jsonl")
        tables = {"items": write_items(out / "items.parquet", sink.items.values()),
                  "questions": write_questions(out / "questions.parquet", sink.questions.values()),
                  "annotations": write_annotations(out / "annotations.parquet", sink.annotations)}
        counted = ("read", "mapped", "fallback", "waiting", "quarantined")
        result = StageResult(metrics={k: float(sink.counts[k]) for k in counted})
        modalities = Counter(i.modality for i in sink.items.values())
        result.metrics |= {"items": float(len(sink.items)), "questions": float(len(sink.questions)),
                           "annotations": float(len(sink.annotations)),
                           "pseudo_gold_questions": float(located["located"]),
                           **{f"pseudo_gold_{k}": float(located[k])
                              for k in ("absent", "uncovered", "common", "short")},
                           **{f"items_{m}": float(n) for m, n in sorted(modalities.items())}}
        result.tables["items"] = [{"id": i.id, "modality": i.modality, "title": i.title}
                                  for i in list(sink.items.values())[:10]]
        result.tables["questions"] = [{"id": q.id, "question": q.question, "answers": " | ".join(q.answers)}
                                      for q in list(sink.questions.values())[:10]]
        result.tables["quarantine"] = sink.quarantine[:20]
        result.tables["without_words"] = [{"id": i.id, "modality": i.modality, "media": i.media}
                                          for i in _silent(sink)[:20]]
        result.tables["fallbacks"] = [{"reason": r, "records": n} for r, n in sorted(sink.fallbacks.items())]
        result.notes = [*sink.notes, *_sentences(sink)]
        result.files = ["quarantine.jsonl", "waiting.jsonl"]
        result.checks = validator.check("benchmark", tables)
        write_summary(out, result)
    tracker.log_artifact(paths.output("benchmark", benchmark) / "quarantine.jsonl")
    return result


def _refuse_too_many(sink: Sink, raw: Path, config: Config, kept: Path) -> None:
    """Stop on too many unusable records, or when nothing is left; the quarantine file is kept where it can be read."""
    counts, limit = sink.counts, config.ingest.max_quarantined_share

    def too_many(wrong: int, of: int) -> bool:
        return wrong > limit * of and (not limit or wrong >= config.ingest.min_quarantined or 2 * wrong > of)

    bad = Counter(q["file"] for q in sink.quarantine)
    # Each file has a share of its own, so that many good items do not hide that most questions are bad. Folders with
    # one record a file count together.
    if too_many(counts["quarantined"], counts["read"]):
        over = [("", counts["quarantined"], counts["read"])]
    else:
        over = [(f" of {f}", n, sink.read_from[f]) for f, n in bad.items()
                if sink.read_from[f] > 20 and too_many(n, sink.read_from[f])]
    for where, wrong, of in over[:1]:
        write_lines(kept, sink.quarantine)
        first = next(q for q in sink.quarantine if where in ("", f" of {q['file']}"))
        raise DataError(f"{raw}: {wrong} of {of} records{where} cannot be used, more than ingest.max_quarantined_share "
                        f"{limit:g} allows; the first: {first['file']}, {first['record']}: {first['reason']}; "
                        f"all of them: {kept}")
    if not sink.items and not counts["waiting"] and not sink.questions:
        raise DataError(f"{raw}: no item could be read "
                        f"({counts['read']} records, {counts['waiting']} waiting for a document)")


def _sentences(sink: Sink) -> list[str]:
    c = sink.counts
    sentences = [f"{c['read']} records read: {c['mapped']} mapped, {c['fallback']} mapped with a fallback, "
                 f"{c['waiting']} waiting for a document, {c['quarantined']} quarantined."]
    silent = _silent(sink)
    if silent:
        sentences.append(f"{len(silent)} images or videos have no words at all (title, caption, subtitles, text read "
                         "off them): a text encoder cannot find them. "
                         f"The first: {', '.join(i.id for i in silent[:20])}.")
    return sentences


def _silent(sink: Sink) -> list[Item]:
    """Images and videos without a single word."""
    media = [i for i in sink.items.values() if i.modality in ("image", "video")]
    return [i for i in media if not (i.title + i.caption + i.words).strip() and not i.cues and not i.screen]
