"""MultiModalQA.

A whole tiny release, every oddity of the published files, and the real slice, whose documents are not there.
"""

import copy
import gzip
import json
import random
import shutil
from pathlib import Path

import pytest
from PIL import Image

from canopy.benchmarks.multimodalqa import locate, read
from canopy.errors import DataError
from canopy.gold.fragments import map_annotations
from canopy.ingest.sink import Sink

GIVEN = Path(__file__).parents[1] / "data" / "multimodalqa"
FORMATS = {"i1.JPG": "JPEG", "i2.PNG": "PNG", "i3.gif": "GIF", "i4.tiff": "TIFF", "i5.jpg": "JPEG"}


def lines(path):
    return [json.loads(x) for x in path.read_text("utf-8").splitlines()]


def put(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")


@pytest.fixture
def release(tmp_path):
    """The hand-made release with its five images; the texts compressed as published."""
    folder = tmp_path / "multimodalqa"
    shutil.copytree(GIVEN, folder)
    (folder / "MMQA_texts.jsonl.gz").write_bytes(gzip.compress((folder / "MMQA_texts.jsonl").read_bytes()))
    (folder / "MMQA_texts.jsonl").unlink()
    (folder / "final_dataset_images").mkdir()
    for n, (name, kind) in enumerate(FORMATS.items()):
        Image.new("P" if kind == "GIF" else "RGB", (8 + n, 8), 40 * n).save(folder / "final_dataset_images" / name,
                                                                            kind)
    return folder


def ingest(folder):
    sink = Sink("multimodalqa", folder.parent)
    read(folder, sink)
    c = sink.counts
    assert c["read"] == c["mapped"] + c["fallback"] + c["waiting"] + c["quarantined"]
    return sink


def gold_of(sink, name):
    """Gold of a question as {item's own id: (coverage, fragments)}."""
    rows, unlocated = map_annotations([a for a in sink.annotations if a.question_id == f"multimodalqa/{name}"],
                                      sink.items, 30.0)
    assert not unlocated and {r["group"] for r in rows} <= {0}
    return {r["item_id"].split("/", 1)[1]: (r["coverage"], r["fragments"]) for r in rows}


def changed(folder, name, change):
    """The release with one question changed by a function."""
    path = folder / "MMQA_dev.jsonl"
    rows = lines(path)
    record = next(r for r in rows if r["qid"] == name)
    change(record)
    put(path, rows)
    return folder


def test_a_whole_release_is_mapped(release):
    sink = ingest(release)
    assert dict(sink.counts) == {"read": 21, "mapped": 18, "fallback": 3}
    assert [i.modality for i in sink.items.values()] == ["text"] * 3 + ["table"] * 2 + ["image"] * 5
    assert gold_of(sink, "text") == {"text/t1": ("located", [1])}
    # the header is not counted; the repeated context is one
    assert gold_of(sink, "cell") == {"table/a1": ("located", [1])}
    # the row of the intermediate answer
    assert gold_of(sink, "hop") == {"table/a1": ("located", [1]), "text/t1": ("located", [0])}
    # i1 and i4 are outside the question's pool
    assert gold_of(sink, "image") == {f"image/i{n}": ("whole", [0]) for n in (1, 2, 3, 4)}
    assert gold_of(sink, "number") == {"table/b1": ("located", [0])}
    assert sink.questions["multimodalqa/number"].answers == ("31",)


def test_items_hold_what_the_release_says(release):
    sink = ingest(release)
    table = sink.items["multimodalqa/table/a1"]
    assert (table.title, table.section, table.header) == ("Mira Holt", "Films", ("Year", "Title", "Role"))
    assert table.rows[3] == ("1990", "Lantern", "")  # a ragged row is filled
    image = sink.items["multimodalqa/image/i4"]
    assert image.title == "Rovers FC" and (release / image.media).is_file() and len(image.media_sha256) == 64
    assert sink.items["multimodalqa/text/t3"].text.startswith("Ålesund – a town")


def test_answers_of_several_parts_are_one_answer(release):
    sink = ingest(release)
    several = sink.questions["multimodalqa/list"]
    # modalities repeat
    assert several.answers == ("Sand", "Low Tide") and dict(several.details) == {"list": "true", "modalities": "table"}
    assert gold_of(sink, "list") == {"table/a1": ("located", [0, 2])}
    assert "list" not in dict(sink.questions["multimodalqa/text"].details)


def test_offsets_are_characters_else_bytes_else_words(release):
    sink = ingest(release)
    assert gold_of(sink, "bytes") == {"text/t3": ("located", [2])}  # counted in bytes behind Å, – and ø
    text = "Ålesund, Ålesund and alesund"
    assert locate(text, 9, "Ålesund") == ((9, 16), False)
    assert locate(text, 10, "Ålesund") == ((9, 16), False)  # bytes: Å takes two
    assert locate(text, 15, "Ålesund") == ((9, 16), True)
    assert locate(text, 0, "Bergen") == (None, True)
    assert locate(text, None, "Ålesund") == locate(text, 3, " ") == (None, False)


def test_texts_without_a_place_are_gold_whole(release):
    sink = ingest(release)
    assert gold_of(sink, "yesno") == {"text/t2": ("whole", [0, 1, 2])} and sink.questions[
        "multimodalqa/yesno"
    ].answers == ("yes",)
    assert gold_of(sink, "first-hop") == {"text/t1": ("whole", [0, 1, 2]), "text/t3": ("located", [1])}
    # part instead of doc_part
    assert gold_of(sink, "parts") == {"text/t2": ("located", [2]), "image/i5": ("whole", [0])}
    assert sink.fallbacks["no place named in a supporting text: gold whole"] == 2


def test_a_blind_test_question_has_no_gold(release):
    sink = ingest(release)
    assert (
        sink.questions["multimodalqa/blind"].split == "blind test"
        and sink.questions["multimodalqa/blind"].answers == ()
    )
    assert sink.fallbacks["blind test: no answer and no evidence"] == 1


@pytest.mark.parametrize(("missing", "name", "words"), [
    ("MMQA_texts.jsonl.gz", "text", "supporting text 't1': no MMQA_texts.jsonl.gz is there"),
    ("MMQA_tables.jsonl", "hop", "supporting table 'a1': no MMQA_tables"),
    ("MMQA_images.jsonl", "image", "supporting image 'i1': no MMQA_images"),
    ("final_dataset_images/i2.PNG", "image", "file 'i2.PNG' of supporting image 'i2' is not there"),
    ("final_dataset_images", "parts", "file 'i5.jpg' of supporting image 'i5' is not there"),
])
def test_what_is_not_there_is_waited_for(release, missing, name, words):
    gone = release / missing
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    sink = ingest(release)
    assert words in next(w["reason"] for w in sink.waiting if w["record"] == name)
    assert f"multimodalqa/{name}" not in sink.questions and not sink.counts["quarantined"]
    assert any("images that the release lists have no file" in n for n in sink.notes) == missing.startswith("final")


def test_the_first_missing_document_is_named(release):
    (release / "MMQA_tables.jsonl").unlink()
    (release / "MMQA_texts.jsonl.gz").unlink()
    assert "supporting table 'a1'" in next(w["reason"] for w in ingest(release).waiting if w["record"] == "hop")


def test_an_archive_that_is_not_unpacked_is_named(release):
    shutil.rmtree(release / "final_dataset_images")
    (release / "final_dataset_images.zip").write_bytes(b"PK")
    assert any("not unpacked" in n for n in ingest(release).notes)


def test_file_names_may_differ_in_case(release):
    folder = release / "final_dataset_images"
    (folder / "i1.JPG").rename(folder / "I1.jpg")
    assert ingest(release).items["multimodalqa/image/i1"].media == "final_dataset_images/I1.jpg"


def first(record):
    return record["answers"][0]


@pytest.mark.parametrize(("name", "change", "kind", "words"), [
    ("cell", lambda r: first(r).update(table_indices=[[9, 0], [1, 1]]), "fallback",
     "table indices outside their table: left out"),
    ("number", lambda r: first(r).update(table_indices=[[-1, 0]]), "fallback",
     "table indices outside their table: gold whole"),
    ("number", lambda r: first(r).update(table_indices=[]), "fallback", "no cell named in a supporting table"),
    ("text", lambda r: first(r)["text_instances"][0].update(start_byte=3), "fallback", "found elsewhere in the text"),
    ("text", lambda r: first(r)["text_instances"][0].update(text="Bergen"), "fallback", "not in the text"),
    ("text", lambda r: first(r)["text_instances"][0].update(part="title"), "fallback",
     "no place named in a supporting text"),
    ("text", lambda r: r.update(answers=[]), "fallback", "no answer given"),
    ("text", lambda r: r.update(supporting_context=[], answers=["Ålesund"]), "fallback", "no evidence named"),
    ("number", lambda r: first(r).update(answer=31), "mapped", ""),
    ("number", lambda r: r.update(supporting_context=None), "mapped", ""),
    ("cell", lambda r: r["metadata"].update(intermediate_answers=["1976"]), "mapped", ""),
    ("cell", lambda r: r["metadata"].pop("modalities"), "mapped", ""),
    ("text", lambda r: r.pop("qid"), "quarantined", "KeyError"),
    ("text", lambda r: r.update(question=" "), "quarantined", "question is empty"),
    ("text", lambda r: r.update(answers={"answer": "x"}), "quarantined", "answers must be a list"),
    ("text", lambda r: first(r).update(answer=True), "quarantined", "answer must be a string"),
    ("text", lambda r: first(r)["text_instances"][0].update(start_byte="24"), "quarantined",
     "start_byte must be a whole number"),
    ("cell", lambda r: first(r).update(table_indices=[[1.5, 0]]), "quarantined", "table_indices hold [row, column]"),
    ("text", lambda r: r["supporting_context"][0].update(doc_part="audio"), "quarantined",
     "a text, a table or an image"),
    ("text", lambda r: r["supporting_context"].append({"doc_id": "gone", "doc_part": "text"}), "waiting",
     "supporting text 'gone' is not in MMQA_texts.jsonl.gz"),
    ("text", lambda r: r["supporting_context"].append({"doc_id": "i9", "doc_part": "image"}), "waiting",
     "supporting image 'i9' is not in MMQA_images.jsonl"),
])
def test_odd_questions(release, name, change, kind, words):
    before = ingest(release).counts
    sink = ingest(changed(release, name, change))
    reasons = [*sink.fallbacks, *(w["reason"] for w in sink.waiting), *(q["reason"] for q in sink.quarantine)]
    if kind == "mapped":
        assert sink.counts == before
    else:
        assert sink.counts[kind] == before[kind] + 1 and any(words in r for r in reasons)


def test_cells_outside_the_supporting_context_are_gold_too(release):
    sink = ingest(changed(release, "list", lambda r: r.update(supporting_context=[{"doc_id": "i2",
                                                                                   "doc_part": "image"}])))
    assert gold_of(sink, "list") == {"image/i2": ("whole", [0]), "table/a1": ("located", [0, 2])}


@pytest.mark.parametrize(("file", "change", "words"), [
    ("MMQA_tables.jsonl", lambda r: r["table"].pop("table_rows"), "KeyError"),
    ("MMQA_tables.jsonl", lambda r: r["table"].update(table_rows=[]), "needs rows"),
    ("MMQA_tables.jsonl", lambda r: r["table"].update(table_rows=[[{"text": ""}]]), "table is empty"),
    ("MMQA_images.jsonl", lambda r: r.update(path="../../i1.JPG"), "outside the image folder"),
    ("MMQA_images.jsonl", lambda r: r.pop("id"), "KeyError"),
])
def test_a_broken_document_is_quarantined_with_the_questions_that_need_it(release, file, change, words):
    rows = lines(release / file)
    change(rows[0])
    put(release / file, rows)
    sink = ingest(release)
    assert words in sink.quarantine[0]["reason"] and sink.quarantine[0]["file"] == file
    if "id" in rows[0]:
        assert any("its own record is in quarantine" in q["reason"] for q in sink.quarantine[1:])


def test_an_image_that_is_none_is_quarantined(release):
    (release / "final_dataset_images" / "i2.PNG").write_bytes(b"<html>not found</html>")
    sink = ingest(release)
    assert sink.quarantine[0]["record"] == "i2" and str(release) not in sink.quarantine[0]["reason"]
    assert "its own record is in quarantine" in sink.quarantine[1]["reason"]


def test_whole_files_missing_or_damaged_are_named(release, tmp_path):
    good = (release / "MMQA_texts.jsonl.gz").read_bytes()
    (release / "MMQA_texts.jsonl.gz").write_bytes(good[:-9])
    with pytest.raises(DataError, match=r"MMQA_texts\.jsonl\.gz.*damaged"):
        ingest(release)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"none of MMQA_train\.jsonl\.gz, MMQA_dev"):
        ingest(tmp_path / "empty")


def mutate(value, draw):
    """A JSON value with one place of it replaced, removed or repeated."""
    value = copy.deepcopy(value)
    spot, path = value, []
    while isinstance(spot, (dict, list)) and spot and (not path or draw.random() < 0.75):
        key = draw.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        path.append((spot, key))
        spot = spot[key]
    holder, key = path[-1]
    new = draw.choice([None, "", "x", -1, 7, 1e308, float("nan"), True, [], {}, [[]], "\ud800", "a\x00b", [1, 2],
                       {"doc_id": 1}, 10**30])
    if draw.random() < 0.2:
        del holder[key]
    else:
        holder[key] = new
    return value


def test_mutated_records_never_get_past_the_counts(release):
    draw = random.Random(5)
    for name in ("MMQA_dev.jsonl", "MMQA_tables.jsonl", "MMQA_images.jsonl"):
        rows = lines(release / name)
        wrong = [mutate(draw.choice(rows), draw) for _ in range(150)]
        put(release / name, rows + wrong)
    sink = ingest(release)
    assert sink.counts["read"] >= 450 and sink.counts["quarantined"] > 100
    rows, _ = map_annotations(sink.annotations, sink.items, 30.0)
    assert all(0 <= f < r["count"] for r in rows for f in r["fragments"])


@pytest.mark.real
def test_real_slice(real_data):
    folder = real_data / "multimodalqa"
    sink = ingest(folder)
    questions = [w for w in sink.waiting if w["file"].startswith("MMQA_dev")]
    asked = len(gzip.decompress(next(folder.rglob("MMQA_dev.jsonl.gz")).read_bytes()).splitlines())
    assert sink.read_from["MMQA_dev.jsonl.gz"] == asked and not sink.counts["quarantined"]
    assert len(questions) + len(sink.questions) == asked
    # the one table of the slice: one of its gold rows holds the answer, the others the intermediate answers
    for a in sink.annotations:
        cells = [cell for lo, _ in a.spans for cell in sink.items[a.item_id].rows[int(lo)]]
        assert a.unit == "rows" and sink.questions[a.question_id].answers[0] in cells


@pytest.mark.real
def test_real_questions_with_all_their_documents(real_data, tmp_path):
    """The slice's own questions over made-up documents with the published ids.

    Each is mapped, each gold is where it was put.
    """
    folder = tmp_path / "multimodalqa"
    (folder / "final_dataset_images").mkdir(parents=True)
    with gzip.open(next((real_data / "multimodalqa").rglob("MMQA_dev.jsonl.gz")), "rt", encoding="utf-8") as f:
        asked = [json.loads(x) for x in f]
    texts, tables, images = {}, {}, {}
    for record in asked:
        steps = record["answers"] + [a for s in record["metadata"]["intermediate_answers"] for a in s]
        for s in record["supporting_context"]:
            {"text": texts, "table": tables, "image": images}[s["doc_part"]].setdefault(s["doc_id"], {})
        for a in steps:
            for t in a["text_instances"]:
                texts.setdefault(t["doc_id"], {}).update({t["start_byte"]: t["text"]} if "start_byte" in t else {})
            for row, column in a["table_indices"]:
                tables.setdefault(record["metadata"]["table_id"], {})[row, column] = a["answer"]
            for i in a["image_instances"]:
                images.setdefault(i["doc_id"], {})
    rows = {"texts": [], "tables": [], "images": []}
    for ident, places in texts.items():
        text = list(" " * (max([0, *(s + len(w) for s, w in places.items())]) + 20))
        for start, words in places.items():
            text[start:start + len(words)] = words
        text[-6:] = " End. "
        rows["texts"].append({"title": "T", "url": "", "id": ident, "text": "".join(text)})
    for ident, cells in tables.items():
        width, height = (1 + max([0, *(c[k] for c in cells)]) for k in (1, 0))
        made = [[{"text": cells.get((r, c), "-"), "links": []} for c in range(width)] for r in range(height)]
        rows["tables"].append({"title": "T", "url": "", "id": ident,
                               "table": {"table_rows": made, "table_name": "",
                                         "header": [{"column_name": "h"}] * width}})
    for ident in images:
        Image.new("L", (4, 4)).save(folder / "final_dataset_images" / f"{ident}.png")
        rows["images"].append({"title": "T", "url": "", "id": ident, "path": f"{ident}.png"})
    for name, made in rows.items():
        put(folder / f"MMQA_{name}.jsonl", made)
    put(folder / "MMQA_dev.jsonl", asked)
    sink = ingest(folder)
    assert len(sink.questions) == len(asked) and not sink.counts["waiting"] and not sink.counts["quarantined"]
    assert not any("offset" in f or "outside" in f for f in sink.fallbacks)
    gold, unlocated = map_annotations(sink.annotations, sink.items, 30.0)
    assert not unlocated and {r["question_id"] for r in gold} == set(sink.questions)
    assert sum(len(q.answers) > 1 for q in sink.questions.values()) == sum(len(r["answers"]) > 1 for r in asked) > 0
