"""OTT-QA (MIT; Wikipedia text CC BY-SA 3.0): HybridQA's tables and passages with questions that stand alone, over an
open-domain corpus.

The open-domain corpora are read entry by entry, so the files' size costs no memory. Their items, like all items, are
held until the stage writes them: about 1 KB a passage, 6 GB for the full 419,183 tables and 5.4 million passages, and
the stage's table of them on top.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.json_entries import iterate_object
from canopy.benchmarks.reading.records import object_of
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.wikitables import Tables, passage_item, read_tables, table_item
from canopy.gold.expected import Expected
from canopy.ingest.sink import Sink
from canopy.progress import progress

_AT = "https://raw.githubusercontent.com/wenhuchen/OTT-QA/b289bcca691db21a5259c3420e6b9819a9be9ba3/released_data"
_CORPUS = "https://opendomainhybridqa.s3-us-west-2.amazonaws.com"
BENCHMARK = Benchmark(
    title="OTT-QA",
    licence="MIT; Wikipedia text CC BY-SA 3.0",
    home="https://github.com/wenhuchen/OTT-QA",
    files=(
        ReleaseFile("train", ("released_data/train.traced.json", "train.traced.json", "released_data/train.json",
                              "train.json"),
                    "41,469 training questions; the traced file has answer nodes", f"{_AT}/train.traced.json"),
        ReleaseFile("dev", ("released_data/dev.traced.json", "dev.traced.json", "released_data/dev.json", "dev.json"),
                    "2,214 development questions; the traced file has answer nodes", f"{_AT}/dev.traced.json"),
        ReleaseFile("test", ("released_data/test.blind.json", "test.blind.json", "released_data/test.json",
                             "test.json"),
                    "2,158 test questions, answers and tables withheld", f"{_AT}/test.blind.json"),
        ReleaseFile("tables", ("data/traindev_tables_tok/", "traindev_tables_tok/"),
                    "tables of train and dev, a file each: git clone the repository"),
        ReleaseFile("requests", ("data/traindev_request_tok/", "traindev_request_tok/"),
                    "the passages that each table links to, in the repository"),
        ReleaseFile("plain_tables", ("data/all_plain_tables.json", "all_plain_tables.json"),
                    "the open-domain corpus: over 400,000 tables without links",
                    f"{_CORPUS}/all_plain_tables.json"),
        ReleaseFile("passages", ("data/all_passages.json", "all_passages.json"),
                    "the open-domain corpus: over 5 million passages",
                    f"{_CORPUS}/all_passages.json"),
    ),
    needs=(("tables", "plain_tables"), ("train", "dev", "test")),
    aliases=("ottqa",),
    layout="ott-qa/\n  released_data/\n    train.traced.json\n    dev.traced.json\n  data/\n    traindev_tables_tok/\n "
           "   traindev_request_tok/\n"
           "    all_plain_tables.json   (open-domain corpus, optional)\n    all_passages.json       (open-domain "
           "corpus, optional)",
    metric="ott_qa",
    paper_name="OTT-QA",
    expected=(Expected("dev questions", 2_214, "the release", split="dev"),),
    fold="redirects",
)


def read(raw: Path, sink: Sink) -> None:
    """Read the questions of every split that is there, all tables with their passages, and the open-domain corpora.

    Raises
    ------
    DataError
        If a file that is needed is missing, or one is broken.
    """
    files = require_files(raw, BENCHMARK)
    tables = Tables(sink.benchmark, files["tables"], files["requests"], sink.items)
    for path in files["plain_tables"][:1]:
        read_plain_tables(path, sink, frozenset(tables.ids()))
    read_tables(sink, tables, files)
    for path in files["passages"][:1]:
        read_passages(path, sink)


def read_plain_tables(path: Path, sink: Sink, traced: frozenset[str]) -> None:
    """The corpus' tables as items; a table with a file of its own is that file's, which has links."""
    skipped = 0
    for table_id, record in _entries(path):
        with sink.record(path.name, table_id) as draft:
            name = unicodedata.normalize("NFC", table_id)
            if name in traced:
                skipped += 1
            else:
                draft.items.append(table_item(sink.benchmark, name, object_of(record, "a table"), path.name)[0])
    if skipped:
        sink.notes.append(f"{path.name}: {skipped} of its tables have a file of their own, which is used instead.")


def read_passages(path: Path, sink: Sink) -> None:
    """The corpus' passages as items; one whose link a request file has is that file's, though its words may differ."""
    texts = {i.source: i.text for i in sink.items.values() if i.modality == "text"}
    known: Counter[bool] = Counter()
    for link, text in _entries(path):
        with sink.record(path.name, link) as draft:
            if link in texts:
                known[texts[link] == text] += 1
            else:
                draft.items.append(passage_item(sink.benchmark, link, text))
    if known:
        sink.notes.append(f"{path.name}: {known.total()} of its passages are in a request file as well, {known[False]} "
                          "of them with other words; "
                          "the request file's is used.")


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    mebi, read = 1 << 20, 0
    with progress(path.name, -(-path.stat().st_size // mebi), "MiB") as step:

        def advance(n: int) -> None:
            nonlocal read
            step((read + n) // mebi - read // mebi)
            read += n

        yield from iterate_object(path, advance)
