"""TAT-QA: mapped and located gold, heads of any number, answers of any type, context-independent wordings.

Hand-made files and the real slice.
"""

import json
import shutil
from pathlib import Path

import pytest

from canopy.benchmarks.tat_qa import read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink
from canopy.items import read_questions, write_questions

HAND_MADE = Path(__file__).parents[1] / "data" / "tat-qa"
ORCHARD = "5d1c8a52-0000-4000-8000-000000000001"
PAGE = {"table": {"uid": "t", "table": [["", "2019"], ["Wood", "5.5"], ["Coal", "7.5"]]},
        "paragraphs": [{"uid": "p1", "order": 1, "text": "Wood is sold by weight. Coal is not."}],
        "questions": [{"uid": "q", "order": 1, "question": "How much wood?", "answer": ["5.5"], "answer_type": "span",
                       "answer_from": "table",
                       "derivation": "", "rel_paragraphs": [], "req_comparison": False, "scale": "million"}]}


def ingest(raw, out):
    sink = Sink("tat-qa", out)
    read(raw, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def ingest_page(tmp_path, change=None, question=None, name="tatqa_dataset_dev.json"):
    page = {**PAGE, **(change or {})}
    if question is not None:
        page["questions"] = [{**PAGE["questions"][0], **question}]
    (tmp_path / name).write_text(json.dumps([page]))
    return ingest(tmp_path, tmp_path)


@pytest.fixture(scope="module")
def sink(tmp_path_factory):
    return ingest(HAND_MADE, tmp_path_factory.mktemp("out"))


def gold(sink, question):
    """Unit, and what the spans say: rows by their first cell that has words, characters by their text."""
    out = []
    for a in sink.annotations:
        if a.question_id == f"tat-qa/{question}":
            item = sink.items[a.item_id]
            out.append((a.unit, [item.text[int(s):int(e)] for s, e in a.spans] if a.unit == "chars"
                        else [next(c for c in item.rows[int(s)] if c) for s, _ in a.spans]))
    return out


def test_a_table_is_named_by_its_heads_and_keeps_every_row(sink):
    table = sink.items[f"tat-qa/table/{ORCHARD}"]
    assert table.header == ("(in thousands)", "2019", "Years ended 31 March, 2018", "2017")
    assert len(table.rows) == 7 and table.rows[0] == ("", "", "Years ended 31 March,",
                                                      "") and table.rows[3][1] == "$  1,452.4"


@pytest.mark.parametrize(("question", "expected"), [
    ("q-01", [("chars", ["$ 1.5 million"])]),  # currency spacing
    ("q-02", [("rows", ["Apples"])]),  # the table before the named paragraph
    ("q-03", [("rows", ["Apples"])]), ("q-04", [("rows", ["Apples"])]),  # numbers of the derivation, constants left out
    ("q-05", [("rows", ["Apples", "Pears1"])]),  # what was counted
    ("q-06", [("rows", ["(in thousands)"])]),  # a head
    ("q-07", [("rows", ["Apples", "Pears1"])]),  # a footnote's figure; a blank span
    ("q-08", [("rows", ["(in thousands)", "Apples"])]),  # the answer and what a comparison compares
    ("q-10", [("chars", ["32.0"])]), ("q-11", [("chars", ["a ‘fair’ price – and"])]),  # not verbatim
    ("q-12", [("item", [])]), ("q-14", [("item", [])]),  # not stated: what it rests on, whole
    ("q-13", [("rows", ["Other"])]),
    ("g-1", [("chars", [" contractors"])]),  # mapped characters
    ("g-2", [("rows", ["Shallow wells"])]), ("g-3", [("rows", ["2019"])]),  # mapped cells, heads counted
    ("g-4", [("rows", ["Deep wells"])]),  # one fact mapped outside the table
    ("g-5", [("rows", ["Total"])]), ("g-6", [("chars", ["None"])]),  # no usable mapping: located
])
def test_gold(sink, question, expected):
    assert gold(sink, question) == expected


def test_what_was_located_is_marked(sink):
    marked = {q: {a.pseudo for a in sink.annotations if a.question_id == f"tat-qa/{q}"}
              for q in ("q-02", "q-12", "g-2", "g-5")}
    assert marked == {"q-02": {True}, "q-12": {True}, "g-2": {False}, "g-5": {True}}


def test_answers_of_every_type_keep_their_scale(sink, tmp_path):
    q = sink.questions["tat-qa/q-03"]
    assert (
        q.answers == ("306.2",)
        and q.type == "arithmetic"
        and dict(q.details)["scale"] == "thousand"
        and dict(q.details)["derivation"] == "1,452.4-1,146.2"
    )
    assert sink.questions["tat-qa/q-04"].answers == ("1092",) and sink.questions["tat-qa/q-05"].answers == ("2",)
    assert (
        sink.questions["tat-qa/q-07"].answers == ("Apples", "Pears")
        and dict(sink.questions["tat-qa/q-07"].details)["answer_type"] == "multi-span"
    )
    write_questions(tmp_path / "q.parquet", sink.questions.values())
    assert read_questions(tmp_path / "q.parquet") == list(sink.questions.values())


def test_generic_questions_about_two_tables_are_two(sink):
    assert gold(sink, "g-3") == [("rows", ["2019"])] and gold(sink, "g-7") == [("rows", ["2019"])]
    assert {a.item_id for a in sink.annotations if a.question_id in ("tat-qa/g-3", "tat-qa/g-7")} == {
        "tat-qa/table/aa11bb22cc33dd44ee55ff6600112233", "tat-qa/table/ponds-1"}


def test_context_independent_wordings(sink):
    new = {q.id: q.question for q in sink.questions.values() if ("form", "independent") in q.details}
    # by context and answer
    assert new == {"tat-qa/q-03": "By how much did apple sales of Orrin Orchards change from 2018 to 2019?",
                   "tat-qa/g-2": "What is the change in shallow wells of Orrin Water in 2019?",  # by the question's id
                   "tat-qa/g-7": "Which years does Orrin Estate's table of ponds show?"}  # by the page's id and answer
    assert dict(sink.questions["tat-qa/g-7"].details)["original_question"] == "Which years does the table show?"
    assert [w["record"] for w in sink.waiting] == ["tatqa_dev_3"]
    assert sink.fallbacks["a context-independent question that fits no single question of its page: left out"] == 1
    assert any(n.startswith("3 questions have their context-independent form; 18") for n in sink.notes)


def test_a_rewording_that_fits_two_questions_alike_is_left_out(tmp_path):
    two = [{**PAGE["questions"][0], "uid": u, "question": w} for u,
           w in (("q1", "How much wood?"), ("q2", "How much wood?"))]
    (tmp_path / "independent.json").write_text(json.dumps([{"question": "How much wood did Orrin sell?",
                                                            "table_uid": "t", "original_answer": "5.5"},
                                                           {"question": 3}]))
    sink = ingest_page(tmp_path, {"questions": two})
    assert sink.fallbacks.total() == 1 and not any("form" in dict(q.details) for q in sink.questions.values())
    assert sink.quarantine == [{"file": "independent.json", "record": "record 1",
                                "reason": "question must be a string, not int"}]


def test_the_blind_file_is_read_where_there_is_no_other(sink, tmp_path):
    assert any(n.startswith("tatqa_dataset_test.json: not read")
               for n in sink.notes) and sink.questions["tat-qa/g-1"].split == "annotated test"
    shutil.copy(HAND_MADE / "dataset_raw" / "tatqa_dataset_test.json", tmp_path)
    blind = ingest(tmp_path, tmp_path)
    assert blind.fallbacks == {"blind: no answer, question without gold": 7} and not blind.annotations
    assert {(q.answers, q.split) for q in blind.questions.values()} == {((), "blind test")} and len(blind.items) == 4


@pytest.mark.parametrize(("question", "kind", "words"), [
    ({"answer": [3, "5.5"]}, "fallback", "part of the answer is not stated"),
    ({"answer": ["x", True]}, "quarantined", "answer must be text or a number"),
    ({"answer": {"a": 1}}, "quarantined", "answer must be text or a number"),
    ({"answer": float("nan")}, "quarantined", "answer must be text or a number"),
    ({"answer": [""]}, "fallback", "no answer: question without gold"),
    ({"scale": 1000}, "quarantined", "scale must be a string"),
    ({"uid": ""}, "quarantined", "uid is empty"),
    ({"question": " "}, "quarantined", "question is empty"),
    ({"rel_paragraphs": ["one"]}, "quarantined", "must be order numbers"),
    ({"rel_paragraphs": "1"}, "quarantined", "rel_paragraphs must be a list"),
    ({"mappings": [[1, 2]]}, "quarantined", "a mapping must be an object"),
    ({"mappings": [{"table": [1]}]}, "quarantined", "two whole numbers"),
    ({"mappings": [{"picture_1": [0, 1]}]}, "quarantined", "table or paragraph_N"),
    ({"mappings": [{"paragraph_9": [0, 1]}]}, "fallback", "located by answer"),
    ({"mappings": [{"paragraph_1": [30, 99]}, {"table": [1, 1]}]}, "fallback", "left out"),
    ({"answer": ["heavy"], "answer_from": "text", "rel_paragraphs": ["7"]}, "quarantined",
     "its paragraphs cannot be used"),
    ({"answer": ["wood"], "answer_from": "text", "rel_paragraphs": []}, "mapped", ""),
    ({"answer": 2, "answer_type": "arithmetic", "derivation": 7}, "quarantined", "derivation must be a string"),
])
def test_odd_questions(tmp_path, question, kind, words):
    sink = ingest_page(tmp_path, question=question)
    told = {"fallback": list(sink.fallbacks), "quarantined": [q["reason"] for q in sink.quarantine],
            "mapped": [""]}[kind]
    assert sink.counts[kind] >= 1 and words in told[0]
    assert set(sink.items) == {"tat-qa/table/t", "tat-qa/paragraph/p1"}  # the page is there to be found in any case


@pytest.mark.parametrize(("change", "quarantined", "items"), [
    ({"table": {"uid": "t", "table": []}}, 2, 1),  # the table, and the question that rests on it
    ({"table": {"uid": "t", "table": [["", ""], [" "]]}}, 2, 1),
    ({"table": {"uid": "t", "table": [["a"], "b"]}}, 2, 1),
    ({"table": {"table": [["a", "b"]]}}, 1, 0),
    ({"table": None}, 1, 0),
    ({"paragraphs": [{"uid": "p1", "order": 1, "text": "x"}, {"uid": "p1", "order": 2, "text": "y"}]}, 1, 2),
    ({"paragraphs": [{"uid": "p1", "order": 1, "text": "x"}, {"uid": "p2", "order": 1, "text": "y"},
                     {"uid": "p3", "order": "2", "text": "z"}, 5]}, 3, 2),
    ({"paragraphs": "x"}, 1, 0),
    ({"questions": 5}, 1, 0),
    ({"questions": []}, 0, 2),
])
def test_odd_pages(tmp_path, change, quarantined, items):
    sink = ingest_page(tmp_path, change)
    assert (sink.counts["quarantined"], len(sink.items)) == (quarantined, items)


def test_ragged_rows_are_filled_up(tmp_path):
    sink = ingest_page(tmp_path, {"table": {"uid": "t", "table": [["", "2019"], ["Wood", "5.5", "more"], []]}})
    assert sink.items["tat-qa/table/t"].rows == (("", "2019", ""), ("Wood", "5.5", "more"), ("", "", ""))


def test_what_is_missing_or_broken_is_named(tmp_path):
    with pytest.raises(DataError, match=r"tatqa_dataset_train\.json"):
        ingest(tmp_path, tmp_path)
    (tmp_path / "tatqa_dataset_dev.json").write_text('{"a": 1}')
    with pytest.raises(DataError, match="a list of records is expected"):
        ingest(tmp_path, tmp_path)


@pytest.mark.real
def test_real_slice(real_data, tmp_path):
    sink = ingest(real_data / "tat-qa", tmp_path)
    files = {n: json.loads((real_data / f"tat-qa/dataset_raw/tatqa_dataset_{n}.json").read_text("utf-8"))
             for n in ("dev", "test_gold")}
    assert sink.counts["read"] == sum(len(p["questions"]) for f in files.values()
                                      for p in f) == len(sink.questions) and not sink.quarantine
    rows, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    located = {r["question_id"] for r in rows if r["coverage"] == "located"}
    by_file = {n: [q for p in f for q in p["questions"]] for n, f in files.items()}
    assert not unlocated and all(f"tat-qa/{q['uid']}" in located for q in by_file["test_gold"])
    assert sum(f"tat-qa/{q['uid']}" in located for q in by_file["dev"]) >= 0.98 * len(by_file["dev"])
    # gold of test_gold is what its mappings name, in official coordinates
    annotated = {}
    for a in sink.annotations:
        annotated.setdefault(a.question_id, set()).update((sink.items[a.item_id].modality, int(s), int(e)) for s,
                                                          e in a.spans)
    for page in files["test_gold"]:
        assert sink.items[f"tat-qa/table/{page['table']['uid']}"].rows == tuple(
            tuple(r) for r in page["table"]["table"]
        )
        for q in page["questions"]:
            named = {("table", at[0], at[0] + 1) if place == "table" else ("text", *at) for m in q["mappings"]
                     for place, at in m.items()}
            assert annotated[f"tat-qa/{q['uid']}"] == named
    assert {dict(q.details)["scale"] for q in sink.questions.values()} >= {"", "thousand", "million", "percent"}


@pytest.mark.real
def test_located_gold_agrees_with_mapped_gold(real_data, tmp_path):
    """What dev and train get is checked on test_gold with its mappings taken away."""
    source = real_data / "tat-qa/dataset_raw/tatqa_dataset_test_gold.json"
    pages = json.loads(source.read_text("utf-8"))
    (tmp_path / "tatqa_dataset_dev.json").write_text(json.dumps([{**p, "questions": [{k: v for k, v in q.items()
                                                                                      if k != "mappings"}
                                                                                     for q in p["questions"]]}
                                                                 for p in pages]))
    fragments = []
    for raw in (real_data / "tat-qa", tmp_path):
        sink = ingest(raw, tmp_path)
        found = {}
        for r in map_annotations([a for a in sink.annotations
                                  if ">" not in dict(sink.questions[a.question_id].details)["derivation"]], sink.items,
                                 30.0)[0]:
            found.setdefault(r["question_id"], set()).update((r["item_id"], f) for f in r["fragments"])
        fragments.append(found)
    mapped, located = fragments
    assert sum(mapped[q] == located[q] for q in located) >= 0.95 * len(located)
