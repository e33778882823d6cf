"""Stage `corpus`: the items of all benchmarks in one table, in a fixed order."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.items import ITEM_SCHEMA
from canopy.stages.base import Paths, StageResult, Tracker, Validator
from canopy.stages.summary import write_summary


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str | None = None) -> StageResult:
    """Join every configured benchmark's items into ``data/corpus/items.parquet``, sorted by id."""
    tables = [pq.read_table(paths.output("benchmark", b) / "items.parquet", schema=ITEM_SCHEMA) for b in config.benchmarks]
    with replace_directory(paths.output("corpus")) as out:
        joined = pa.concat_tables(tables).sort_by("id")
        pq.write_table(joined, out / "items.parquet", compression="zstd", row_group_size=20_000)
        counts = Counter(zip(joined["benchmark"].to_pylist(), joined["modality"].to_pylist(), strict=True))
        result = StageResult(metrics={"items": float(joined.num_rows)})
        result.metrics |= {f"items_{m}": float(sum(n for (_, x), n in counts.items() if x == m)) for m in sorted({m for _, m in counts})}
        result.tables["items"] = [{"benchmark": b, "modality": m, "items": n} for (b, m), n in sorted(counts.items())]
        result.checks = validator.check("corpus", {"items": joined})
        write_summary(out, result)
    return result
