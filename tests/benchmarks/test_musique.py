"""MuSiQue: both sets, the blind test set, and the cases that are odd."""

import gzip
import json

import pytest

from canopy.errors import DataError
from tests.benchmarks.ingested import copy_of, coverage, gold_of, ingest, read_lines, write

ANS = "data/musique_ans_v1.0_dev.jsonl"


def record_of(tmp_path, **change):
    raw = copy_of(tmp_path, "musique")
    record = {**read_lines(raw / ANS)[0], **change}
    for f in (raw / "data").iterdir():
        f.unlink()
    write(raw / ANS, [record], lines=True)
    return ingest("musique", raw)


def test_supporting_paragraphs_are_gold_and_located(tmp_path):
    sink = record_of(tmp_path)
    assert dict(sink.counts) == {"read": 1, "mapped": 1} and coverage(sink) == {"located": 1, "whole": 0, "none": 0}
    texts = ["Quay Song is a tune by Olga Brandt. It is often called ``the harbour hymn''.",
             "Olga Brandt lived in Lund. She played the viola."]
    assert gold_of(sink, "2hop__11_12") == [(0, "Quay Song", [texts[0]]), (0, "Olga Brandt", [texts[1]])]
    question = sink.questions["musique/2hop__11_12"]
    assert question.answers == ("Lund", "Lund, Scania") and question.type == "2hop" and question.split == "dev"
    assert question.details == (("step_1", "Quay Song >> performer"), ("step_2", "Where did #1 live?"))


def test_paragraphs_of_one_title_are_told_apart(tmp_path):
    sink = record_of(tmp_path)
    assert sorted(i.title for i in sink.items.values()).count("Quay Song") == 2
    # the mark of the second paragraph moves the gold to it, though title and order of the first match
    paragraphs = read_lines(copy_of(tmp_path / "x", "musique") / ANS)[0]["paragraphs"]
    paragraphs[0]["is_supporting"], paragraphs[1]["is_supporting"] = False, True
    assert gold_of(record_of(tmp_path / "y", paragraphs=paragraphs[::-1]), "2hop__11_12")[1] == (
        0,
        "Quay Song",
        ["Quay Song is also the name of a ship."],
    )


def test_the_full_sets_twins_and_the_blind_test_set(tmp_path):
    sink = ingest("musique", copy_of(tmp_path, "musique"))
    assert dict(sink.counts) == {"read": 4, "mapped": 1, "fallback": 3}
    twin = sink.questions["musique/2hop__11_12/unanswerable"]
    assert (
        twin.answers == ()
        and twin.type == "2hop unanswerable"
        and [g[1] for g in gold_of(sink, "2hop__11_12/unanswerable")] == ["Quay Song"]
    )
    assert "same question as in musique_ans_v1.0_dev.jsonl: its paragraphs are added" in sink.fallbacks
    blind = sink.questions["musique/3hop1__21_22_23"]
    assert blind.answers == () and blind.split == "blind test" and gold_of(sink, "3hop1__21_22_23") == []
    assert coverage(sink) == {"located": 2, "whole": 0, "none": 1}


def test_the_full_set_alone(tmp_path):
    raw = copy_of(tmp_path, "musique")
    (raw / ANS).unlink()
    sink = ingest("musique", raw)
    assert set(sink.questions) == {"musique/2hop__11_12", "musique/2hop__11_12/unanswerable", "musique/3hop1__21_22_23"}


def test_a_mirror_without_marks_uses_the_decomposition(tmp_path):
    paragraphs = [{k: v for k, v in p.items() if k != "is_supporting"}
                  for p in read_lines(copy_of(tmp_path, "musique") / ANS)[0]["paragraphs"]]
    assert [g[1] for g in gold_of(record_of(tmp_path / "x", paragraphs=paragraphs), "2hop__11_12")] == ["Quay Song",
                                                                                                        "Olga Brandt"]


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"question_decomposition": [{"question": "x", "paragraph_support_idx": 9}],
      "paragraphs": [{"idx": 0, "title": "T", "paragraph_text": "A."}]}, "waiting", "paragraph 9 is not there"),
    ({"paragraphs": [{"idx": 0, "title": "T", "paragraph_text": " ", "is_supporting": True},
                     {"idx": 1, "title": "T", "paragraph_text": "A."}]}, "waiting",
     "paragraph 0 is not there or has no text"),
    ({"paragraphs": [{"idx": 0, "title": "T", "paragraph_text": "A."},
                     {"idx": 0, "title": "T", "paragraph_text": "B."}]}, "quarantined", "two paragraphs have idx 0"),
    ({"paragraphs": [{"idx": "0", "title": "T", "paragraph_text": "A."}]}, "quarantined", "must be a whole number"),
    ({"paragraphs": [{"idx": 0, "title": "T", "paragraph_text": "A.", "is_supporting": "yes"}]}, "quarantined",
     "must be true or false"),
    ({"paragraphs": []}, "quarantined", "no paragraph"),
    ({"answer_aliases": "Scania"}, "mapped", ""),
    ({"answer": 7}, "quarantined", "answer must be a list"),
    ({"answerable": "no"}, "quarantined", "answerable must be true or false"),
])
def test_odd_records(tmp_path, change, kind, words):
    sink = record_of(tmp_path, **change)
    told = [r["reason"] for r in sink.waiting + sink.quarantine]
    assert sink.counts[kind] == 1 and (not words or words in told[0])
    assert kind != "waiting" or len(sink.items) == 1


def test_two_records_of_one_id_that_differ(tmp_path):
    raw = copy_of(tmp_path, "musique")
    first = read_lines(raw / ANS)[0]
    write(raw / ANS, [first, {**first, "question": "Another?"}], lines=True)
    assert "duplicate question id" in ingest("musique", raw).quarantine[0]["reason"]


def test_a_compressed_file_and_a_list(tmp_path):
    raw = copy_of(tmp_path, "musique")
    records = read_lines(raw / ANS)
    for f in (raw / "data").iterdir():
        f.unlink()
    (raw / "data" / "musique_ans_v1.0_train.jsonl.gz").write_bytes(gzip.compress(json.dumps(records[0]).encode()))
    write(raw / "musique_dev.json", [{**records[0], "id": "2hop__1_2"}])
    assert {q.split for q in ingest("musique", raw).questions.values()} == {"train", "dev"}


def test_no_release_file(tmp_path):
    with pytest.raises(DataError, match=r"none of musique_ans_v\*_train.jsonl, .* is there; MuSiQue comes from"):
        ingest("musique", tmp_path)


@pytest.mark.real
def test_real_slice(real_data):
    sink = ingest("musique", real_data / "musique")
    official = [json.loads(line) for f in sorted((real_data / "musique").rglob("*.jsonl"))
                for line in f.read_text("utf-8").splitlines()]
    assert coverage(sink)["located"] >= 0.98 * len(official) > 0
    twice = [r for r in official if len({p["title"] for p in r["paragraphs"]}) < len(r["paragraphs"])]
    assert len(twice) > len(official) / 5
    for r in official:
        wanted = [p["paragraph_text"] for p in r["paragraphs"] if p["is_supporting"]]
        assert [text for _, _, (text,) in gold_of(sink, r["id"])] == wanted
        assert sink.questions[f"musique/{r['id']}"].answers[0] == r["answer"]
    steps = " ".join(v for q in sink.questions.values() for _, v in q.details)
    assert "#1" in steps and ">>" in steps
    assert any("``" in i.text for i in sink.items.values())
