"""LongVideoBench: videos with their subtitles as items, multiple-choice questions whose video is known but not the
place in it: evaluation only.

``lvb_val.json`` says which option is right, ``lvb_test_wo_gt.json`` does not. Subtitles run on the clock of the longer
video that a file was cut from: ``starting_timestamp_for_subtitles`` is taken off, and what lies outside the file is
left out. ``position``, which some copies add, numbers frames that the annotators looked at; no release documents it as
evidence, so it is not read as gold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.choices import letter_of, with_options
from canopy.benchmarks.reading.footage import Videos, files_below
from canopy.benchmarks.reading.records import (
    BLIND,
    Record,
    distinct_files,
    given_id,
    iterate_records,
    list_of,
    object_of,
    pair_of,
)
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.times import seconds_of
from canopy.errors import DataError
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.files import load_json_list
from canopy.ingest.sink import Draft, Sink, Unusable, Waiting
from canopy.items import Annotation, Cue, Item, Question

_AT = "https://huggingface.co/datasets/longvideobench/LongVideoBench/resolve/main"
BENCHMARK = Benchmark(
    title="LongVideoBench",
    licence="CC BY-NC-SA 4.0",
    home="https://huggingface.co/datasets/longvideobench/LongVideoBench",
    files=(
        ReleaseFile("val", ("lvb_val.json", "validation-*.parquet"), "1,337 validation questions",
                    f"{_AT}/lvb_val.json"),
        ReleaseFile("test", ("lvb_test_wo_gt.json", "test-*.parquet"), "5,341 test questions, answers withheld",
                    f"{_AT}/lvb_test_wo_gt.json"),
        ReleaseFile("videos", ("videos/",), "the videos; join videos.tar.part.* and unpack"),
        ReleaseFile("subtitles", ("subtitles/",), "subtitles as JSON lists; unpack subtitles.tar",
                    f"{_AT}/subtitles.tar"),
    ),
    needs=(("val", "test"),),
    aliases=("long_video_bench", "lvb"),
    layout="longvideobench/\n  lvb_val.json\n  lvb_test_wo_gt.json\n  videos/<video_path>\n  subtitles/<subtitle_path>",
    notes="The publisher asks to accept the licence before files can be fetched.",
    metric="options",
    evidence_cap="video",
    paper_name="LongVideoBench",
    out_of_domain=True,
    expected=(Expected("validation questions", 1_337, "the release", split="dev"),),
)


def read(raw: Path, sink: Sink) -> None:
    """Read the questions of both files, and the videos that are there.

    Raises
    ------
    DataError
        If neither question file is there, or one is broken.
    """
    files = require_files(raw, BENCHMARK)
    films = Films(raw, sink)
    for role, split in (("val", "dev"), ("test", BLIND)):
        for path, name, record in _records(files[role], sink):
            with sink.record(path, name) as draft:
                map_question(object_of(record), split, films, sink.benchmark, draft)
    if films.odd:
        sink.notes.append(f"{films.odd} subtitle entries are left out: no words, or times that cannot be read")


def _records(paths: list[Path], sink: Sink) -> Iterator[tuple[Path, str, Any]]:
    """Records with their file and name."""
    for path in distinct_files(paths, sink):
        yield from ((path, given_id(r, "id") or place, r) for place, r in iterate_records(path, sink))


class Films:
    """The videos of the release as items with their subtitles, each read once."""

    def __init__(self, raw: Path, sink: Sink) -> None:
        self.raw, self.sink, self.videos = raw, sink, Videos(raw, sink)
        self.subtitles: dict[str, list[str]] = {}
        for path in files_below(raw):
            self.subtitles.setdefault(PurePosixPath(path).name, []).append(path)
        self.odd = 0
        self._items: dict[str, tuple[Item, float, str]] = {}

    def film(self, video: str, subtitles: str, start: float) -> tuple[Item, str]:
        """A video as an item, and the fallback that was taken ("" if none was).

        Waiting if its file is not there or cannot be read.
        """
        if video not in self._items:
            path = self.videos.find(video)
            if path is None:
                raise Waiting(f"video {video!r} is not there")
            duration, _ = self.videos.measured(path)
            cues, fallback = self._cues(subtitles, start, duration)
            self._items[video] = (self.videos.item(str(PurePosixPath(video).with_suffix("")), path, cues), start,
                                  fallback)
        item, first, fallback = self._items[video]
        return (
            item,
            fallback
            if start == first
            else "subtitles of its video start elsewhere by another record: the first one's times are kept",
        )

    def _cues(self, named: str, start: float, duration: float) -> tuple[list[Cue], str]:
        name = PurePosixPath(named)
        there = sorted(self.subtitles.get(name.name, []) if named else [],
                       key=lambda p: (PurePosixPath(p).parent.parts[-1:] != ("subtitles",), p.count("/"), p))
        if not there:
            return (
                [],
                "no subtitle file: its video has no words" if named else "no subtitles named: its video has no words",
            )
        try:
            entries = load_json_list(self.raw / there[0])
        except DataError as e:
            self.sink.reject(there[0], there[0], str(e).replace(f"{self.raw}{os.sep}", ""))
            return [], "subtitle file cannot be read: its video has no words"
        cues, odd = subtitle_cues(entries, start, duration)
        self.odd += odd
        return cues, ""


def subtitle_cues(entries: list[Any], start: float, duration: float) -> tuple[list[Cue], int]:
    """Cues on the video's own clock, and how many entries are no cue.

    An entry is ``{"timestamp": [start, end], "text"}`` in seconds or ``{"start", "end", "line"}`` with clock times.
    Where the end is null a cue lasts until the next one begins, the last one until the video ends. Cues outside ``[0,
    duration)`` are left out.
    """
    read, odd = [], 0
    for entry in entries:
        try:
            entry = object_of(entry, "a subtitle entry")
            begin, end = pair_of(entry["timestamp"], "a timestamp") if "timestamp" in entry else (entry["start"],
                                                                                                  entry["end"])
            words = " ".join(text_of(entry["text"] if "text" in entry else entry["line"], "a subtitle").split())
            read.append((seconds_of(begin) - start, None if end is None else seconds_of(end) - start, words))
        except (Unusable, KeyError):
            odd += 1
    read.sort(key=lambda c: c[0])
    cues = []
    for number, (begin, end, words) in enumerate(read):
        if end is None:
            end = next((b for b, _, _ in read[number + 1:] if b > begin), duration)
        if end < begin:
            odd += 1
        elif begin < duration and (end > 0 or begin >= 0):
            cues.append(Cue(max(begin, 0.0), min(end, duration), words))
    return cues, odd


def map_question(record: Record, split: str, films: Films, benchmark: str, draft: Draft) -> None:
    """One record to a question whose gold is its video, whole."""
    qid = f"{benchmark}/{text_of(given_id(record, 'id'), 'id')}"
    words, options = with_options(text_of(record["question"], "question").strip(), candidates_of(record))
    right = record.get("correct_choice")
    if right in (None, "", "@", -1) and not isinstance(right, bool):
        answers: tuple[str, ...] = ()
    elif isinstance(right, str) and not right.strip().isdecimal():
        answers = (letter_of(right, options),)
    elif isinstance(right, (int, str)) and not isinstance(right, bool) and 0 <= int(right) < len(options):
        answers = (options[int(right)][0],)
    else:
        raise Unusable(f"correct_choice must number one of the {len(options)} options from 0 on, not "
                       f"{str(right)[:40]!r}")
    video = text_of(record.get("video_path") or f"{text_of(record['video_id'], 'video_id')}.mp4", "video_path")
    subtitles = text_of(record.get("subtitle_path") or "", "subtitle_path", empty=True)
    start = seconds_of(record.get("starting_timestamp_for_subtitles") or 0, "starting_timestamp_for_subtitles")
    kind = text_of(record.get("question_category") or "", "question_category", empty=True)
    more = tuple((k, str(record[k])) for k in ("topic_category", "duration_group")
                 if isinstance(record.get(k), (str, int)))
    item, fallback = films.film(video, subtitles, start)
    draft.annotations.append(Annotation(qid, item.id, "item"))
    draft.fallbacks.append("no gold span in this benchmark: its video is gold whole")
    draft.fallbacks.extend([fallback] if fallback else [])
    draft.fallbacks.extend([] if answers else ["blind test: no answer"])
    draft.questions.append(Question(qid, benchmark, words, answers, kind, split, options + more))


def candidates_of(record: Record) -> list[str]:
    """The options: ``candidates``, or a mirror's option0 to option4; N/A stands for none."""
    if record.get("candidates") is not None:
        return [text_of(c, "a candidate") for c in list_of(record["candidates"], "candidates")]
    options = [record.get(f"option{n}") for n in range(5)]
    return [text_of(c, "an option") for c in options if c is not None and c != "N/A" and c != ""]
