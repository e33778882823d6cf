"""OTT-QA: answer nodes by coordinates and link, alternatives, wrong nodes, odd tables."""

import json

import pytest

from canopy.benchmarks.base import Sink
from canopy.benchmarks.ott_qa import read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations

TABLE = {"url": "u", "title": "Cup", "header": [["Club", []], ["", ["/wiki/X"]], ["Club", []]],
         "data": [[["Ayr", ["/wiki/Ayr"]], ["1", []], ["", []]], [["City of Preston", ["/wiki/Preston", "/wiki/Preston"]], ["2", []]]],
         "section_title": "", "section_text": "", "uid": "Cup_0"}
PASSAGES = {"/wiki/Ayr": "Ayr is a town . It is old .", "/wiki/Preston": "Preston lies in Lancashire . Its club wears white .", "/wiki/ayr": "Another page ."}
RECORD = {"question_id": "q1", "question": "What colour ?", "table_id": "Cup_0", "answer-text": "white",
          "answer-node": [["Preston", [1, 0], "/wiki/Preston", "passage"]]}


def ingest(tmp_path, records, table=TABLE, passages=PASSAGES, name="dev.traced.json", table_id="Cup_0"):
    for folder in ("released_data", "data/traindev_tables_tok", "data/traindev_request_tok"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "released_data" / name).write_text(json.dumps(records))
    (tmp_path / f"data/traindev_tables_tok/{table_id}.json").write_text(json.dumps(table))
    (tmp_path / f"data/traindev_request_tok/{table_id}.json").write_text(json.dumps(passages))
    sink = Sink("ott-qa", tmp_path)
    read(tmp_path, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def test_a_passage_node_is_a_sentence_and_the_row_that_links_to_it(tmp_path):
    sink = ingest(tmp_path, [RECORD])
    rows, _ = map_annotations(sink.annotations, sink.items, 30.0)
    assert [(sink.items[r["item_id"]].modality, r["fragments"], r["group"]) for r in rows] == [("text", [1], 0), ("table", [1], 0)]
    table = sink.items["ott-qa/table/Cup_0"]
    assert table.header == ("Club", "", "Club") and table.rows[1] == ("City of Preston", "2", "")
    assert sum(i.modality == "text" for i in sink.items.values()) == 3  # keys that differ only in case are different pages


def test_nodes_are_alternatives_and_repeats_fold(tmp_path):
    nodes = [["Ayr", [0, 0], None, "table"], ["City of Preston", [1, 0], None, "table"], ["Ayr", [0, 0], None, "table"]]
    sink = ingest(tmp_path, [{**RECORD, "answer-text": "AYR", "answer-node": nodes[:1] * 2}, {**RECORD, "question_id": "q2", "answer-text": "PRESTON", "answer-node": [nodes[1]]},
                             {**RECORD, "question_id": "q3", "answer-text": "2", "answer-node": [["2", [1, 1], None, "table"], ["1", [0, 1], None, "table"]]}])
    groups = {}
    for a in sink.annotations:
        groups.setdefault(a.question_id, []).append((a.group, a.spans))
    assert groups["ott-qa/q1"] == [(0, ((0.0, 1.0),))] and groups["ott-qa/q2"] == [(0, ((1.0, 2.0),))]
    assert groups["ott-qa/q3"] == [(0, ((1.0, 2.0),))] and sink.fallbacks["a wrong answer node left out"] == 1


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"answer-node": []}, "fallback", "no answer node"),
    ({"answer-text": "purple"}, "fallback", "answer not found in its linked passage"),
    ({"answer-node": [["x", [9, 0], None, "table"]]}, "quarantined", "lies outside the table"),
    ({"answer-node": [["x", [1, 2], None, "table"]]}, "quarantined", "lies outside the table"),
    ({"answer-node": [["x", [0, 0], "/wiki/Preston", "passage"]]}, "quarantined", "is not in its cell"),
    ({"answer-node": [["x", [0, 0], "/wiki/Gone", "passage"]]}, "quarantined", "neither in its cell nor among"),
    ({"answer-node": ["x"]}, "quarantined", "must be [text"),
    ({"answer-node": [["x", [0, 0], None, "cell"]]}, "quarantined", "unknown kind"),
    ({"table_id": "Gone_1"}, "waiting", "'Gone_1' has no file"),
    ({"question": 3}, "quarantined", "question must be a string"),
])
def test_odd_records(tmp_path, change, kind, words):
    sink = ingest(tmp_path, [{**RECORD, **change}, {**RECORD, "question_id": "good"}])
    told = {"fallback": list(sink.fallbacks), "waiting": [w["reason"] for w in sink.waiting], "quarantined": [q["reason"] for q in sink.quarantine]}[kind]
    assert sink.counts[kind] == 1 and words in told[0]
    assert "ott-qa/good" in sink.questions


def test_a_linked_passage_that_is_not_there_waits(tmp_path):
    sink = ingest(tmp_path, [RECORD], passages={"/wiki/Ayr": "Ayr is a town ."})
    assert sink.counts["waiting"] == 1 and "/wiki/Preston" in sink.waiting[0]["reason"]


@pytest.mark.parametrize("table", [{**TABLE, "data": []}, {**TABLE, "data": [[["", []]]]}, {**TABLE, "data": "x"}, {"title": "no header"}, [1]])
def test_a_broken_table_is_quarantined(tmp_path, table):
    sink = ingest(tmp_path, [RECORD], table=table)
    assert sink.counts["quarantined"] == 2 and not sink.items  # the question and the table file


def test_untraced_questions_take_their_table_whole(tmp_path):
    plain = {k: v for k, v in RECORD.items() if k != "answer-node"}
    sink = ingest(tmp_path, [plain], name="dev.json")
    assert [(a.unit, a.item_id) for a in sink.annotations] == [("item", "ott-qa/table/Cup_0")]


def test_traced_file_wins_over_the_plain_one(tmp_path):
    ingest(tmp_path, [RECORD], name="dev.json")
    assert ingest(tmp_path, [RECORD]).counts["read"] == 1


@pytest.mark.parametrize("bad", [3, "", "a\x00b", "\ud800"], ids=["number", "empty", "NUL", "surrogate"])
def test_a_passage_that_cannot_be_used_is_quarantined(tmp_path, bad):
    sink = ingest(tmp_path, [RECORD], passages={**PASSAGES, "/wiki/Ayr": bad})
    assert [(q["file"], q["record"]) for q in sink.quarantine] == [("Cup_0.json", "/wiki/Ayr")]
    assert sink.counts["mapped"] == 1 and sum(i.modality == "text" for i in sink.items.values()) == 2


def test_a_cell_must_be_text_and_links(tmp_path):
    sink = ingest(tmp_path, [RECORD], table={**TABLE, "header": ["Club", "", "Club"]})
    assert not sink.items and "a cell is [text, [links]]" in sink.quarantine[0]["reason"]


def test_decomposed_file_names_keep_their_passages(tmp_path):
    sink = ingest(tmp_path, [{**RECORD, "table_id": "Caf\u00e9_0"}], table_id="Cafe\u0301_0")
    assert sink.counts["mapped"] == 1 and len(sink.items) == 4


def test_names_with_unusual_characters(tmp_path):
    name = "2016–17_Ligue_1:_“A”,_l'été_5"
    sink = ingest(tmp_path, [{**RECORD, "table_id": name}], table_id=name)
    assert sink.counts["mapped"] == 1


def test_missing_folders_are_named(tmp_path):
    with pytest.raises(DataError, match="traindev_tables_tok"):
        read(tmp_path, Sink("ott-qa", tmp_path))


@pytest.mark.real
def test_real_slice_locates_gold(real_data, tmp_path):
    sink = Sink("ott-qa", tmp_path)
    read(real_data / "ott-qa", sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"] > 100
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated
    located = {r["question_id"] for r in rows if r["coverage"] == "located"}
    assert len(located) >= 0.98 * c["mapped"]
    # a passage's gold sentences hold the answer, ignoring case and spacing
    for a in sink.annotations:
        if a.unit == "chars":
            answer = "".join(sink.questions[a.question_id].answers[0].casefold().split())
            assert all("".join(sink.items[a.item_id].text[int(s):int(e)].casefold().split()) == answer for s, e in a.spans)
