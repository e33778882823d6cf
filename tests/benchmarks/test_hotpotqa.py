"""HotpotQA: the official form, the mirrors' form, and the cases that are odd."""

import json

import pytest

from canopy.benchmarks.base import Sink
from canopy.benchmarks.hotpotqa import read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations

RECORD = {"_id": "a1", "question": " Who rowed? ", "answer": "Ann", "type": "bridge", "level": "easy",
          "context": [["Boats &amp; Oars", ["Ann rowed the boat.", " It leaked.", "  "]], ["Shore", ["The shore was far."]]],
          "supporting_facts": [["Boats &amp; Oars", 0], ["Shore", 0], ["Boats &amp; Oars", 0]]}


def ingest(tmp_path, records, name="hotpot_dev_distractor_v1.json"):
    (tmp_path / name).write_text(json.dumps(records))
    sink = Sink("hotpotqa", tmp_path)
    read(tmp_path, sink)
    return sink


def gold_text(sink):
    return {(a.question_id, sink.items[a.item_id].title): [sink.items[a.item_id].text[int(s):int(e)] for s, e in a.spans] for a in sink.annotations}


def test_official_record(tmp_path):
    sink = ingest(tmp_path, [RECORD])
    assert dict(sink.counts) == {"read": 1, "mapped": 1}
    assert sink.questions["hotpotqa/a1"].question == "Who rowed?" and sink.questions["hotpotqa/a1"].split == "dev"
    assert gold_text(sink) == {("hotpotqa/a1", "Boats & Oars"): ["Ann rowed the boat."], ("hotpotqa/a1", "Shore"): ["The shore was far."]}


def test_mirror_form_gives_the_same(tmp_path):
    mirror = {**RECORD, "context": {"title": [t for t, _ in RECORD["context"]], "sentences": [s for _, s in RECORD["context"]]},
              "supporting_facts": {"title": [t for t, _ in RECORD["supporting_facts"]], "sent_id": [n for _, n in RECORD["supporting_facts"]]}}
    mirror["id"] = mirror.pop("_id")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = ingest(tmp_path / "a", [RECORD]), ingest(tmp_path / "b", [mirror])
    assert a.items == b.items and a.annotations == b.annotations


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"supporting_facts": [["Shore", 5], ["Boats &amp; Oars", 1]]}, "fallback", "gold whole"),
    ({"supporting_facts": [["Boats &amp; Oars", 1], ["Boats &amp; Oars", 9]]}, "fallback", "past the last sentence"),
    ({"supporting_facts": [["Elsewhere", 0]]}, "waiting", "'Elsewhere' is not in the context"),
    ({"supporting_facts": [["Shore", "0"]]}, "quarantined", "must be an integer"),
    ({"context": []}, "quarantined", "no paragraph"),
    ({"context": [["T", ["a", 3]]]}, "quarantined", "list of strings"),
    ({"question": None}, "quarantined", "question must be a string"),
    ({"answer": 3}, "quarantined", "answer must be a string"),
])
def test_odd_records(tmp_path, change, kind, words):
    sink = ingest(tmp_path, [{**RECORD, **change}, {**RECORD, "_id": "good"}])
    assert sink.counts[kind] == 1 and sink.counts["mapped"] == 1
    assert {i.title for i in sink.items.values()} >= {"Boats & Oars", "Shore"}
    told = {"fallback": list(sink.fallbacks), "waiting": [w["reason"] for w in sink.waiting], "quarantined": [q["reason"] for q in sink.quarantine]}[kind]
    assert words in told[0]


def test_duplicate_titles_take_the_paragraph_that_has_the_sentence(tmp_path):
    record = {**RECORD, "context": [["T", ["Short."]], ["T", ["One.", " Two.", " Three."]]], "supporting_facts": [["T", 2]]}
    assert list(gold_text(ingest(tmp_path, [record])).values()) == [[" Three."]]


def test_yes_no_and_fewer_paragraphs(tmp_path):
    sink = ingest(tmp_path, [{**RECORD, "answer": "yes", "context": RECORD["context"][:1], "supporting_facts": [["Boats &amp; Oars", 1]]}])
    assert sink.questions["hotpotqa/a1"].answers == ("yes",) and len(sink.items) == 1


def test_a_fullwiki_file_is_read_only_where_there_is_no_distractor(tmp_path):
    (tmp_path / "hotpot_dev_fullwiki_v1.json").write_text(json.dumps([RECORD]))
    assert ingest(tmp_path, [RECORD]).counts["read"] == 1
    (tmp_path / "hotpot_dev_distractor_v1.json").unlink()
    sink = Sink("hotpotqa", tmp_path)
    read(tmp_path, sink)
    assert sink.counts["mapped"] == 1


@pytest.mark.parametrize(("data", "words"), [
    (b'[{"_id": "a", "question"', "truncated"), (b'{"a": 1}', "a list of records is expected"), (b"[\xff]", "byte 1 is not UTF-8"), (b"[" * 200_000, "cannot be parsed")])
def test_broken_files_are_named(tmp_path, data, words):
    (tmp_path / "hotpot_train_v1.1.json").write_bytes(data)
    with pytest.raises(DataError, match=words) as e:
        read(tmp_path, Sink("hotpotqa", tmp_path))
    assert "hotpot_train_v1.1.json" in str(e.value)


def test_no_release_file(tmp_path):
    with pytest.raises(DataError, match="no hotpot_train"):
        read(tmp_path, Sink("hotpotqa", tmp_path))


@pytest.mark.real
def test_real_slice_locates_all_gold(real_data, tmp_path):
    sink = Sink("hotpotqa", tmp_path)
    read(real_data / "hotpotqa", sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"] > 50
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated and sum(r["coverage"] == "located" for r in rows) >= 0.98 * len(rows)
    # the gold text is the annotated sentence: nothing of a neighbour, nothing missing
    official = {str(r["_id"]): r for f in sorted((real_data / "hotpotqa").glob("hotpot_*.json")) for r in json.loads(f.read_text())}
    for a in sink.annotations:
        record = official[a.question_id.split("/", 1)[1]]
        said = {s for _, ss in record["context"] for s in ss}
        assert all(sink.items[a.item_id].text[int(s):int(e)] in said for s, e in a.spans)
