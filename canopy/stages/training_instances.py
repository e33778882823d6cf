"""Stage `training_instances`: gold fragments to (question, node) instances, for training and for decision accuracy."""

from __future__ import annotations

from collections import Counter

import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.gold.instances import INSTANCE_SCHEMA, build_instances
from canopy.items import write_table
from canopy.paths import Paths
from canopy.progress import counted
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs
from canopy.validation.protocol import Validator

STAGE = Stage("training_instances", per_benchmark=True, group="data", kinds=("parquet",),
              reads={"gold_spans": ("gold",), "split": ("splits", "groups", "gold")})


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Build one benchmark's instances into ``data/training_instances/<name>/instances.parquet``."""
    assert benchmark is not None
    check_inputs(STAGE.name, STAGE.reads, config, paths, validator, benchmark)
    gold = pq.read_table(paths.output("gold_spans", benchmark) / "gold.parquet").to_pylist()
    splits = pq.read_table(paths.output("split", benchmark) / "splits.parquet")
    side = dict(zip(splits["question_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    marks = counted(gold, "building instances", len(gold), "gold rows")
    rows = build_instances(marks, side, config.hierarchy.branching)
    tracker.log_params({"branching": config.hierarchy.branching})
    with replace_directory(paths.output("training_instances", benchmark)) as out:
        table = write_table(out / "instances.parquet", rows, INSTANCE_SCHEMA)
        counts = Counter((r["split"], r["modality"]) for r in rows)
        result = StageResult(metrics={"instances": float(len(rows)), "stop": float(sum(r["fully_gold"] for r in rows)),
                                      "descend": float(sum(not r["fully_gold"] for r in rows)),
                                      **{f"instances_{s}": float(sum(n for (t, _), n in counts.items() if t == s))
                                         for s in ("train", "test")}})
        result.tables["instances"] = [{"split": s, "modality": m, "instances": n}
                                      for (s, m), n in sorted(counts.items())]
        result.checks = validator.check("training_instances", {"instances": table})
        write_summary(out, result)
    return result
