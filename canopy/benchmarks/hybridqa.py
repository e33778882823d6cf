"""HybridQA (MIT; Wikipedia text CC BY-SA 3.0): questions over one table and the passages its cells link to."""

from __future__ import annotations

from pathlib import Path

from canopy.benchmarks.declaration import Benchmark, ReleaseFile
from canopy.benchmarks.reading.release import require_files
from canopy.benchmarks.reading.wikitables import Tables, read_tables
from canopy.gold.expected import Expected
from canopy.ingest.sink import Sink

_AT = "https://raw.githubusercontent.com/wenhuchen/HybridQA/db22fda8c5951438fade3c69d75b350335ba93b3/released_data"
BENCHMARK = Benchmark(
    title="HybridQA",
    licence="MIT; Wikipedia text CC BY-SA 3.0",
    home="https://github.com/wenhuchen/HybridQA",
    files=(
        ReleaseFile("train", ("released_data/train.traced.json", "train.traced.json", "released_data/train.json",
                              "train.json"),
                    "62,682 training questions; the traced file has answer nodes", f"{_AT}/train.traced.json"),
        ReleaseFile("dev", ("released_data/dev.traced.json", "dev.traced.json", "released_data/dev.json", "dev.json"),
                    "3,466 development questions; the traced file has answer nodes", f"{_AT}/dev.traced.json"),
        ReleaseFile("test", ("released_data/test.json", "test.json"), "3,463 test questions, answers withheld",
                    f"{_AT}/test.json"),
        ReleaseFile("tables", ("WikiTables-WithLinks/tables_tok/", "tables_tok/"),
                    "13,000 tables, a file each: git clone "
                    "https://github.com/wenhuchen/WikiTables-WithLinks"),
        ReleaseFile("requests", ("WikiTables-WithLinks/request_tok/", "request_tok/"),
                    "the passages that each table links to, in the same repository"),
    ),
    needs=(("tables",), ("train", "dev", "test")),
    aliases=("hybrid_qa",),
    layout="hybridqa/\n  released_data/\n    train.traced.json\n    dev.traced.json\n  WikiTables-WithLinks/\n    "
           "tables_tok/\n    request_tok/",
    metric="ott_qa",
    expected=(Expected("dev questions", 3_466, "the release", split="dev"),),
    fold="redirects",
)


def read(raw: Path, sink: Sink) -> None:
    """Read the questions of every split that is there, and all tables with their passages.

    DataError if there is none, or a file is broken.
    """
    files = require_files(raw, BENCHMARK)
    read_tables(sink, Tables(sink.benchmark, files["tables"], files["requests"], sink.items), files)
