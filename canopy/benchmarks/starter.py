"""The starter benchmark that ships with the product.

Rendered from its YAML sources, then read as any native folder is.
"""

from __future__ import annotations

from pathlib import Path

from canopy.benchmarks.declaration import Benchmark
from canopy.ingest import native
from canopy.ingest.sink import Sink
from canopy.starter.render import write_native

BENCHMARK = Benchmark(title="the starter benchmark, written for this project", licence="Apache-2.0")


def read(raw: Path, sink: Sink) -> None:
    """Render ``raw/source/*.yaml`` into the sink's output folder and read the result.

    The media stay there, since they are part of the output; the two JSON Lines files go, since the stage's tables hold
    them.
    """
    sink.words_given = True  # the media are drawn from what their titles, captions and subtitles say
    folder = write_native(sink.out, raw / "source")
    native.read(folder, sink)
    for name in ("items.jsonl", "questions.jsonl"):
        (folder / name).unlink()
