"""2WikiMultiHopQA (Apache-2.0, github.com/Alab-NII/2wikimultihop): HotpotQA's shape with aliases of the answers.

``id_aliases.json`` gives the aliases and demonyms of a Wikidata entity by ``Q_id``; as in the official evaluation,
those of a record's ``answer_id`` are accepted beside its answer.
"""

from __future__ import annotations

from pathlib import Path

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.records import Record, distinct_files, given_id, iterate_records, object_of, strings_of
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.wiki_paragraphs import Reader
from canopy.gold.expected import Expected
from canopy.ingest.fields import text_of
from canopy.ingest.sink import Sink, Unusable

BENCHMARK = Benchmark(
    title="2WikiMultiHopQA",
    licence="Apache-2.0",
    home="https://github.com/Alab-NII/2wikimultihop",
    files=(
        ReleaseFile("train", ("train.json", "train.jsonl*", "train-*.parquet", "*2wiki*train*.json*"),
                    "167,454 training questions"),
        ReleaseFile("dev", ("dev.json", "dev.jsonl*", "validation.json", "validation.jsonl*", "validation-*.parquet",
                            "*2wiki*dev*.json*"),
                    "12,576 development questions"),
        ReleaseFile("test", ("test.json", "test.jsonl*", "test-*.parquet", "*2wiki*test*.json*"),
                    "12,576 test questions, answers withheld"),
        ReleaseFile("aliases", ("id_aliases.json", "id_aliases.jsonl"),
                    "other names of answers, by Wikidata id; answers have no aliases without it"),
    ),
    needs=(("train", "dev", "test"),),
    aliases=("2wikimultihopqa", "2wiki", "2WikiMultiHopQA", "2wikimultihop"),
    layout="2wikimultihopqa/\n  train.json\n  dev.json\n  test.json\n  id_aliases.json",
    notes="The publisher gives one archive, data_ids_april7.zip (linked from the project's page): unpack it into the "
          "folder.",
    metric="two_wiki",
    supporting_facts=True,
    paper_name="2Wiki",
    out_of_domain=True,
    expected=(Expected("dev questions", 12_576, "the release", split="dev"),),
    fold="redirects",
)


def read(raw: Path, sink: Sink) -> None:
    """Read every split there is under ``raw``. DataError if there is none, or a file is broken."""
    by_role = require_files(raw, BENCHMARK)
    names = read_aliases(by_role["aliases"], sink)
    files = [(p, split) for split in ("train", "dev", "test") for p in distinct_files(by_role[split], sink)]
    Reader(sink, lambda record: answers_of(record, names), stripped=True).read_files(files)


def read_aliases(paths: list[Path], sink: Sink) -> dict[str, tuple[str, ...]]:
    """Other names by ``Q_id``.

    A line that cannot be used is quarantined; the sound ones are a table that records look into, not records.
    """
    names: dict[str, tuple[str, ...]] = {}
    if not paths:
        sink.notes.append("no id_aliases.json: answers are accepted under one name only")
    for path in distinct_files(paths, sink):
        for place, record in iterate_records(path, sink, holds="Q_id"):
            try:
                entity = given_id(object_of(record), "Q_id")
                if not entity:
                    raise Unusable("Q_id is missing")
                other = strings_of(record.get("aliases"), "aliases") + strings_of(record.get("demonyms"), "demonyms")
            except Unusable as e:
                sink.reject(path, place, str(e))
            else:
                names[entity] = tuple(dict.fromkeys(names.get(entity, ()) + other))
    return names


def answers_of(record: Record, names: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The answer, its aliases and its demonyms; () if it is withheld."""
    answer = record.get("answer")
    if answer in (None, ""):
        return ()
    other = names.get(given_id(record, "answer_id"), ()) + strings_of(record.get("answer_aliases"), "answers")
    return tuple(dict.fromkeys((text_of(answer, "answer"), *other)))
