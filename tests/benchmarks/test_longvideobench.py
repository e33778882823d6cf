"""LongVideoBench: both kinds of subtitle entries, mirrors, the blind test file, and videos that are there or not."""

import copy
import json
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from little_films import write_film

from canopy.benchmarks.longvideobench import read, subtitle_cues
from canopy.errors import DataError
from canopy.ingest.sink import Sink

GIVEN = Path(__file__).parents[1] / "data" / "longvideobench"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    return write_film(folder / "market.mp4", 62), write_film(folder / "@cook-7.mp4", 40)


@pytest.fixture
def release(tmp_path, films):
    """The hand-made release with its two videos."""
    shutil.copytree(GIVEN, tmp_path / "longvideobench")
    (tmp_path / "longvideobench" / "videos").mkdir()
    for film in films:
        shutil.copy(film, tmp_path / "longvideobench" / "videos")
    return tmp_path / "longvideobench"


def ingest(folder):
    sink = Sink("longvideobench", folder.parent)
    read(folder, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def edit(folder, number, **change):
    rows = json.loads((folder / "lvb_val.json").read_text())
    rows[number] |= change
    (folder / "lvb_val.json").write_text(json.dumps(rows))
    return folder


def test_a_whole_release_is_mapped(release):
    sink = ingest(release)
    assert dict(sink.counts) == {"read": 6, "mapped": 2, "fallback": 4}
    assert sink.fallbacks == {"no gold span in this benchmark: its video is gold whole": 4, "blind test: no answer": 1}
    assert {(a.unit, a.item_id) for a in sink.annotations} == {("item", "longvideobench/market"),
                                                               ("item", "longvideobench/@cook-7")}
    question = sink.questions["longvideobench/market_0"]
    assert question.answers == ("C",) and question.split == "dev" and question.type == "S2E"
    assert (
        question.question
        == "At the market, what does the woman buy?\n(A) Apples\n(B) Bread\n(C) A lamp\n(D) Nothing\n(E) Fish"
    )
    assert dict(question.details)["C"] == "A lamp" and dict(question.details)["duration_group"] == "60"
    mirror = sink.questions["longvideobench/market_1"]
    # N/A stands for no option
    assert mirror.answers == ("A",) and [k for k, _ in mirror.details if len(k) == 1] == ["A", "B"]
    blind = sink.questions["longvideobench/market_9"]
    assert blind.answers == () and blind.split == "blind test"


def test_subtitles_run_on_the_videos_own_clock(release):
    sink = ingest(release)
    market, cook = sink.items["longvideobench/market"], sink.items["longvideobench/@cook-7"]
    assert market.duration == 62.0 and (release / market.media).is_file() and len(sink.items) == 2
    assert [(c.start, c.end, c.text) for c in market.cues] == [(0.0, 4.0, "Good morning"),
                                                               (31.5, 40.0, "Apples, two for one"),
                                                              (40.0, 46.0, "A lamp, please"), (58.0, 62.0, "Thank you")]
    assert [(c.start, c.end, c.text) for c in cook.cues] == [(5.25, 7.0, "First the onions"),
                                                             (31.0, 33.5, "then the rice")]


def test_odd_subtitle_entries_are_counted():
    odd = [{"timestamp": [1, 2]}, {"timestamp": [3, 1], "text": "x"}, {"timestamp": "1", "text": "x"},
           {"start": "soon", "end": "later", "line": "x"}, {"timestamp": [1, 2], "text": " "}, 7, None]
    cues, wrong = subtitle_cues([*odd, {"start": 1, "end": "00:00:02", "line": "good"}], 0.0, 9.0)
    assert [(c.start, c.end, c.text) for c in cues] == [(1.0, 2.0, "good")] and wrong == len(odd)


def test_without_videos_every_question_waits(tmp_path):
    shutil.copytree(GIVEN, tmp_path / "longvideobench")
    sink = ingest(tmp_path / "longvideobench")
    assert (
        dict(sink.counts) == {"read": 4, "waiting": 4}
        and sink.waiting[0]["reason"] == "video 'market.mp4' is not there"
    )


def test_videos_are_found_by_the_end_of_their_path(release, films):
    (release / "videos" / "a").mkdir()
    (release / "videos" / "b").mkdir()
    shutil.move(release / "videos" / "market.mp4", release / "videos" / "a" / "market.mp4")
    shutil.copy(films[1], release / "videos" / "b" / "market.mp4")
    assert ingest(edit(release, 0, video_path="b/market.mp4")).items["longvideobench/b/market"].duration == 40.0


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"subtitle_path": "gone.json"}, "fallback", "no subtitle file"),
    ({"subtitle_path": None}, "fallback", "no subtitles named"),
    ({"starting_timestamp_for_subtitles": None}, "fallback", "start elsewhere by another record"),
    ({"correct_choice": -1}, "fallback", "blind test: no answer"),
    ({"correct_choice": "C"}, "fallback", ""), ({"correct_choice": "2"}, "fallback", ""),
    ({"video_path": None}, "fallback", ""),
    ({"correct_choice": 5}, "quarantined", "correct_choice must number one of the 5 options"),
    ({"correct_choice": True}, "quarantined", "correct_choice must number"),
    ({"correct_choice": 1.5}, "quarantined", "correct_choice must number"),
    ({"candidates": ["one"]}, "quarantined", "a question of 1 options"),
    ({"candidates": [1, 2]}, "quarantined", "a candidate must be a string"),
    ({"candidates": None}, "quarantined", "a question of 0 options"),
    ({"id": None}, "quarantined", "id is empty"),
    ({"question": None}, "quarantined", "question must be a string"),
    ({"starting_timestamp_for_subtitles": "soon"}, "quarantined", "must be seconds"),
    ({"video_path": "gone.mp4"}, "waiting", "'gone.mp4' is not there"),
])
def test_odd_records(release, change, kind, words):
    sink = ingest(edit(release, 0, **change))
    assert sink.counts[kind] == (4 if kind == "fallback" else 1)
    assert words in str([*sink.fallbacks, *sink.waiting, *sink.quarantine])


def test_broken_files_are_quarantined(release):
    (release / "subtitles" / "market_en.json").write_text('{"text": 1}')
    (release / "videos" / "@cook-7.mp4").write_bytes(b"")
    sink = ingest(release)
    assert [q["record"] for q in sink.quarantine] == ["subtitles/market_en.json",
                                                      "videos/@cook-7.mp4"] and str(release) not in str(sink.quarantine)
    assert sink.fallbacks["subtitle file cannot be read: its video has no words"] == 3 and sink.counts["waiting"] == 1


def test_parquet_mirrors(release):
    rows = json.loads((release / "lvb_val.json").read_text())
    (release / "lvb_val.json").unlink()
    for part in (0, 1):
        pq.write_table(pa.Table.from_pylist(rows[part::2]), release / f"validation-0000{part}-of-00002.parquet")
    assert ingest(release).counts["fallback"] == 4
    (release / "validation-00000-of-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"validation-00000.*not a Parquet file"):
        ingest(release)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none of lvb_val\.json, lvb_test_wo_gt\.json"):
        ingest(tmp_path)


def test_mutated_records_never_get_past_the_counts(release):
    draw, odd = random.Random(11), [None, "", "x", -1, 7, 1e308, float("nan"), True, [], {}, [[]], "\ud800", "a\x00",
                                    "../..", "/", ".", "market.mp4/"]
    rows = json.loads((release / "lvb_val.json").read_text())
    for n in range(300):
        made = copy.deepcopy(draw.choice(rows[:3])) | {"id": f"m{n}"}
        made[draw.choice(list(made))] = draw.choice(odd)
        rows.append(made)
    (release / "lvb_val.json").write_text(json.dumps(rows))
    entries = json.loads((release / "subtitles" / "market_en.json").read_text())
    (release / "subtitles" / "market_en.json").write_text(json.dumps(entries + [{**draw.choice(entries),
                                                                                 draw.choice(["timestamp", "text"]): x}
                                                                                for x in odd]))
    sink = ingest(release)
    assert sink.counts["quarantined"] > 50 and len(sink.questions) > 50
    assert all(0 <= c.start <= c.end <= i.duration for i in sink.items.values() for c in i.cues)
