"""Natural Questions: its four published forms, alone and together, and the cases that are odd."""

import gzip
import json

import pytest

from canopy.benchmarks.natural_questions import same, split_of
from canopy.benchmarks.reading.nq_pages import read_page
from canopy.errors import DataError
from tests.benchmarks.ingested import copy_of, coverage, gold_of, ingest, read_lines, write

SIMPLE, ORACLE, OPEN = "simplified-nq-dev.jsonl", "qa_data/nq-open-oracle.jsonl", "nq_open/NQ-open.dev.jsonl"
TITLE = "Blue Tram (line)"


@pytest.fixture
def sink(tmp_path):
    """All hand-made files together."""
    return ingest("natural_questions", copy_of(tmp_path, "natural_questions"))


def only(tmp_path, *names):
    """The hand-made folder with these files alone."""
    raw = copy_of(tmp_path, "natural_questions")
    for f in raw.rglob("*.jsonl"):
        if f.relative_to(raw).as_posix() not in names:
            f.unlink()
    return raw


def ask(q, sink):
    """The question of these words, its id without the benchmark."""
    return next(i.split("/", 1)[1] for i, x in sink.questions.items() if x.question == q)


def test_short_answers_of_a_page(sink):
    # a negative id; the title out of a URL with &amp; and %28
    assert gold_of(sink, "-11") == [(0, TITLE, ["9 May 1961"])]
    assert gold_of(sink, "16") == [(0, TITLE, ["Old Port", "Mill"])] and sink.questions[
        "natural_questions/16"
    ].answers == ("Old Port", "Mill")
    assert gold_of(sink, "20") == [(0, TITLE, ["in a table"])]


def test_annotators_who_differ_are_alternatives(sink):
    # two say the paragraph, one the table's row; one found nothing, one marked a long answer alone
    assert gold_of(sink, "12") == [(0, TITLE, ["1911"]), (1, TITLE, [1])]


def test_long_answers_where_there_is_no_short_one(sink):
    assert gold_of(sink, "13") == [(0, TITLE, ["whole"])] and sink.questions["natural_questions/13"].answers == ()
    assert gold_of(sink, "14") == [(0, TITLE, ["whole"])] and sink.questions["natural_questions/14"].answers == ("no",)
    assert gold_of(sink, "17") == [(0, TITLE, ["Corn Market\n\nEast gate"])]  # nested in a top-level list: part of it
    assert sink.fallbacks["no long answer: question without gold"] == 1


def test_tables_with_plain_rows_become_tables(sink):
    tables = [i for i in sink.items.values() if i.modality == "table"]
    assert [t.section for t in tables] == ["", "Cars"]
    assert tables[0].rows == (("Blue Tram", ""), ("Opened", "1911"), ("Closed", "1961"))
    assert tables[1].header == ("Car", "Built", "Seats") and tables[1].rows == (("Swan", "1911", "40"),
                                                                                ("Swan", "1920", "52"),
                                                                                ("Heron", "unknown", ""))
    assert gold_of(sink, "18") == [(0, TITLE, [1])]
    assert gold_of(sink, "19") == [(0, TITLE, ["whole"])]  # the answer names a column
    assert any(i.text == "A note\n\nin a table" for i in sink.items.values())  # a table in a table is a text


def test_text_drops_html_and_offsets_follow(sink):
    text = next(i.text for i in sink.items.values() if "line between" in i.text)
    assert (
        text
        == "The Blue Tram was a line between the old port and the mill . It opened in 1911 . Its last car ran on 9 May "
           "1961 ."
    )
    assert next(i for i in sink.items.values() if i.section
                == "Stops").text == "Old Port\n\nCorn Market\n\nEast gate\n\nMill"


@pytest.mark.parametrize("packed", [False, True])
def test_the_full_form_gives_what_the_simplified_gives(tmp_path, packed):
    full = copy_of(tmp_path, "natural_questions_full")
    if packed:
        (full / "nq-dev-00.jsonl.gz").write_bytes(gzip.compress((full / "nq-dev-00.jsonl").read_bytes()))
        (full / "nq-dev-00.jsonl").unlink()
    raw = only(tmp_path, SIMPLE)
    write(raw / SIMPLE, read_lines(raw / SIMPLE)[:3], lines=True)
    a, b = ingest("natural_questions", full), ingest("natural_questions", raw)
    assert a.items == b.items and a.questions == b.questions and a.annotations == b.annotations and a.counts == b.counts


def test_both_page_forms_in_one_folder_are_one_question(tmp_path):
    raw = only(tmp_path, SIMPLE)
    full = copy_of(tmp_path, "natural_questions_full")
    (raw / "nq-dev-00.jsonl").write_bytes((full / "nq-dev-00.jsonl").read_bytes())
    sink = ingest("natural_questions", raw)
    assert (
        sink.counts["quarantined"] == 0
        and sink.fallbacks[f"same question as in {SIMPLE}: its evidence is used"] == 3
        and len(sink.questions) == 10
    )


def test_html_flags_outrank_looks():
    flags = [("<P>", True), ("<b>", False), ("x", False), ("</P>", True), ("odd", True)]
    page = read_page({"document_tokens": [{"token": t, "html_token": h} for t, h in flags]})
    assert page.text(0, 5) == "<b> x"


def test_oracle_passages(sink):
    # the page's annotators found nothing, so the oracle's evidence is used
    drove = ask("who drove the blue tram", sink)
    assert (
        drove == "15"
        and sink.questions["natural_questions/15"].type == "short answer"
        and f"same question as in {SIMPLE}, which has no evidence: this one's is used" in sink.fallbacks
    )
    # NBSP, double space, another order than the answers
    assert gold_of(sink, drove) == [(0, "Blue Tram", ["Eva\xa0Lind", "Jan Moor"])]
    assert sink.questions[f"natural_questions/{drove}"].answers == ("Jan Moor", "Eva Lind")
    # by an accepted answer
    assert gold_of(sink, ask("what colour was the blue tram", sink)) == [(0, "Blue Tram", ["a light blue"])]
    # no answer is in the passage
    assert gold_of(sink, ask("what did a ticket cost", sink)) == [(0, "Blue Tram", ["whole"])]
    assert gold_of(sink, ask("where was it built", sink)) == []  # no passage is marked
    # spacing kept, cut mid-sentence
    assert any(i.text.startswith("Cars were") and "  Nobody else was" in i.text for i in sink.items.values())


def test_one_question_in_several_files_is_one_question(sink):
    assert dict(sink.counts) == {"read": 23, "mapped": 6, "fallback": 17}
    assert sink.questions["natural_questions/12"].answers == ("1911", "in 1911")  # NQ-open's further answer
    # the oracle's passage of that question
    assert not any(i.text.startswith("between the old port") for i in sink.items.values())
    assert len({same(q.question) for q in sink.questions.values()}) == len(sink.questions) == 17
    assert sink.questions[f"natural_questions/{ask('how long was the line', sink)}"].answers == (
        "9\xa0km",
        "nine kilometres",
    )
    assert coverage(sink) == {"located": 8, "whole": 4, "none": 5}


@pytest.mark.parametrize(("url", "title"), [
    ("https://en.wikipedia.org//w/index.php?title=Q&amp;A_(film)&amp;oldid=7", "Q"),
    ("https://en.wikipedia.org/w/index.php?oldid=7&amp;title=Blue_Tram", "Blue Tram"),
    ("https://en.wikipedia.org/w/index.php?title=Q%26A_%28film%29&amp;oldid=7", "Q&A (film)"),
    ("https://en.wikipedia.org/wiki/Blue_Tram", "Blue Tram"), ("", "Heading")])
def test_titles_come_from_urls_with_entities(url, title):
    assert read_page({"document_url": url, "document_text": "<H1> Heading </H1> x"}).title == title


def test_a_hard_space_is_a_space(tmp_path):
    """In an answer as in a passage: NQ writes "9 km" in both ways."""
    raw = only(tmp_path, ORACLE)
    record = {**read_lines(raw / ORACLE)[0], "answers": ["9\xa0km"],
              "nq_annotated_gold": {"short_answers": ["9\xa0km"]}}
    record["ctxs"] = [{**record["ctxs"][0], "text": "The line was 9 km  long."}]
    write(raw / ORACLE, [record], lines=True)
    sink = ingest("natural_questions", raw)
    assert gold_of(sink, ask(record["question"], sink)) == [(0, "Blue Tram", ["9 km"])] and sink.counts["mapped"] == 1


def test_a_file_known_under_two_roles_is_read_once_without_a_note(tmp_path):
    raw = only(tmp_path, SIMPLE)
    (raw / SIMPLE).rename(raw / "v1.0-simplified_nq-dev-all.jsonl")
    sink = ingest("natural_questions", raw)
    assert len(sink.questions) == 10 and not sink.notes


def test_questions_alone(tmp_path):
    sink = ingest("natural_questions", only(tmp_path, OPEN))
    assert dict(sink.counts) == {"read": 3, "fallback": 3} and not sink.items and len(sink.questions) == 3
    assert sink.fallbacks == {"no evidence in this file: question without gold": 3}


def test_several_documents_add_their_other_passages(tmp_path):
    raw = only(tmp_path, ORACLE)
    record = read_lines(raw / ORACLE)[1]
    more = {**record, "ctxs": [{"id": "7", "title": "Red Tram", "text": "The red tram was slower.", "score": "1.0",
                                "hasanswer": False, "isgold": False}, *record["ctxs"]]}
    write(raw / "qa_data" / "nq-open-10_total_documents_gold_at_1.jsonl", [more], lines=True)
    sink = ingest("natural_questions", raw)
    assert sum(q.question == record["question"]
               for q in sink.questions.values()) == 1 and "Red Tram" in {i.title for i in sink.items.values()}
    (raw / ORACLE).unlink()
    alone = ingest("natural_questions", raw)
    assert gold_of(alone, ask(record["question"], alone)) == [(0, "Blue Tram", ["Eva\xa0Lind", "Jan Moor"])]


def page(tmp_path, **change):
    raw = only(tmp_path, SIMPLE)
    write(raw / SIMPLE, [{**read_lines(raw / SIMPLE)[0], **change}], lines=True)
    return ingest("natural_questions", raw)


def annotation(long, shorts=(), vote="NONE"):
    return {"long_answer": dict(zip(("start_token", "end_token"), long, strict=True)), "yes_no_answer": vote,
            "short_answers": [{"start_token": a, "end_token": b} for a, b in shorts]}


@pytest.mark.parametrize(("change", "kind", "words"), [
    ({"annotations": [annotation((5, 9000))]}, "quarantined", "no range within the page"),
    ({"annotations": [annotation((33, 33))]}, "quarantined", "no range within the page"),
    ({"annotations": [annotation(("33", 40))]}, "quarantined", "no range within the page"),
    ({"annotations": [annotation((36, 66), [(60, 9000)]), annotation((36, 66), [(60, 62)])]}, "fallback",
     "an annotation outside the page left out"),
    ({"annotations": [annotation((36, 66), [(0, 2)])]}, "fallback", "no passage or row holds the short answer"),
    ({"annotations": [annotation((4, 9), [(5, 7)])]}, "fallback", "made a passage of its own"),
    ({"annotations": []}, "fallback", "no annotations"),
    ({"long_answer_candidates": [{"start_token": 1, "end_token": 9999, "top_level": True}]}, "fallback",
     "outside the page left out"),
    ({"document_text": ""}, "quarantined", "document_text is empty"),
    ({"document_text": None}, "quarantined", "document_text must be a string"),
    ({"question_text": " "}, "quarantined", "question_text is empty"),
    ({"annotations": {"long_answer": {}}}, "quarantined", "annotations must be a list"),
])
def test_odd_pages(tmp_path, change, kind, words):
    sink = page(tmp_path, **change)
    assert sink.counts[kind] == 1 and words in " ".join([*sink.fallbacks, *(q["reason"] for q in sink.quarantine)])


def test_annotators_disagree_on_yes_and_no(tmp_path):
    sink = page(tmp_path, annotations=[annotation((36, 66), vote=v) for v in ("NO", "YES", "YES")])
    assert next(iter(sink.questions.values())).answers == ("yes",)


def test_a_table_that_claims_too_much_is_a_text(tmp_path):
    cells = '<Td_colspan="100"_rowspan="100"> x </Td> ' * 30
    text = f"<Table> <Tr> {cells}</Tr> <Tr> <Td> y </Td> </Tr> </Table>"
    sink = page(tmp_path, document_text=text, annotations=[],
                long_answer_candidates=[{"start_token": 0, "end_token": len(text.split(" ")), "top_level": True}])
    assert [i.modality for i in sink.items.values()] == ["text"]


@pytest.mark.parametrize(("name", "split"), [
    ("simplified-nq-train.jsonl.gz", "train"), ("nq-dev-00.jsonl.gz", "dev"),
    ("v1.0_sample_nq-dev-sample.jsonl.gz", "dev"), ("nq-open-oracle.jsonl.gz", "dev"),
    ("NQ-open.efficientqa.test.1.1.jsonl", "test"), ("NQ-open.efficientqa.dev.1.1.no-annotations.jsonl", "dev"),
    ("simplified-nq-test.jsonl", "test")])
def test_split_of_a_file(name, split):
    assert split_of(name) == split


def test_no_file_and_a_damaged_file(tmp_path):
    with pytest.raises(DataError, match=r"none of nq-open-oracle\*.jsonl\*, .* is there; Natural Questions comes from"):
        ingest("natural_questions", tmp_path)
    (tmp_path / "nq-open-oracle.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 500)[:-9])
    with pytest.raises(DataError, match=r"nq-open-oracle.jsonl.gz: the compressed file is damaged"):
        ingest("natural_questions", tmp_path)


@pytest.mark.real
def test_real_slice(real_data):
    sink = ingest("natural_questions", real_data / "natural-questions")
    counts, found = sink.counts, coverage(sink)
    assert counts["quarantined"] == counts["waiting"] == 0 and not [q for q in sink.quarantine
                                                                    if "duplicate" in q["reason"]]
    with_evidence = len(sink.questions) - found["none"]
    assert found["located"] >= 0.98 * with_evidence > 300
    assert found["none"] == sink.fallbacks["no evidence in this file: question without gold"]
    packed = (real_data / "natural-questions/lost-in-the-middle/qa_data/nq-open-oracle.jsonl.gz").read_bytes()
    lines = [json.loads(x) for x in gzip.decompress(packed).splitlines()]
    texts = {i.text for i in sink.items.values()}
    assert all(c["text"] in texts for r in lines for c in r["ctxs"])  # verbatim, double spaces too
    assert any("  " in t for t in texts) and any("\xa0" in a for q in sink.questions.values() for a in q.answers)
    said = {q.question: q.answers for q in sink.questions.values()}
    assert all(said[r["question"].strip()] == tuple(dict.fromkeys(r["answers"])) for r in lines)
    wanted = {q.id: {same(s) for s in r["nq_annotated_gold"]["short_answers"]} for r in lines
              for q in sink.questions.values() if q.question == r["question"]}
    for a in sink.annotations:
        if a.question_id in wanted:
            assert {same(sink.items[a.item_id].text[int(s):int(e)]) for s, e in a.spans} <= wanted[a.question_id]


@pytest.mark.real
def test_real_page(real_data):
    sink = ingest("natural_questions", real_data / "natural-questions")
    (record,) = read_lines(real_data / "natural-questions/simplified/simplified-nq-dev.jsonl")
    words = record["document_text"].split(" ")
    for number, a in enumerate(record["annotations"]):
        shorts = [" ".join(words[s["start_token"]:s["end_token"]]) for s in a["short_answers"]]
        assert gold_of(sink, str(record["example_id"])) == [(number, "The Mother (How I Met Your Mother)", shorts)]
    tops = [c for c in record["long_answer_candidates"] if c["top_level"]]
    held = {" ".join(i.text.split()) for i in sink.items.values()}
    for c in tops:
        span = words[c["start_token"]:c["end_token"]]
        plain = " ".join(w for w in span if not w.startswith("<"))
        assert span[0] == "<Table>" or not plain or " ".join(plain.split()) in held
