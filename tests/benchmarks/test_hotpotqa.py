"""HotpotQA: the official form, the mirrors' form, and the cases that are odd."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canopy.benchmarks.hotpotqa import read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink
from tests.benchmarks.ingested import copy_of, coverage, gold_of, write
from tests.benchmarks.ingested import ingest as ingest_folder

RECORD = {"_id": "a1", "question": " Who rowed? ", "answer": "Ann", "type": "bridge", "level": "easy",
          "context": [["Boats &amp; Oars", ["Ann rowed the boat.", " It leaked.", "  "]],
                      ["Shore", ["The shore was far."]]],
          "supporting_facts": [["Boats &amp; Oars", 0], ["Shore", 0], ["Boats &amp; Oars", 0]]}


def ingest(tmp_path, records, name="hotpot_dev_distractor_v1.json"):
    (tmp_path / name).write_text(json.dumps(records))
    sink = Sink("hotpotqa", tmp_path)
    read(tmp_path, sink)
    return sink


def gold_text(sink):
    return {(a.question_id, sink.items[a.item_id].title): [sink.items[a.item_id].text[int(s):int(e)] for s,
                                                           e in a.spans] for a in sink.annotations}


def test_official_record(tmp_path):
    sink = ingest(tmp_path, [RECORD])
    assert dict(sink.counts) == {"read": 1, "mapped": 1}
    assert sink.questions["hotpotqa/a1"].question == "Who rowed?" and sink.questions["hotpotqa/a1"].split == "dev"
    assert gold_text(sink) == {("hotpotqa/a1", "Boats & Oars"): ["Ann rowed the boat."],
                               ("hotpotqa/a1", "Shore"): ["The shore was far."]}


def test_mirror_form_gives_the_same(tmp_path):
    mirror = {**RECORD, "context": {"title": [t for t, _ in RECORD["context"]],
                                    "sentences": [s for _, s in RECORD["context"]]},
              "supporting_facts": {"title": [t for t, _ in RECORD["supporting_facts"]],
                                   "sent_id": [n for _, n in RECORD["supporting_facts"]]}}
    mirror["id"] = mirror.pop("_id")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = ingest(tmp_path / "a", [RECORD]), ingest(tmp_path / "b", [mirror])
    assert a.items == b.items and a.annotations == b.annotations


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"supporting_facts": [["Shore", 5], ["Boats &amp; Oars", 1]]}, "fallback", "gold whole"),
    ({"supporting_facts": [["Boats &amp; Oars", 1], ["Boats &amp; Oars", 9]]}, "fallback", "past the last sentence"),
    # a sentence of white space says nothing
    ({"supporting_facts": [["Boats &amp; Oars", 2]]}, "fallback", "gold whole"),
    ({"supporting_facts": [["Boats &amp; Oars", 2], ["Boats &amp; Oars", 0]]}, "fallback",
     "past the last sentence, or blank"),
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
    told = {"fallback": list(sink.fallbacks), "waiting": [w["reason"] for w in sink.waiting],
            "quarantined": [q["reason"] for q in sink.quarantine]}[kind]
    assert words in told[0]


def test_duplicate_titles_take_the_paragraph_that_has_the_sentence(tmp_path):
    record = {**RECORD, "context": [["T", ["Short."]], ["T", ["One.", " Two.", " Three."]]],
              "supporting_facts": [["T", 2]]}
    assert list(gold_text(ingest(tmp_path, [record])).values()) == [[" Three."]]


def test_yes_no_and_fewer_paragraphs(tmp_path):
    sink = ingest(tmp_path, [{**RECORD, "answer": "yes", "context": RECORD["context"][:1],
                              "supporting_facts": [["Boats &amp; Oars", 1]]}])
    assert sink.questions["hotpotqa/a1"].answers == ("yes",) and len(sink.items) == 1


def test_a_fullwiki_file_is_read_only_where_there_is_no_distractor(tmp_path):
    (tmp_path / "hotpot_dev_fullwiki_v1.json").write_text(json.dumps([RECORD]))
    assert ingest(tmp_path, [RECORD]).counts["read"] == 1
    (tmp_path / "hotpot_dev_distractor_v1.json").unlink()
    sink = Sink("hotpotqa", tmp_path)
    read(tmp_path, sink)
    assert sink.counts["mapped"] == 1


@pytest.mark.parametrize(("data", "words"), [
    (b'[{"_id": "a", "question"', "truncated"), (b'{"a": 1}', "a list of records is expected"),
    (b"[\xff]", "byte 1 is not UTF-8"), (b"[" * 200_000, "cannot be parsed")])
def test_broken_files_are_named(tmp_path, data, words):
    (tmp_path / "hotpot_train_v1.1.json").write_bytes(data)
    with pytest.raises(DataError, match=words) as e:
        read(tmp_path, Sink("hotpotqa", tmp_path))
    assert "hotpot_train_v1.1.json" in str(e.value)


def test_no_release_file(tmp_path):
    with pytest.raises(DataError, match=r"none of hotpot_train\*.json.* is there; HotpotQA comes from "
                                        r"https://hotpotqa.github.io"):
        read(tmp_path, Sink("hotpotqa", tmp_path))


@pytest.mark.parametrize("name", ["validation.json", "validation.jsonl", "hotpot_dev_distractor_v1.json"])
def test_a_mirror_without_ids_takes_them_from_the_question(tmp_path, name):
    mirror = {**RECORD, "context": {"title": [t for t, _ in RECORD["context"]],
                                    "sentences": [s for _, s in RECORD["context"]]},
              "supporting_facts": {"title": [t for t, _ in RECORD["supporting_facts"]],
                                   "sent_id": [n for _, n in RECORD["supporting_facts"]]}}
    del mirror["_id"]
    other = {**mirror, "question": "Who swam?"}
    for folder, records in (("a", [mirror, other]), ("b", [other, mirror])):  # as JSON Lines in a .json file too
        write(tmp_path / folder / name, records, lines=name != "validation.json")
    a, b = ingest_folder("hotpotqa", tmp_path / "a"), ingest_folder("hotpotqa", tmp_path / "b")
    assert a.counts["mapped"] == 2 and set(a.questions) == set(b.questions) and len(a.questions) == 2
    assert next(iter(a.questions)).startswith("hotpotqa/who-rowed-")


@pytest.mark.parametrize("name", ["hotpot_dev_distractor_v1.jsonl.gz", "distractor/validation-00000-of-00001.parquet",
                                  "hotpot_qa_validation.jsonl"])
def test_other_containers_of_a_mirror_give_the_same(tmp_path, name):
    records = [{"id": r["_id"], **{k: r[k] for k in ("question", "answer", "type")},
                "context": {"title": [t for t, _ in r["context"]], "sentences": [s for _, s in r["context"]]},
                "supporting_facts": {"title": [t for t, _ in r["supporting_facts"]],
                                     "sent_id": [n for _, n in r["supporting_facts"]]}}
               for r in (RECORD, {**RECORD, "_id": "b2"})]
    path = tmp_path / "mirror" / name
    path.parent.mkdir(parents=True)
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        data = "".join(json.dumps(r) + "\n" for r in records).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (tmp_path / "official").mkdir()
    a, b = ingest(tmp_path / "official", [RECORD, {**RECORD, "_id": "b2"}]), ingest_folder("hotpotqa",
                                                                                           tmp_path / "mirror")
    assert a.items == b.items and a.annotations == b.annotations and a.counts == b.counts
    if name.endswith(".parquet"):
        path.write_bytes(b"PAR1 no more")
        with pytest.raises(DataError, match="not a Parquet file that can be read"):
            ingest_folder("hotpotqa", tmp_path / "mirror")


def test_odd_records_by_hand(tmp_path):
    sink = ingest_folder("hotpotqa", copy_of(tmp_path, "hotpotqa"))
    assert dict(sink.counts) == {"read": 5, "mapped": 1, "fallback": 3, "waiting": 1}
    assert gold_of(sink, "past-some") == [(0, "Ferry & Tow", [" Ann Fell founded it in 1901."]),
                                          (0, "Low Harbour", [" It has a ferry landing."])]
    assert gold_of(sink, "past-all") == [(0, "Ferry & Tow", ["whole"]),
                                         (0, "Low Harbour", ["Low Harbour is a town on the west coast."])]
    assert gold_of(sink, "two-titles") == [(0, "Ferry & Tow", [" It closed in 1950."])]
    assert gold_of(sink, "no-facts") == [] and sink.questions["hotpotqa/no-facts"].answers == ("yes",)
    assert sink.waiting[0]["record"] == "no-title" and coverage(sink) == {"located": 2, "whole": 1, "none": 1}


def test_full_wiki_finds_a_missing_paragraph_in_another_record(tmp_path):
    raw = copy_of(tmp_path, "hotpotqa_fullwiki")
    sink = ingest_folder("hotpotqa", raw)
    assert dict(sink.counts) == {"read": 4, "mapped": 1, "fallback": 2, "waiting": 1}
    assert gold_of(sink, "f1")[0] == (0, "High Moor", ["High Moor is a hill east of the town."])
    assert sink.questions["hotpotqa/t1"].split == "blind test" and gold_of(sink, "t1") == []
    records = json.loads((raw / "hotpot_dev_fullwiki_v1.json").read_text("utf-8"))
    records[2]["context"].append(["High Moor", ["Another moor."]])
    write(raw / "hotpot_dev_fullwiki_v1.json", records)
    told = [w["reason"] for w in ingest_folder("hotpotqa", raw).waiting]
    assert told[0].endswith("2 different paragraphs elsewhere have this title") and len(told) == 2


def test_sentences_that_come_stripped_are_joined_by_a_space(tmp_path):
    record = {**RECORD, "context": [["Shore", ["One a.", "Two b.", "Three c."]],
                                    ["Boats &amp; Oars", ["Four d.", "Five e.", "", "Six f."]]]}
    sink = ingest(tmp_path, [record])
    assert [i.text for i in sink.items.values()] == ["One a. Two b. Three c.", "Four d. Five e. Six f."]
    assert gold_text(sink)["hotpotqa/a1", "Boats & Oars"] == ["Four d."]


def test_a_copy_of_a_file_in_another_folder_is_left_out_with_a_note(tmp_path):
    write(tmp_path / "data" / "hotpot_train_v1.1.json", [RECORD])
    write(tmp_path / "old" / "data" / "hotpot_train_v1.1.json", [RECORD])
    sink = ingest_folder("hotpotqa", tmp_path)
    assert sink.counts["read"] == 1 and "has the same name" in sink.notes[0]


@pytest.mark.real
def test_real_oddities(real_data, tmp_path):
    sink = ingest_folder("hotpotqa", real_data / "hotpotqa")
    official = {r["_id"]: r for f in sorted((real_data / "hotpotqa").glob("hotpot_*.json"))
                for r in json.loads(f.read_text())}
    few = [i for i, r in official.items() if len(r["context"]) < 10]
    assert few and all(f"hotpotqa/{i}" in sink.questions for i in few)
    entities = [t for r in official.values() for t, _ in r["context"] if "&amp;" in t]
    assert entities and {t.replace("&amp;", "&") for t in entities} <= {i.title for i in sink.items.values()}
    assert not any("&amp;" in i.title for i in sink.items.values())
    blank = [i for i, r in official.items() if any(not s.strip() for _, ss in r["context"] for s in ss)]
    assert all(f"hotpotqa/{i}" in sink.questions for i in blank)
    texts = {i.text for i in sink.items.values()}
    # byte for byte
    assert all("".join(ss) in texts for r in official.values() for _, ss in r["context"] if "".join(ss).strip())
    stray = [i for i, r in official.items() if r["question"] != r["question"].strip()]
    assert stray and all(sink.questions[f"hotpotqa/{i}"].question == official[i]["question"].strip() for i in stray)
    assert {"yes", "no"} <= {a for q in sink.questions.values() for a in q.answers}
    assert coverage(sink)["located"] >= 0.98 * len(sink.questions)


@pytest.mark.real
def test_real_slice_locates_all_gold(real_data, tmp_path):
    sink = Sink("hotpotqa", tmp_path)
    read(real_data / "hotpotqa", sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"] > 50
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated and sum(r["coverage"] == "located" for r in rows) >= 0.98 * len(rows)
    # the gold text is the annotated sentence: nothing of a neighbour, nothing missing
    official = {str(r["_id"]): r for f in sorted((real_data / "hotpotqa").glob("hotpot_*.json"))
                for r in json.loads(f.read_text())}
    for a in sink.annotations:
        record = official[a.question_id.split("/", 1)[1]]
        said = {s for _, ss in record["context"] for s in ss}
        assert all(sink.items[a.item_id].text[int(s):int(e)] in said for s, e in a.spans)
