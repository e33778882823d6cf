"""LVBench: hour-long videos as items, the time references of its questions as gold seconds.

Two releases are read: the official ``video_info.meta.jsonl`` (a line a video) and UniversalRAG's ``query/lvbench.json``
(a question a record, reworded so that it names its video, which retrieval needs). Where both are there, UniversalRAG's
questions are read. The videos come from YouTube; a question whose video is not there waits. Options stay inside the
question's words, since the reader needs them, and stand in ``details`` by letter.

A pre-cut segment that lies there as a file of its own is an item, and time references are moved to it (see
`canopy.benchmarks.reading.footage`). UniversalRAG itself publishes its cuts as numbers (``clip.parquet``), not as
files: without segment files a video is one item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.choices import letter_of, options_of
from canopy.benchmarks.reading.footage import Videos, gold_in
from canopy.benchmarks.reading.records import Record, distinct_files, given_id, list_of, object_of
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.times import span_of
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.files import iterate_jsonl, load_json_list
from canopy.ingest.sink import Draft, Sink, Unusable
from canopy.items import Annotation, Question

_UNIVERSALRAG = "https://raw.githubusercontent.com/wgcyeo/UniversalRAG/0426e2c5953039b88d7b59a30051f3a86ee40d08"
BENCHMARK = Benchmark(
    title="LVBench",
    licence="CC BY-NC-SA 4.0; the videos belong to their makers",
    home="https://huggingface.co/datasets/THUDM/LVBench",
    files=(
        ReleaseFile("meta", ("video_info.meta.jsonl", "video_info.meta.jsonl.gz"),
                    "1,549 questions on 103 videos, a line a video",
                    "https://huggingface.co/datasets/THUDM/LVBench/resolve/main/video_info.meta.jsonl"),
        ReleaseFile("queries", ("query/lvbench.json", "lvbench.json"),
                    "UniversalRAG's adaptation: 829 questions that name their video",
                    f"{_UNIVERSALRAG}/dataset/query/lvbench.json"),
        ReleaseFile("list", ("LVBench/videos.txt", "videos.txt"), "the addresses of UniversalRAG's videos",
                    f"{_UNIVERSALRAG}/dataset/LVBench/videos.txt"),
        ReleaseFile("videos", ("videos/", "all_videos/"),
                    "the videos, named by their YouTube id (<id>.mp4); any folder will do"),
        ReleaseFile("scripts", ("scripts/",), "subtitles, named like the videos (<id>.en.vtt); any folder will do"),
    ),
    needs=(("meta", "queries"),),
    aliases=("lv_bench",),
    layout="lvbench/\n  dataset/query/lvbench.json      (or video_info.meta.jsonl)\n  dataset/LVBench/videos.txt\n"
           "  dataset/LVBench/videos/<id>.mp4\n  dataset/LVBench/scripts/<id>.en.vtt",
    metric="options",
    evidence_cap="video",
    paper_name="LVBench",
    expected=(
        Expected("videos", 77, "the paper", "videos"),
        Expected("pre-cut segments", 1_529, "the paper", "video items"),
        Expected("questions", 662, "the paper"),
        Expected("test questions", 500, "the paper", "test side"),
        Expected("train questions", 162, "the paper", "train side"),
    ),
)
Entry = tuple[Path, str, str, Any]


def read(raw: Path, sink: Sink) -> None:
    """Read the questions, and the videos that are there.

    Raises
    ------
    DataError
        If no question file is there, or it is broken.
    """
    files = require_files(raw, BENCHMARK)
    videos, known = Videos(raw, sink), dict.fromkeys(_listed(files["list"], sink))
    entries = list(_adapted(files["queries"], sink) if files["queries"] else _official(files["meta"], sink))
    known.update((key, None) for _, _, key, _ in entries if key)
    videos.named = frozenset(known)
    # All videos that the release names, also those of which no question can be kept: retrieval sees them.
    there = sum(bool(videos.clips(key).clips) for key in known)
    sink.notes.append(f"{there} of the {len(known)} videos that are named are there and can be read")
    if files["queries"] and files["meta"]:
        sink.notes.append(f"{files['meta'][0].name}: not read, since {files['queries'][0].name} holds questions on the "
                          "same videos that name them")
    for path, name, key, record in entries:
        with sink.record(path, name) as draft:
            map_question(object_of(record), name, key, videos, sink.benchmark, draft)


def _listed(paths: list[Path], sink: Sink) -> list[str]:
    """Video ids of the addresses in a list, one a line."""
    try:
        text = paths[0].read_text("utf-8-sig") if paths else ""
    except (OSError, ValueError) as e:
        sink.notes.append(f"{paths[0].name}: not read: {str(e)[:120]}")
        return []
    return re.findall(r"(?:[?&]v=|youtu\.be/)([A-Za-z0-9_-]+)", text)


def _adapted(paths: list[Path], sink: Sink) -> Iterator[Entry]:
    """UniversalRAG's records with their place and the id of their video ("" if they name none)."""
    for path in distinct_files(paths, sink):
        for number, record in enumerate(load_json_list(path)):
            named = record.get("gt_videos") if isinstance(record, dict) else None
            key = (
                PurePosixPath(named[0]).stem
                if isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)
                else ""
            )
            yield path, given_id(record, "index") or f"record {number}", key, record


def _official(paths: list[Path], sink: Sink) -> Iterator[Entry]:
    """The questions of every line with their place and the line's ``key``.

    A line that is no video with questions goes to quarantine.
    """
    for path in distinct_files(paths, sink):
        for place, line in iterate_jsonl(path, sink):
            key = given_id(line, "key")
            questions = line.get("qa") if isinstance(line, dict) else None
            # Mirrors repeat the video's fields with each question, one a line.
            questions = [line] if questions is None and key and "question" in line else questions
            if not key or not isinstance(questions, list):
                sink.reject(path, key or place, "a line must hold the video's key and its qa, a list of questions")
                continue
            for number, record in enumerate(questions):
                yield path, given_id(record, "uid") or f"{key}, question {number}", key, record


def map_question(record: Record, name: str, key: str, videos: Videos, benchmark: str, draft: Draft) -> None:
    """One question of either release, and where its gold lies in the item or items of its video."""
    words = text_of(record["question"], "question").strip()
    options = options_of(words)
    answer = record.get("answer")
    answers = () if answer in (None, "") else (letter_of(answer, options) if options else text_of(answer, "answer"),)
    reference = record.get("time_reference")
    span = None if reference in (None, "", []) else span_of(reference)
    kinds = record.get("question_type")
    kind = " + ".join(text_of(k, "a question type") for k in ([kinds] if isinstance(kinds, str) and kinds
                                                              else list_of(kinds or None, "question_type")))
    if not key:
        raise Unusable("it must name one video, by the line's key or in gt_videos")
    qid = f"{benchmark}/{name}"
    footage = videos.footage(key)
    if not options:
        draft.fallbacks.append("no options in the question: an open question")
    if not answers:
        draft.fallbacks.append("no answer given")
    if span is None:
        draft.fallbacks.append("no time reference: " + ("question without gold" if footage.cut else "gold whole"))
        draft.annotations.extend([] if footage.cut else [Annotation(qid, footage.clips[0].item.id, "item")])
    else:
        annotations, fallback = gold_in(footage, span, qid)
        draft.annotations.extend(annotations)
        draft.fallbacks.extend([fallback] if fallback else [])
    draft.questions.append(Question(qid, benchmark, words, answers, kind, details=options))
