"""The native format: what maps, and that every bad record is named with file, record and reason, never dropped."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.config import Config
from canopy.errors import CanopyError, DataError
from canopy.ingest.native import read
from canopy.ingest.sink import Sink
from canopy.items import read_annotations, read_items, read_questions
from canopy.paths import Paths
from canopy.stages.base import NullTracker
from canopy.stages.benchmark import run
from canopy.validation.checker import RuleValidator
from tests.benchmarks.little_films import write_film

VTT = """WEBVTT

NOTE made by hand

intro
00:01.000 --> 00:04.500 align:start position:10%
<v Ada>Pick the <u>leaves</u> &amp; wait.

00:00:40.000 --> 00:01:20.000
Roll them.
"""
ITEMS = [
    {"id": "t", "modality": "text", "title": "Tea", "text": "Tea is old. It came from Yunnan."},
    {"id": "b", "modality": "table", "header": ["Tea", "g"], "rows": [["Green", 2], ["Black", None], ["White"]]},
    {"id": "i", "modality": "image", "media": "media/a.png", "caption": "A cup"},
    {"id": "v", "modality": "video", "media": "media/a.mp4", "duration": 65.5, "subtitles": "media/a.vtt"},
]
QUESTIONS = [
    {"id": "q1", "question": "Where is tea from?", "answers": ["Yunnan"], "gold": [{"item": "t", "chars": [[12, 32]]}]},
    {
        "id": "q2",
        "question": "Which needs 2 g?",
        "answers": ["Green"],
        "gold": [{"item": "b", "rows": [0]}, {"item": "v", "seconds": [[40, 40]], "group": 1}],
    },
    {"id": "q3", "question": "What is shown?", "answers": ["A cup"], "gold": [{"item": "i"}]},
]


def write(folder: Path, items=ITEMS, questions=QUESTIONS) -> Path:
    (folder / "media").mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), "teal").save(folder / "media" / "a.png")
    write_film(folder / "media" / "a.mp4", 66)
    (folder / "media" / "a.vtt").write_text(VTT)
    (folder / "items.jsonl").write_text("".join(json.dumps(i) + "\n" for i in items))
    (folder / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    return folder


def ingest(folder: Path) -> Sink:
    sink = Sink("mine", folder)
    read(folder, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    assert len(sink.quarantine) == c["quarantined"] and len(sink.waiting) == c["waiting"]
    return sink


def test_all_modalities_map(tmp_path):
    sink = ingest(write(tmp_path))
    assert dict(sink.counts) == {"read": 7, "mapped": 7}
    assert sink.items["mine/b"].rows == (("Green", "2"), ("Black", ""), ("White", ""))
    assert [c.text for c in sink.items["mine/v"].cues] == ["Ada: Pick the leaves & wait.", "Roll them."]
    assert sink.items["mine/i"].media_sha256 != sink.items["mine/v"].media_sha256 != ""
    assert [(a.unit, a.spans, a.group) for a in sink.annotations] == [
        ("chars", ((12.0, 32.0),), 0), ("rows", ((0.0, 1.0),), 0), ("seconds", ((40.0, 40.0),), 1), ("item", (), 0)]


BAD_ITEMS = [
    ({"id": "x", "modality": "audio"}, "modality must be one of"),
    ({"id": "x", "modality": "text", "text": "  "}, "text is empty"),
    ({"id": "x", "modality": "text", "text": 3}, "text must be a string, not int"),
    ({"id": "x", "modality": "text", "text": "a\x00b"}, "NUL"),
    ({"id": "x", "modality": "text", "text": "\ud800"}, "lone surrogate"),
    ({"id": "", "modality": "text", "text": "a"}, "id is empty"),
    ({"modality": "text", "text": "a"}, "id must be a string"),
    ({"id": "x", "modality": "table", "rows": []}, "needs rows"),
    ({"id": "x", "modality": "table", "rows": [["", " "]]}, "table is empty"),
    ({"id": "x", "modality": "table", "rows": [[{"a": 1}]]}, "cell must be a string or a number"),
    ({"id": "x", "modality": "video", "media": "media/a.mp4", "duration": -1}, "above 0 and at most"),
    ({"id": "x", "modality": "video", "media": "media/a.mp4", "duration": 1e300}, "number of seconds"),
    ({"id": "x", "modality": "video"}, "number of seconds"),
    ({"id": "x", "modality": "video", "media": "media/a.png"}, "no duration is given, and the file cannot be measured"),
    (
        {"id": "x", "modality": "table", "header": ["a"] * 3000, "rows": [["a"], *[[]] * 3000]},
        "at most 5,000,000 cells",
    ),
    (
        {"id": "x", "modality": "video", "media": "media/a.mp4", "duration": 9, "cues": [[5, 3, "a"]]},
        "nor after its end",
    ),
    ({"id": "x", "modality": "image", "media": "../../etc/passwd"}, "outside the data folder"),
    ({"id": "t", "modality": "text", "text": "Other words."}, "duplicate item id"),
    (["t"], "an object is expected"),
]


@pytest.mark.parametrize(("record", "reason"), BAD_ITEMS, ids=[r for _, r in BAD_ITEMS])
def test_a_bad_item_is_quarantined_with_its_reason(tmp_path, record, reason):
    sink = ingest(write(tmp_path, [*ITEMS, record]))
    assert sink.counts["quarantined"] == 1 and sink.counts["mapped"] == 7
    entry = sink.quarantine[0]
    assert reason in entry["reason"] and entry["file"] == "items.jsonl" and entry["record"]


BAD_GOLD = [
    ({"item": "t", "chars": [[12, 999]]}, "lies outside item 't', whose chars end at 32"),
    ({"item": "t", "chars": [[5, 5]]}, "lies outside"),
    ({"item": "b", "rows": [3]}, "whose rows end at 3"),
    ({"item": "b", "rows": [[-1, 1]]}, "lies outside"),
    ({"item": "v", "seconds": [[10, 70]]}, "whose seconds end at 65.5"),
    ({"item": "nowhere"}, "which is not in items.jsonl"),
    ({"item": "t", "rows": [0]}, "must be given in chars"),
    ({"item": "t", "chars": []}, "at least one span"),
    ({"item": "t", "chars": [[0]]}, "a span is [start, end]"),
    ({"item": "t", "chars": [["a", "b"]]}, "must be a number"),
    ({"item": "t", "group": -1}, "group must be a whole number"),
    ("t", "must be an object"),
]


@pytest.mark.parametrize(("gold", "reason"), BAD_GOLD, ids=[r for _, r in BAD_GOLD])
def test_bad_gold_quarantines_the_question(tmp_path, gold, reason):
    sink = ingest(
        write(tmp_path, questions=[*QUESTIONS, {"id": "bad", "question": "?", "answers": ["a"], "gold": [gold]}])
    )
    assert [(q["record"], reason in q["reason"]) for q in sink.quarantine] == [("bad", True)]
    assert "mine/bad" not in sink.questions and len(sink.annotations) == 4


def test_what_is_filled_or_left_aside_is_noted_with_file_and_line(tmp_path):
    again = {**ITEMS[0], "lang": "en"}
    question = {**QUESTIONS[0], "id": "q9", "level": 3, "gold": [{"item": "t", "chars": [[0, 3]], "why": "x"}]}
    sink = ingest(write(tmp_path, [*ITEMS, again, {**again, "id": "t2"}], [*QUESTIONS, question]))
    assert sink.counts["quarantined"] == 0
    assert sink.notes == [
        "items.jsonl, line 2 (b): rows[2] has fewer cells than the table's 2 columns: filled with empty cells",
        "items.jsonl, line 5 (t): an item of this id stands above: one of the two is kept",
        "items.jsonl, line 5: unknown field 'lang' is left aside and in 1 more records",
        "questions.jsonl, line 4: unknown field 'level' is left aside",
        "questions.jsonl, line 4: unknown field gold: 'why' is left aside"]


def test_notes_on_thousands_of_records_are_few(tmp_path):
    tables = [{"id": f"b{n}", "modality": "table", "header": ["a", "b"], "rows": [["x"]]} for n in range(60)]
    assert ingest(write(tmp_path, [*ITEMS, *tables])).notes[-1] == "items.jsonl: 11 more notes on its records"


def test_a_reason_names_the_line(tmp_path):
    sink = ingest(write(tmp_path, [*ITEMS, {"id": "bad", "modality": "text", "text": ""}]))
    assert sink.quarantine == [{"file": "items.jsonl", "record": "bad", "reason": "text is empty (line 5)"}]


def test_what_subtitles_lose_is_noted(tmp_path):
    write(tmp_path)
    (tmp_path / "media" / "a.vtt").write_text(f"{VTT}\n00:50.000 --> 00:10.000\nBack.\n")
    note = "items.jsonl, line 4 (v): subtitles 'a.vtt': line 12: a subtitle ends (10 s) before it starts (50 s)"
    assert any(n.startswith(note) for n in ingest(tmp_path).notes)


def test_duplicate_question_ids_keep_the_first(tmp_path):
    sink = ingest(write(tmp_path, questions=[*QUESTIONS, {**QUESTIONS[0], "question": "Another?"}]))
    assert (
        "duplicate question id" in sink.quarantine[0]["reason"]
        and sink.questions["mine/q1"].question == "Where is tea from?"
    )


def test_lines_that_cannot_be_parsed_are_quarantined(tmp_path):
    write(tmp_path)
    with open(tmp_path / "items.jsonl", "ab") as f:
        f.write(b'{"id": "cut", "modality": "te\n{"id": "latin", "text": "caf\xe9"}\n\n' + b"[" * 100_000 + b"\n")
    sink = ingest(tmp_path)
    assert [q["record"] for q in sink.quarantine] == ["line 5", "line 6", "line 8"]
    assert "not valid JSON" in sink.quarantine[0]["reason"] and "not UTF-8" in sink.quarantine[1]["reason"]


def test_a_missing_media_file_waits(tmp_path):
    write(tmp_path, [*ITEMS, {"id": "x", "modality": "image", "media": "media/gone.png"}],
          [*QUESTIONS, {"id": "q4", "question": "And this?", "answers": ["a"], "gold": [{"item": "x"}]}])
    sink = ingest(tmp_path)
    assert sink.counts["waiting"] == 2 and "media/gone.png" in sink.waiting[0]["reason"]
    assert sink.waiting[1]["record"] == "q4" and "mine/q4" not in sink.questions


def stage(folder, tmp_path, share=0.05):
    config = Config.model_validate(
        {
            "benchmarks": {"mine": {"adapter": "native", "path": str(folder)}},
            "ingest": {"max_quarantined_share": share, "ocr": False},
        }
    )
    paths = Paths(tmp_path / "ws")
    return run(config, paths, NullTracker(), RuleValidator(), benchmark="mine"), paths.output("benchmark", "mine")


def test_the_stage_writes_tables_quarantine_and_counts(tmp_path):
    bad = {"id": "bad", "modality": "text", "text": ""}
    result, out = stage(write(tmp_path / "raw", [*ITEMS, bad]), tmp_path, share=0.5)
    assert result.metrics["read"] == 8 and result.metrics["quarantined"] == 1
    assert json.loads((out / "quarantine.jsonl").read_text()) == {
        "file": "items.jsonl",
        "record": "bad",
        "reason": "text is empty (line 5)",
    }
    assert [i.id for i in read_items(out / "items.parquet")] == ["mine/t", "mine/b", "mine/i", "mine/v"]
    assert (
        len(read_questions(out / "questions.parquet")) == 3 and len(read_annotations(out / "annotations.parquet")) == 4
    )
    first = {p.name: p.read_bytes() for p in out.iterdir()}
    _, out = stage(tmp_path / "raw", tmp_path, share=0.5)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == first


def test_too_many_bad_records_stop_the_run_and_keep_the_last_good_output(tmp_path):
    raw = write(tmp_path / "raw")
    _, out = stage(raw, tmp_path)
    good = (out / "items.parquet").read_bytes()
    write(raw, [*ITEMS, *({"id": f"bad{n}", "modality": "text", "text": ""} for n in range(5))])
    with pytest.raises(
        DataError,
        match=r"5 of 12 records cannot be used.*items\.jsonl, bad0: text is empty \(line 5\); "
        r"all of them: .*mine-quarantine\.jsonl",
    ):
        stage(raw, tmp_path)
    assert (out / "items.parquet").read_bytes() == good
    assert "text is empty" in (tmp_path / "ws" / ".canopy" / "work" / "benchmark" / "mine-quarantine.jsonl").read_text()


@pytest.mark.parametrize(
    ("good", "bad", "share", "stops"),
    [
        (18, 2, 0.05, False),
        (0, 4, 0.05, True),
        (3, 4, 0.05, True),
        (95, 5, 0.05, False),
        (90, 5, 0.05, True),
        (25, 2, 0.05, False),
        (18, 1, 0.0, True),
    ],
)
def test_a_few_bad_records_among_few_do_not_stop_it(tmp_path, good, bad, share, stops):
    """Two wrong answer nodes of HybridQA in a slice of twenty questions are a tenth of it, and no sign of a broken
    release."""
    raw = write(
        tmp_path / "raw",
        [{"id": f"t{n}", "modality": "text", "text": "A sentence." if n < good else ""} for n in range(good + bad)],
        [],
    )
    if stops:
        with pytest.raises(DataError, match=rf"{bad} of {good + bad} records cannot be used"):
            stage(raw, tmp_path, share)
    else:
        assert stage(raw, tmp_path, share)[0].metrics["quarantined"] == bad


@pytest.mark.parametrize(("splits", "official", "want"), [
    (["train", "test", "train"], False, ["train", "test", "train"]),
    (["test", "test", "test"], False, ["test", "test", "test"]),
    (["train", "dev", "train"], True, ["train", "test", "train"]),
    (["train", "dev", "train"], False, None),
    (["train", "test", ""], False, "give a split to all or to none"),
    (["train", "", "dev"], True, "have no split"),
])
def test_whose_split_is_used(splits, official, want):
    from canopy.gold.split import official_sides
    from canopy.items import Question

    questions = [Question(f"q{n}", "b", "?", split=s) for n, s in enumerate(splits)]
    if isinstance(want, str):
        with pytest.raises(DataError, match=want):
            official_sides(questions, official)
    else:
        sides = official_sides(questions, official)
        assert (sides and list(sides.values())) == want


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"1\n00:00:01,000 --> 00:00:02,000\nCaf\xe9\n", "not UTF-8"),
        (b"WEBVTT\n\n1 --> 2\nx\n", "no cue could be read"),
    ],
)
def test_subtitles_that_cannot_be_read_are_named(tmp_path, data, words):
    write(tmp_path)
    (tmp_path / "media" / "a.vtt").write_bytes(data)
    sink = ingest(tmp_path)
    # the video, and the question about it
    assert sink.counts["quarantined"] == 2 and words in sink.quarantine[0]["reason"]


def test_utf16_subtitles_and_cues_past_the_end(tmp_path):
    write(tmp_path)
    (tmp_path / "media" / "a.vtt").write_bytes(VTT.replace("00:00:40", "00:01:10").encode("utf-16"))
    video = ingest(tmp_path).items["mine/v"]
    assert [c.text for c in video.cues] == ["Ada: Pick the leaves & wait.", "Roll them."] and video.cues[
        1
    ].start < video.duration


def test_many_good_items_do_not_hide_bad_questions(tmp_path):
    items = [{"id": f"t{n}", "modality": "text", "text": "A sentence."} for n in range(1000)]
    raw = write(
        tmp_path / "raw",
        items,
        [{"id": f"q{n}", "question": "" if n < 10 else "Why?", "answers": ["a"]} for n in range(30)],
    )
    with pytest.raises(DataError, match=r"10 of 30 records of questions\.jsonl cannot be used"):
        stage(raw, tmp_path)


def test_a_damaged_gzip_is_named(tmp_path):
    import gzip

    from canopy.ingest.files import iterate_jsonl

    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 5000)[:-20])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: the compressed file is damaged"):
        list(iterate_jsonl(path, Sink("b", tmp_path)))


def test_missing_folders_and_files_are_named(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        stage(tmp_path / "gone", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no items\.jsonl there"):
        stage(tmp_path / "empty", tmp_path)
    with pytest.raises(DataError, match=r"no adapter 'nope'; there are .*hotpotqa"):
        load_benchmark_adapter("nope")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda x: (
        st.lists(x, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "item", "chars", "rows", "text", "x"]), x, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(ITEMS), st.sampled_from(QUESTIONS), st.data())
def test_any_field_may_hold_anything(tmp_path_factory, item, question, data):
    """Swapped fields, wrong types, huge numbers, NULs: counted and named, never a traceback."""
    folder = tmp_path_factory.mktemp("fuzz")
    item, question = dict(item), dict(question)
    for record in (item, question):
        for key in data.draw(st.lists(st.sampled_from(sorted(record)), max_size=3)):
            record[key] = data.draw(JSON)
    write(folder, [*ITEMS, item], [*QUESTIONS, question])
    try:
        sink = ingest(folder)
    except CanopyError:
        return
    assert sink.counts["read"] == 9
