"""LVBench.

Both releases over real little videos, pre-cut segments, time references of every form, and the real slice without
videos.
"""

import copy
import json
import random
import shutil
from pathlib import Path

import pytest
from little_films import write_film

from canopy.benchmarks.lvbench import read
from canopy.benchmarks.reading.choices import letter_of, options_of, with_options
from canopy.benchmarks.reading.times import seconds_of, span_of
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink, Unusable

GIVEN = Path(__file__).parents[1] / "data" / "lvbench"
VTT = "WEBVTT\n\n00:00:16.000 --> 00:00:18.000\nThe blue boat\n\n00:01:05.000 --> 00:02:30.000\nA red sail\n"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A film of 100 seconds and one of 61, made once."""
    folder = tmp_path_factory.mktemp("films")
    return write_film(folder / "harbour-_01.mp4", 100), write_film(folder / "kitchen__02.webm", 61)


@pytest.fixture(params=["official", "universalrag"])
def release(request, tmp_path, films):
    """One of the two releases with its two videos and the subtitles of one."""
    folder = tmp_path / "lvbench"
    shutil.copytree(GIVEN, folder)
    shutil.rmtree(folder / ("dataset" if request.param == "official" else "data"))
    (folder / "videos").mkdir()
    for film in films:
        shutil.copy(film, folder / "videos" / film.name)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "harbour-_01.en.vtt").write_text(VTT)
    return folder


@pytest.fixture
def adapted(tmp_path):
    """UniversalRAG's release without any video."""
    shutil.copytree(GIVEN / "dataset", tmp_path / "lvbench" / "dataset")
    return tmp_path / "lvbench"


def ingest(folder):
    sink = Sink("lvbench", folder.parent)
    read(folder, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def gold_of(sink, name):
    rows, unlocated = map_annotations([a for a in sink.annotations if a.question_id == f"lvbench/{name}"], sink.items,
                                      30.0)
    assert not unlocated
    return {r["item_id"].split("/", 1)[1]: (r["coverage"], r["fragments"], r["count"]) for r in rows}


def edit(folder, number, **change):
    path = folder / "dataset" / "query" / "lvbench.json"
    rows = json.loads(path.read_text())
    rows[number] |= change
    path.write_text(json.dumps(rows))
    return folder


def test_both_releases_are_mapped(release):
    sink = ingest(release)
    prefix = "" if (release / "data").is_dir() else "lvbench_"
    assert dict(sink.counts) == {"read": 6, "mapped": 6}  # two videos, four questions
    assert gold_of(sink, prefix + "1") == {"harbour-_01": ("located", [0], 3)}
    assert gold_of(sink, prefix + "2") == {"harbour-_01": ("located", [2], 3)}  # an instant: the segment that holds it
    assert gold_of(sink, prefix + "3") == {"harbour-_01": ("located", [1, 2], 3)}
    video, other = sink.items["lvbench/harbour-_01"], sink.items["lvbench/kitchen__02"]
    assert (video.duration,
            other.duration) == (100.0, 61.0) and (release / other.media).is_file() and len(video.media_sha256) == 64
    assert [(c.start, c.text) for c in video.cues] == [(16.0, "The blue boat"), (65.0, "A red sail")]
    question = sink.questions[f"lvbench/{prefix}2"]
    assert question.answers == ("A",) and question.question.endswith("\n(D) None of them")
    assert question.details == (("A", "Red"), ("B", "Blue"), ("C", "Green"), ("D", "None of them"))
    assert question.type == ("" if prefix else "event understanding + reasoning")


def test_universalrag_wins_where_both_are_there(tmp_path):
    shutil.copytree(GIVEN, tmp_path / "lvbench")
    sink = ingest(tmp_path / "lvbench")
    assert set(sink.read_from) == {"lvbench.json"} and any("video_info.meta.jsonl: not read" in n for n in sink.notes)


def test_without_videos_every_question_waits(adapted):
    sink = ingest(adapted)
    assert dict(sink.counts) == {"read": 4, "waiting": 4} and not sink.items and not sink.questions
    assert sink.waiting[0]["reason"] == "video 'harbour-_01' is not there"
    assert "0 of the 3 videos" in sink.notes[-1]


def test_a_video_without_a_question_is_an_item(adapted, films):
    shutil.copy(films[1], adapted / "garden--_03.mkv")
    sink = ingest(adapted)
    assert (
        list(sink.items) == ["lvbench/garden--_03"]
        and sink.counts["mapped"] == 1
        and "1 of the 3 videos" in sink.notes[-1]
    )


def test_a_broken_video_is_quarantined_and_waited_for(adapted):
    (adapted / "harbour-_01.mp4").write_bytes(b"no video")
    sink = ingest(adapted)
    assert (
        sink.counts["quarantined"] == 1
        and sink.quarantine[0]["record"] == "harbour-_01.mp4"
        and str(adapted) not in str(sink.quarantine)
    )
    assert sink.counts["waiting"] == 4 and "cannot be used" in sink.waiting[0]["reason"] and not sink.questions


def test_a_numbered_download_is_known_by_its_address(adapted, films):
    folder = adapted / "videos" / "00000"
    folder.mkdir(parents=True)
    shutil.copy(films[0], folder / "000000007.mp4")
    (folder / "000000007.json").write_text(json.dumps({"url": "https://www.youtube.com/watch?v=harbour-_01",
                                                       "key": "000000007"}))
    (folder / "000000008.mp4").write_bytes(b"")
    (folder / "000000008.json").write_text("{")
    sink = ingest(adapted)
    assert sink.counts["mapped"] == 4 and sink.items["lvbench/harbour-_01"].media == "videos/00000/000000007.mp4"


def test_linked_folders_are_followed(adapted, films, tmp_path):
    (tmp_path / "disk").mkdir()
    shutil.copy(films[0], tmp_path / "disk")
    (adapted / "videos").symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "round").symlink_to(adapted)
    assert ingest(adapted).counts["mapped"] == 4


def segments(folder, lengths, name):
    for n, seconds in enumerate(lengths):
        write_film(folder / "videos" / name(n), seconds)
    return folder


@pytest.mark.parametrize("name", ["harbour-_01_{}.mp4", "harbour-_01.mp4_{}.mp4"])
def test_numbered_segments_are_items_and_times_are_moved(adapted, name):
    (adapted / "videos").mkdir()
    (adapted / "harbour-_01.vtt").write_text(VTT)
    sink = ingest(segments(adapted, (40, 40, 20), lambda n: name.format(n)))
    stem = name.removesuffix(".mp4")
    assert gold_of(sink, "lvbench_1") == {stem.format(0): ("located", [0], 1)}
    by = {(a.question_id, a.item_id): a.spans for a in sink.annotations}
    assert by["lvbench/lvbench_2", f"lvbench/{stem.format(1)}"] == ((25.0, 25.0),)
    # 50 to 80 s ends where the second segment does
    assert by["lvbench/lvbench_3", f"lvbench/{stem.format(1)}"] == ((10.0, 40.0),)
    assert [[c.text for c in i.cues] for i in sink.items.values()] == [["The blue boat"], ["A red sail"], []]
    assert sink.items[f"lvbench/{stem.format(1)}"].cues[0].start == 25.0 and len(sink.items) == 3


def test_segments_that_state_their_seconds(adapted):
    for start, end in ((0, 20), (20, 65), (65, 100)):
        write_film(adapted / f"harbour-_01_{start}-{end}.mp4", end - start)
    sink = ingest(adapted)
    # an instant at the seam belongs to what begins there
    assert gold_of(sink, "lvbench_2") == {"harbour-_01_65-100": ("located", [0], 1)}
    joint = [a for a in sink.annotations if a.question_id == "lvbench/lvbench_3"]
    assert [(a.item_id[-5:], a.spans, a.group) for a in joint] == [("20-65", ((30.0, 45.0),), 0),
                                                                   ("5-100", ((0.0, 15.0),), 0)]


def test_a_missing_segment_is_waited_for(adapted):
    segments(adapted, (40, 40, 40), "harbour-_01_{}.mp4".format)
    (adapted / "videos" / "harbour-_01_1.mp4").unlink()
    sink = ingest(adapted)
    assert set(sink.questions) == {"lvbench/lvbench_1"} and "segment 1 of video" in sink.waiting[0]["reason"]
    for start, end in ((0, 20), (20, 65)):
        write_film(adapted / f"kitchen__02_{start}_{end}.mp4", end - start)
    assert (
        ingest(edit(adapted, 3, time_reference=[60, 70])).waiting[-1]["reason"]
        == "no segment is there that shows its video at 65 s"
    )


def test_a_named_video_is_no_segment_of_another(adapted, films):
    edit(adapted, 0, gt_videos=["dataset/LVBench/videos/harbour-.mp4"], time_reference=[1, 2])
    shutil.copy(films[0], adapted / "harbour-.mp4")
    shutil.copy(films[0], adapted / "harbour-_01.mp4")
    assert gold_of(ingest(adapted), "lvbench_1") == {"harbour-": ("located", [0], 3)}


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"time_reference": [95, 130]}, "fallback", "ends after its video: cut there"),
    ({"time_reference": [99, 101]}, "mapped", ""),  # whole seconds round up
    ({"time_reference": [101, 101]}, "mapped", ""),
    ({"time_reference": [500, 510]}, "fallback", "past the end of its video: gold whole"),
    ({"time_reference": None}, "fallback", "no time reference"),
    ({"time_reference": "01:05–01:10"}, "mapped", ""),
    ({"answer": ""}, "fallback", "no answer given"),
    ({"question": "What colour is the boat?"}, "fallback", "no options in the question"),
    ({"answer": "(B) Blue"}, "mapped", ""), ({"answer": "blue"}, "mapped", ""),
    ({"time_reference": [19, 15]}, "quarantined", "ends (15 s) before it starts (19 s)"),
    ({"time_reference": [-1, 3]}, "quarantined", "from 0 on"),
    ({"time_reference": [1, 2, 3]}, "quarantined", "a start and an end"),
    ({"time_reference": {"s": 1}}, "quarantined", "a number of seconds"),
    ({"answer": "E"}, "quarantined", "answer 'E' is none of the options A, B, C, D"),
    ({"answer": 2}, "quarantined", "answer must be a string"),
    ({"question": ""}, "quarantined", "question is empty"),
    ({"gt_videos": []}, "quarantined", "must name one video"),
    ({"gt_videos": ["a.mp4", "b.mp4"]}, "quarantined", "must name one video"),
    ({"index": "lvbench_2"}, "quarantined", "duplicate question id"),
    ({"gt_videos": ["videos/elsewhere.mp4"]}, "waiting", "'elsewhere' is not there"),
])
def test_odd_records(adapted, films, change, kind, words):
    for film in films:
        shutil.copy(film, adapted)
    sink = ingest(edit(adapted, 0, **change))
    assert sink.counts[kind] == (6 if kind == "mapped" else 1)
    assert words in str([*sink.fallbacks, *sink.waiting, *sink.quarantine]).replace('"', "'")
    rows, _ = map_annotations(sink.annotations, sink.items, 30.0)
    assert all(0 <= s <= e <= sink.items[a.item_id].duration for a in sink.annotations for s, e in a.spans)
    if change.get("time_reference") == [500, 510]:
        assert next(r["coverage"] for r in rows if r["question_id"] == "lvbench/lvbench_1") == "whole"


def test_odd_lines_of_the_official_file(tmp_path, films):
    folder = tmp_path / "lvbench"
    folder.mkdir()
    shutil.copy(films[0], folder)
    good = json.loads((GIVEN / "data" / "video_info.meta.jsonl").read_text().splitlines()[0])
    flat = {"key": good["key"], **good["qa"][0], "uid": 77}  # as mirrors have it: one question a line
    lines = [good, flat, {"key": "x"}, {"qa": []}, [1], {**good, "qa": "none"},
             {**good, "qa": ["one", {**good["qa"][0], "uid": None}]}]
    (folder / "video_info.meta.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines) + "{broken\n")
    sink = ingest(folder)
    assert set(sink.questions) == {"lvbench/1", "lvbench/2", "lvbench/3", "lvbench/77",
                                   "lvbench/harbour-_01, question 1"}
    assert sink.counts["quarantined"] == 6 and any("must be an object" in q["reason"] for q in sink.quarantine)


def test_times():
    assert [seconds_of(x) for x in ("00:15", "1:02:03", "75:10", "7", 7, 7.5, "00:00:07.250",
                                    "00:00:07,5")] == [15, 3723, 4510, 7, 7, 7.5, 7.25, 7.5]
    assert [span_of(x) for x in ("00:15-00:19", "1:02:03 - 1:02:10", "00:15", [3, 3],
                                 ["00:03", 4.5])] == [(15, 19), (3723, 3730), (15, 15), (3, 3), (3, 4.5)]
    for wrong in ("", "noon", "1:2:3:4", "-3", True, None, float("nan"), float("inf"), 1e9, [], {}, "00:19-00:15",
                  "1-2-3"):
        with pytest.raises(Unusable):
            span_of(wrong)


def test_options():
    assert options_of("Which?\n(A) one\n(B) two\nlines\n(D) no option") == (("A", "one"),
                                                                            ("B", "two\nlines\n(D) no option"))
    assert options_of("Which?\nChoices:\nA) x, (B) y\nB) z") == (("A", "x, (B) y"), ("B", "z"))
    assert options_of("Which (A) one?") == options_of("Which?\n(A) only") == options_of("Which?\n(B) b\n(C) c") == ()
    assert with_options("Which?", ["x", "y"]) == ("Which?\n(A) x\n(B) y", (("A", "x"), ("B", "y")))
    swapped = (("A", "B"), ("B", "A"), ("C", "the C. elegans"))
    assert [letter_of(x, swapped) for x in ("A", "(B)", "C.", "the c. elegans", "A) B", "B: A")] == ["A", "B", "C", "C",
                                                                                                  "A", "B"]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none of video_info\.meta\.jsonl, query/lvbench\.json"):
        ingest(tmp_path)
    (tmp_path / "lvbench.json").write_text('[{"index": 1')
    with pytest.raises(DataError, match=r"lvbench\.json: not valid JSON.*truncated"):
        ingest(tmp_path)


def test_mutated_records_never_get_past_the_counts(release):
    draw, odd = random.Random(3), [None, "", "x", -1, 7, 1e308, float("nan"), True, [], {}, [[]], "\ud800", "a\x00",
                                   "a/b.mp4", ["."], [""], "9" * 400]
    path = next(p for p in (release / "data" / "video_info.meta.jsonl", release / "dataset" / "query" / "lvbench.json")
                if p.exists())
    rows = [json.loads(x)
            for x in path.read_text().splitlines()] if path.suffix == ".jsonl" else json.loads(path.read_text())
    wrong = []
    for n in range(300):
        made = copy.deepcopy(draw.choice(rows))
        spot = draw.choice(made["qa"]) if "qa" in made and draw.random() < 0.8 else made
        spot |= {k: f"m{n}" for k in ("uid", "index") if k in spot}
        spot[draw.choice(list(spot))] = draw.choice(odd)
        wrong.append(made)
    everything = rows + wrong
    path.write_text("".join(json.dumps(r) + "\n" for r in everything) if path.suffix == ".jsonl"
                    else json.dumps(everything))
    sink = ingest(release)
    assert sink.counts["quarantined"] > 50 and len(sink.questions) > 50
    assert all(0 <= s <= e <= sink.items[a.item_id].duration for a in sink.annotations for s, e in a.spans)


@pytest.mark.real
def test_real_slice(real_data):
    folder = real_data / "lvbench"
    asked = json.loads(next(folder.rglob("query/lvbench.json")).read_text("utf-8"))
    sink = ingest(folder)
    assert dict(sink.counts) == {"read": len(asked), "waiting": len(asked)}


@pytest.mark.real
def test_real_questions_over_videos_of_their_length(real_data, tmp_path):
    """Two videos of the slice stand in as little films that are long enough.

    Every reference lands in the segments that it overlaps.
    """
    shutil.copytree(real_data / "lvbench", tmp_path / "lvbench")
    asked = json.loads(next((tmp_path / "lvbench").rglob("query/lvbench.json")).read_text("utf-8"))
    lengths = {}
    for r in asked:
        lengths[r["gt_videos"][0]] = max(lengths.get(r["gt_videos"][0], 0), r["time_reference"][1])
    chosen_ones = sorted(lengths, key=lambda k: (lengths[k], k))[:2]
    for name in chosen_ones:
        write_film(tmp_path / "lvbench" / name, lengths[name] + 5)
    sink = ingest(tmp_path / "lvbench")
    mine = [r for r in asked if r["gt_videos"][0] in chosen_ones]
    assert len(sink.questions) == len(mine) == sink.counts["mapped"] - 2 > 5 and sink.counts["waiting"] == len(
        asked
    ) - len(mine)
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    got = {r["question_id"]: r for r in rows}
    assert not unlocated and all(r["coverage"] == "located" for r in rows)
    for r in mine:
        s, e = r["time_reference"]
        row = got[f"lvbench/{r['index']}"]
        ends = [*range(30, 30 * row["count"], 30), float("inf")]
        assert row["fragments"] == [n for n, end in enumerate(ends) if s < end and (e > 30 * n or s == e >= 30 * n)]
        assert len(sink.questions[f"lvbench/{r['index']}"].details) == 4
