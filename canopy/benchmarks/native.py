"""Your own documents in the native format, as a benchmark like any other."""

from __future__ import annotations

from pathlib import Path

from canopy.benchmarks.declaration import Benchmark
from canopy.ingest import native
from canopy.ingest.sink import Sink

BENCHMARK = Benchmark(title="your own documents")


def read(raw: Path, sink: Sink) -> None:
    """Read ``items.jsonl``, ``questions.jsonl`` and media files; `canopy.ingest.native` describes the format."""
    native.read(raw, sink)
