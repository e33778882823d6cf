"""HybridQA: its layout, its blind test, and what is odd in its nodes.

Hand-made files in the official form, and the real slice.
"""

import json
import shutil
from pathlib import Path

import pytest

from canopy.benchmarks.hybridqa import read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink

HAND_MADE = Path(__file__).parents[1] / "data" / "hybridqa"
FERRIES, BELLS = "hybridqa/table/Ferries_of_Lake_Orrin_0", "hybridqa/table/Bells_of_St._Wren’s_(the_eight),_d'or–5_2"
KNOWN_WRONG = {"6546ba5329f186cb", "cd27c43c211d752a", "f1f011d3a63b506c", "060323fe818531b8"}


def ingest(raw, out):
    sink = Sink("hybridqa", out)
    read(raw, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


@pytest.fixture
def sink(tmp_path):
    return ingest(HAND_MADE, tmp_path)


def gold(sink, question):
    return [(a.group, sink.items[a.item_id].title, a.unit, [sink.items[a.item_id].text[int(s):int(e)] for s,
                                                            e in a.spans] if a.unit == "chars" else a.spans)
            for a in sink.annotations if a.question_id == f"hybridqa/{question}"]


def test_a_node_is_found_by_place_and_link_whatever_its_text_says(sink):
    assert gold(sink, "a4") == [(0, "MV Old Otter", "chars", ["Ada Brill"]),
                                (0, "Ferries of Lake Orrin", "rows", ((1.0, 2.0),))]


def test_rows_do_not_count_the_header(sink):
    assert gold(sink, "a1")[1] == (0, "Ferries of Lake Orrin", "rows", ((0.0, 1.0),))
    assert sink.items[FERRIES].rows[0][1] == "Night 's Landing"  # tokenised words stay as they are


def test_tokenised_text_stays_as_it_is(tmp_path):
    raw = shutil.copytree(HAND_MADE, tmp_path / "hybridqa")
    path = raw / "WikiTables-WithLinks" / "request_tok" / "Ferries_of_Lake_Orrin_0.json"
    text = "The Night 's Landing is `` old '' , they say ( since 1900 ) ."
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "/wiki/Night%27s_Landing": text}), "utf-8")
    assert text in {i.text for i in ingest(raw, tmp_path).items.values()}


def test_nodes_are_alternatives_and_repeats_count_once(sink):
    assert gold(sink, "a2") == [(0, "Ferries of Lake Orrin", "rows", ((1.0, 2.0),)),
                                (1, "Ferries of Lake Orrin", "rows", ((2.0, 3.0),))]


def test_empty_repeated_and_linked_heads_and_ragged_rows(sink):
    table = sink.items[FERRIES]
    assert table.header == ("Ferry", "", "Ferry", "Built") and table.rows[2] == ("Swift", "DUNMERE", "", "")
    assert table.section == "Vessels in service"


def test_keys_that_differ_in_case_are_two_pages(sink):
    assert {"/wiki/Dunmere", "/wiki/dunmere"} <= {i.source for i in sink.items.values()}


def test_no_node_and_a_withheld_answer_take_the_table_whole(sink):
    assert gold(sink, "a3") == [(0, "Ferries of Lake Orrin", "item", ())]
    assert gold(sink, "t1") == [(0, "Bells of St. Wren’s", "item",
                                 ())] and sink.questions["hybridqa/t1"].split == "blind test"
    assert sink.fallbacks["no answer node: its table is gold whole"] == 2


def test_unusual_file_names(sink):
    assert gold(sink, "a5")[0] == (0, "Rose (bell)", "chars", ["Ivo Lund"]) and BELLS in sink.items


@pytest.mark.parametrize(("record", "words"), [
    ("b1", "at [2, 3] lies outside the table"), ("b2", "at [7, 0] lies outside the table"),
    ("b3", "link '/wiki/Lost_page' is neither in that cell nor among the table's passages; the cell is 'Old Otter and "
           "Young Otter'"),
    ("b4", "link '/wiki/dunmere' is not in that cell; the cell is 'City of Dunmere'"),
    ("b6", "the linked passage '/wiki/MV_Old_Otter' does not hold the answer 'Brill & Sons'"),
    ("b7", "1 of 2 answer nodes are wrong: answer node at [1, 3]: the cell '1954' does not hold the answer '1988'")])
def test_a_node_that_its_page_contradicts_is_quarantined(sink, record, words):
    assert next(q["reason"] for q in sink.quarantine if q["record"] == record).endswith(words)
    assert f"hybridqa/{record}" not in sink.questions


def test_what_is_absent_waits(sink):
    assert {w["record"]: w["reason"].split(" is ")[0] for w in sink.waiting} == {
        "b5": "passage '/wiki/MV_Swift'", "b8": "table 'No_such_table_0' has no file among the release's tables"}


def test_other_layouts_and_untraced_questions(tmp_path):
    for name in ("tables_tok", "request_tok"):
        shutil.copytree(HAND_MADE / "WikiTables-WithLinks" / name, tmp_path / name)
    shutil.copy(HAND_MADE / "released_data" / "dev.json", tmp_path)
    sink = ingest(tmp_path, tmp_path)
    assert (
        {a.unit for a in sink.annotations} == {"item"} and sink.counts["fallback"] == 12 and sink.counts["waiting"] == 1
    )


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match="WikiTables-WithLinks/tables_tok"):
        ingest(tmp_path, tmp_path)
    shutil.copytree(HAND_MADE / "WikiTables-WithLinks", tmp_path / "WikiTables-WithLinks")
    with pytest.raises(DataError, match=r"train\.traced\.json, released_data/dev"):
        ingest(tmp_path, tmp_path)


@pytest.mark.real
def test_real_slice(real_data, tmp_path):
    sink = ingest(real_data / "hybridqa", tmp_path)
    official = {r["question_id"]: r
                for r in json.loads((real_data / "hybridqa/released_data/dev.traced.json").read_text("utf-8"))}
    assert {q["record"] for q in sink.quarantine} == KNOWN_WRONG & set(official)
    assert (
        sink.fallbacks
        == {"no answer node: its table is gold whole": sum(not r["answer-node"] for r in official.values())}
        and not sink.waiting
    )
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    located = {r["question_id"] for r in rows if r["coverage"] == "located"}
    # their tables are mapped alone
    assert not unlocated and len(located) == sink.counts["mapped"] - sum(q["record"] in KNOWN_WRONG
                                                                         for q in sink.quarantine)
    for record in ("cd27c43c211d752a", "060323fe818531b8"):
        if record in official:
            row, column = official[record]["answer-node"][0][1]
            table = sink.items[f"hybridqa/table/{official[record]['table_id']}"]
            assert repr(table.rows[row][column]) in next(q["reason"] for q in sink.quarantine if q["record"] == record)
    if "992a96cebcac1520" in official:  # exact duplicates
        nodes = official["992a96cebcac1520"]["answer-node"]
        assert len({a.group for a in sink.annotations if a.question_id
                    == "hybridqa/992a96cebcac1520"}) == len({json.dumps(n) for n in nodes}) < len(nodes)
    requests = json.loads(
        (real_data / "hybridqa/WikiTables-WithLinks/request_tok/Juno_Fan_Choice_Award_0.json").read_text("utf-8")
    )
    assert set(requests) <= {i.source for i in sink.items.values()} and len({k.lower() for k in requests}) < len(
        requests
    )
