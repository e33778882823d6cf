"""2WikiMultiHopQA.

The official form by hand (no slice of it is at hand), the mirrors' form, aliases and the blind test set.
"""

import json

import pytest

from canopy.benchmarks.registry import adapter_for
from canopy.errors import DataError
from tests.benchmarks.ingested import copy_of, coverage, gold_of, ingest, write


def test_official_form(tmp_path):
    sink = ingest("two_wiki", copy_of(tmp_path, "two_wiki"))
    assert dict(sink.counts) == {"read": 5, "mapped": 3, "fallback": 2} and not sink.notes
    assert {q.type for q in sink.questions.values()} == {"compositional", "comparison", "inference",
                                                         "bridge_comparison"}
    assert gold_of(sink, "w1") == [(0, "Stone Mill", ["Stone Mill is a film directed by Ida Holm."]),
                                   (0, "Ida Holm", ["She was born in Bergen."])]
    assert coverage(sink) == {"located": 4, "whole": 0, "none": 1}
    # sentences come without the space between them
    assert "directed by Ida Holm. It was released" in next(i.text for i in sink.items.values() if i.title
                                                           == "Stone Mill")


def test_aliases_and_demonyms_are_accepted(tmp_path):
    raw = copy_of(tmp_path, "two_wiki")
    sink = ingest("two_wiki", raw)
    assert sink.questions["two_wiki/w1"].answers == ("Bergen", "Bjørgvin", "Bergenser")  # without the repeat
    assert sink.questions["two_wiki/w2"].answers == ("Grey Lake",) and sink.questions["two_wiki/w3"].answers == (
        "Eva Holm",
    )
    (raw / "id_aliases.json").unlink()
    bare = ingest("two_wiki", raw)
    assert (
        bare.questions["two_wiki/w1"].answers == ("Bergen",)
        and "one name only" in bare.notes[0]
        and bare.annotations == sink.annotations
    )


def test_broken_alias_lines_are_counted(tmp_path):
    raw = copy_of(tmp_path, "two_wiki")
    with open(raw / "id_aliases.json", "a", encoding="utf-8") as f:
        f.write('{"Q_id": "Q5", "aliases": 3}\n{"aliases": []}\n[]\n{"Q_id"\n')
    sink = ingest("two_wiki", raw)
    assert sink.counts["quarantined"] == 4 and {q["file"] for q in sink.quarantine} == {"id_aliases.json"}


def test_test_set_without_answers_and_facts(tmp_path):
    sink = ingest("two_wiki", copy_of(tmp_path, "two_wiki"))
    blind = sink.questions["two_wiki/w9"]
    assert blind.answers == () and blind.split == "blind test" and gold_of(sink, "w9") == []


@pytest.mark.parametrize("lines", [False, True])
def test_mirror_form_gives_the_same(tmp_path, lines):
    raw = copy_of(tmp_path, "two_wiki")
    official = ingest("two_wiki", raw)
    records = json.loads((raw / "dev.json").read_text("utf-8"))
    (raw / "dev.json").unlink()
    for r in records:
        r["id"] = r.pop("_id")
        r["context"] = {"title": [t for t, _ in r["context"]], "content": [s for _, s in r["context"]]}
        r["supporting_facts"] = {"title": [t for t, _ in r["supporting_facts"]],
                                 "sent_id": [n for _, n in r["supporting_facts"]]}
        r["evidences"] = {k: [e[n] for e in r["evidences"]] for n, k in enumerate(("fact", "relation", "entity"))}
    write(raw / ("validation.jsonl" if lines else "validation.json"), records, lines=lines)
    mirror = ingest("two_wiki", raw)
    assert (
        mirror.questions == official.questions
        and mirror.items == official.items
        and mirror.annotations == official.annotations
    )


@pytest.mark.parametrize("name", ["two_wiki", "2wikimultihopqa", "2wiki", "2WikiMultiHopQA", "2WikiMultihop"])
def test_names_of_its_folder(name):
    assert adapter_for(name) == "two_wiki"


def test_no_file_and_a_broken_file(tmp_path):
    with pytest.raises(DataError, match=r"none of train.json, dev.json, test.json is there"):
        ingest("two_wiki", tmp_path)
    (tmp_path / "dev.json").write_text('[{"_id": "a", "context"')
    with pytest.raises(DataError, match=r"dev.json: not valid JSON .*truncated"):
        ingest("two_wiki", tmp_path)
