"""Encoding an item once and pooling its nodes against encoding each node's text: the ratio of the two times.

Usage: python bench/encoding_modes.py [ITEMS]     (items of the starter benchmark)
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from canopy.embeddings.build import node_request
from canopy.encoder.minilm import MiniLMEncoder
from canopy.ingest.native import read
from canopy.ingest.sink import Sink
from canopy.starter.render import write_native


def main() -> None:
    """Encode all nodes of texts and tables in both modes, three times in turn, and print the median ratio."""
    with tempfile.TemporaryDirectory() as folder:
        sink = Sink("starter", Path(folder))
        read(write_native(Path(folder) / "native"), sink)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    items = [i for i in sink.items.values() if i.modality in ("text", "table")][:count]
    requests = [node_request(i, 2, 30.0) for i in items]
    once, each, ratios = MiniLMEncoder("one_pass"), MiniLMEncoder("separate"), []
    for _ in range(3):
        start = time.perf_counter()
        once.encode_nodes(requests)
        middle = time.perf_counter()
        each.encode_nodes(requests)
        ratios.append((time.perf_counter() - middle) / (middle - start))
    nodes = sum(len(r.lo) for r in requests)
    print(f"{len(items)} items, {nodes} nodes: separate takes {statistics.median(ratios):.1f} times as long as "
          f"one_pass (min {min(ratios):.1f}, max {max(ratios):.1f})")


if __name__ == "__main__":
    main()
