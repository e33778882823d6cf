"""Releases in the shapes of mirrors: read as the publisher's, or refused in words that name the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from canopy.benchmarks.reading.mirrors import publishers_shape
from canopy.errors import DataError
from tests.benchmarks.ingested import FIXTURES, ingest

NESTED = ("context", "supporting_facts", "evidences", "paragraphs", "question_decomposition", "answer_aliases")


def records_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_text("utf-8")
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(x) for x in text.splitlines()]


def as_strings(record: dict[str, Any]) -> dict[str, Any]:
    return {k: json.dumps(v) if k in NESTED else v for k, v in record.items()}


def as_flashrag(record: dict[str, Any]) -> dict[str, Any]:
    outer = {"id": record.get("_id") or record.get("id"), "question": record["question"],
             "golden_answers": [record["answer"], *record.get("answer_aliases", [])]}
    return {**outer, "metadata": {k: v for k, v in record.items() if k not in ("_id", "id", "question", "answer")}}


@pytest.mark.parametrize(("adapter", "file", "mirror"), [
    ("two_wiki", "dev.json", "dev.jsonl"), ("two_wiki", "dev.json", "validation-0.parquet"),
    ("hotpotqa", "hotpot_dev_distractor_v1.json", "dev.jsonl"),
    ("musique", "musique_ans_v1.0_dev.jsonl", "dev.jsonl")])
@pytest.mark.parametrize("shape", [as_strings, as_flashrag])
def test_a_mirror_says_what_the_publisher_says(tmp_path: Path, adapter: str, file: str, mirror: str,
                                               shape: Any) -> None:
    found = next((FIXTURES / adapter).rglob(file))
    records = [r for r in records_of(found) if r.get("answer")]
    ours, theirs = tmp_path / "publisher", tmp_path / "mirror"
    for folder in (ours, theirs):
        folder.mkdir()
    (ours / file).write_text("\n".join(map(json.dumps, records)) if file.endswith("l") else json.dumps(records))
    if mirror.endswith("parquet"):
        rows = [{k: v if isinstance(v, str) else json.dumps(v) for k, v in shape(r).items() if k != "golden_answers"}
                | ({"golden_answers": shape(r)["golden_answers"]} if "golden_answers" in shape(r) else {})
                for r in records]
        pq.write_table(pa.Table.from_pylist(rows), theirs / mirror)
    else:
        (theirs / mirror).write_text("".join(json.dumps(shape(r)) + "\n" for r in records))
    left, right = ingest(adapter, ours), ingest(adapter, theirs)
    assert not right.quarantine and right.counts == left.counts and right.counts["read"]
    assert right.items.keys() == left.items.keys()
    assert [(q.id, q.question, q.answers) for q in right.questions.values()] == [
        (q.id, q.question, q.answers) for q in left.questions.values()]
    assert right.annotations == left.annotations


@pytest.mark.parametrize("adapter", ["hotpotqa", "two_wiki", "musique"])
def test_questions_without_documents_are_refused_by_the_name_of_the_format(tmp_path: Path, adapter: str) -> None:
    (tmp_path / "dev.jsonl").write_text(json.dumps(
        {"id": "dev_0", "question": "Who built the mill?", "golden_answers": ["Orr"],
         "metadata": {"type": "x"}}) + "\n")
    sink = ingest(adapter, tmp_path)
    assert len(sink.quarantine) == 1 and "FlashRAG record" in sink.quarantine[0]["reason"]
    assert "take the publisher's release" in sink.quarantine[0]["reason"]


@pytest.mark.parametrize("adapter", ["natural_questions", "tat_qa"])
def test_a_folder_without_a_release_says_what_it_holds_instead(tmp_path: Path, adapter: str) -> None:
    (tmp_path / "dev.jsonl").write_text('{"id": "dev_0", "question": "x", "golden_answers": ["y"]}\n')
    with pytest.raises(DataError, match=r"dev\.jsonl holds FlashRAG's records"):
        ingest(adapter, tmp_path)
    (tmp_path / "dev.jsonl").write_text('{"q": 1}\n')
    with pytest.raises(DataError, match=r"there is dev\.jsonl"):
        ingest(adapter, tmp_path)


def test_a_context_that_is_no_json_and_a_record_without_one_are_named(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps([
        {"_id": "a", "question": "q", "answer": "x", "context": "[[\"broken"}, {"_id": "b", "question": "q"}]))
    reasons = [q["reason"] for q in ingest("two_wiki", tmp_path).quarantine]
    assert reasons == ["context is a string that holds no JSON list",
                       "context is missing; the record has _id, question"]


def test_other_values_stay_as_they_are() -> None:
    for value in (None, 3, "text", [1], {"question": "[not a list]", "context": "plain words", "golden_answers": "x"}):
        assert publishers_shape(value) == value
    assert publishers_shape({"golden_answers": [], "metadata": None, "id": "a"}) == {
        "golden_answers": [], "metadata": None, "id": "a", "answer": "", "answer_aliases": []}
