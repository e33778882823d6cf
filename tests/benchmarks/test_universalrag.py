"""UniversalRAG's queries.

Gold documents by path, alternatives, questions that need none, and the real slice without documents.
"""

import copy
import json
import random
import shutil
from pathlib import Path

import pytest
from little_films import write_film
from PIL import Image

from canopy.benchmarks.universalrag import SETS, read
from canopy.errors import DataError
from canopy.ingest.sink import Sink

GIVEN = Path(__file__).parents[1] / "data" / "universalrag"


@pytest.fixture
def release(tmp_path):
    """All seven query files, with their texts, an image and one of two videos."""
    folder = tmp_path / "universalrag"
    shutil.copytree(GIVEN, folder)
    (folder / "dataset" / "WebQA" / "images").mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(folder / "dataset" / "WebQA" / "images" / "30.jpg")
    write_film(folder / "dataset" / "videorag" / "videos" / "K1.mp4", 35)
    return folder


def ingest(folder):
    sink = Sink("universalrag", folder.parent)
    read(folder, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def edit(folder, name, **change):
    path = folder / "dataset" / "query" / f"{name}.json"
    rows = json.loads(path.read_text("utf-8"))
    rows[0] |= change
    path.write_text(json.dumps(rows))
    return folder


def gold_of(sink, name):
    return [(a.item_id.removeprefix("universalrag/"), a.unit, a.group) for a in sink.annotations if a.question_id
            == f"universalrag/{name}"]


def test_all_seven_files_are_read(release):
    sink = ingest(release)
    assert dict(sink.counts) == {"read": 9, "mapped": 5, "fallback": 3, "waiting": 1}  # an image and a video
    # evidence together
    assert gold_of(sink, "hotpotqa_1") == [("hotpotqa/text/1.txt", "item", 0), ("hotpotqa/text/2.txt", "item", 0)]
    # the repeat is one, the other is not there
    assert gold_of(sink, "nq_0") == [("natural_questions/text/5.txt", "item", 0)]
    assert gold_of(sink, "webqa_d5") == [("WebQA/images/30.jpg", "item", 0)]
    assert gold_of(sink, "videorag_wikihow_290") == gold_of(sink, "videorag_synth_K_0") == [("videorag/videos/K1.mp4",
                                                                                             "item", 0)]
    assert sink.waiting == [{"file": "squad.json", "record": "squad2",
                             "reason": "text 'dataset/squad/text/9.txt' is not there"}]
    assert sink.items["universalrag/natural_questions/text/5.txt"].text == "Ålesund is a town in Norway."
    assert sink.items["universalrag/videorag/videos/K1.mp4"].duration == 35.0
    assert sink.questions["universalrag/nq_0"].answers == ("in Norway", "Norway")
    assert dict(sink.questions["universalrag/webqa_d5"].details) == {"retrieval": "image", "category": "YesNo"}


def test_a_question_that_needs_no_document(release):
    question = ingest(release).questions["universalrag/mmlu_1"]
    assert question.answers == ("D",) and question.details == (("A", "Power"), ("B", "Publicity"), ("C", "Profit"),
                                                               ("D", "Habit"), ("retrieval", "no"))
    assert gold_of(ingest(release), "mmlu_1") == []


def test_the_folder_above_the_queries_may_have_any_name(release):
    flat = release.parent / "flat"
    shutil.copytree(release / "dataset", flat)
    assert ingest(flat).counts["mapped"] == 5


def test_other_query_files_are_named(release):
    for name in ("lvbench", "infoseek"):
        (release / "dataset" / "query" / f"{name}.json").write_text("[]")
    assert "infoseek.json, lvbench.json" in ingest(release).notes[0]


@pytest.mark.parametrize(("name", "change", "kind", "words"), [
    ("hotpotqa", {"gt_texts": ["dataset/hotpotqa/text/1.txt", "dataset/hotpotqa/text/3.txt"]}, "waiting",
     "text/3.txt' is not there"),
    ("hotpotqa", {"gt_texts": ["../../etc/passwd"]}, "quarantined", "outside the data folder"),
    ("hotpotqa", {"gt_texts": ["/etc/passwd"]}, "quarantined", "outside the data folder"),
    ("hotpotqa", {"gt_texts": []}, "quarantined", "names no gold document"),
    ("hotpotqa", {"gt_texts": "1.txt"}, "quarantined", "gt_texts must be a list"),
    ("hotpotqa", {"gt_tables": ["t.csv"]}, "quarantined", "gt_tables: gold of a kind that is not read"),
    ("natural_questions", {"answer": 3}, "quarantined", "answer must be a string"),
    ("natural_questions", {"aliases": [1]}, "quarantined", "aliases must be a string"),
    ("mmlu", {"answer": "E"}, "quarantined", "none of the options"),
    ("mmlu", {"gt_retrieval": "document"}, "quarantined", "does not say that none is needed"),
    ("webqa", {"index": None}, "quarantined", "index is empty"),
    ("webqa", {"question": ""}, "quarantined", "question is empty"),
])
def test_odd_records(release, name, change, kind, words):
    before = ingest(release).counts[kind]
    sink = ingest(edit(release, name, **change))
    assert sink.counts[kind] == before + 1 and words in str([*sink.waiting, *sink.quarantine])


def test_documents_that_cannot_be_read(release):
    data = release / "dataset"
    (data / "hotpotqa" / "text" / "1.txt").write_bytes(b"\xff\xfe\xfa")
    (data / "natural_questions" / "text" / "6.txt").write_text(" ")
    (data / "WebQA" / "images" / "30.jpg").write_bytes(b"no image")
    (data / "videorag" / "videos" / "K1.mp4").write_bytes(b"no video")
    sink = ingest(release)
    assert {q["record"] for q in sink.quarantine} == {"hotpotqa_1", "webqa_d5", "dataset/videorag/videos/K1.mp4"}
    assert {w["record"] for w in sink.waiting} == {"squad2", "videorag_synth_K_0", "videorag_wikihow_290"}
    assert gold_of(sink, "nq_0") and str(release) not in str(sink.quarantine)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"none of query/hotpotqa\.json"):
        ingest(tmp_path)


def test_mutated_records_never_get_past_the_counts(release):
    draw, odd = random.Random(2), [None, "", "x", -1, 1e308, float("nan"), True, [], {}, [[]], ["."], ["/"], [""], [1],
                                   "\ud800", "a\x00", ["x" * 5000]]
    for name in SETS:
        path = release / "dataset" / "query" / f"{name}.json"
        rows = json.loads(path.read_text("utf-8"))
        for n in range(60):
            made = copy.deepcopy(rows[0]) | {"index": f"{name}{n}"}
            made[draw.choice([*made, "gt_videos", "gt_images"])] = draw.choice(odd)
            rows.append(made)
        path.write_text(json.dumps(rows))
    sink = ingest(release)
    assert sink.counts["read"] >= 427 and sink.counts["quarantined"] > 100 and len(sink.questions) > 50


@pytest.mark.real
def test_real_slice(real_data):
    sink = ingest(real_data / "universalrag")
    asked = {n: len(json.loads(next((real_data / "universalrag").rglob(f"{n}.json")).read_text("utf-8"))) for n in SETS}
    assert {f.removesuffix(".json"): n for f, n in sink.read_from.items()} == asked
    assert (
        sink.counts["fallback"] == asked["mmlu"] == len(sink.questions)
        and sink.counts["waiting"] == sum(asked.values()) - asked["mmlu"]
    )
    assert all(len(q.details) == 5 and q.answers[0] in dict(q.details) for q in sink.questions.values())


@pytest.mark.real
def test_real_queries_with_made_up_texts(real_data, tmp_path):
    """The slice's own queries, each gold text a file that says its name: all are mapped, each to its own documents."""
    folder = tmp_path / "universalrag"
    shutil.copytree(real_data / "universalrag", folder)
    named = {}
    for path in sorted(folder.rglob("*.json")):
        if path.stem not in ("hotpotqa", "squad"):
            path.unlink()
            continue
        for record in json.loads(path.read_text("utf-8"))[:120]:
            named[f"universalrag/{record['index']}"] = set(record["gt_texts"])
            for text in record["gt_texts"]:
                (folder / text).parent.mkdir(parents=True, exist_ok=True)
                (folder / text).write_text(text)
    sink = ingest(folder)
    got = {}
    for a in sink.annotations:
        got.setdefault(a.question_id, set()).add(sink.items[a.item_id].text)
    assert len(named) > 200 and {q: got.get(q) for q in named} == named
