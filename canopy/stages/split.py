"""Stage `split`: train and test over all benchmarks at once, so that no gold text of a test question trains anything.

It runs once for each benchmark and reads the gold of all: a benchmark whose sides stay as they were leaves what is
built on them alone.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow.parquet as pq

from canopy.atomic import replace_directory
from canopy.config import Config, Split
from canopy.digests import file_sha256
from canopy.errors import DataError
from canopy.gold.fitted import fitted_questions
from canopy.gold.joint import COMPONENT_SCHEMA, BenchmarkGold, JointSplit, join_splits
from canopy.gold.moves import describe_split
from canopy.gold.sharing import GROUP_SCHEMA
from canopy.gold.split import SPLIT_SCHEMA, official_sides
from canopy.gold.texts import GoldText
from canopy.items import read_questions, write_table
from canopy.paths import Paths
from canopy.progress import progress
from canopy.stages.base import StageResult, Tracker
from canopy.stages.declaration import Stage
from canopy.stages.summary import write_summary
from canopy.validation.inputs import check_inputs, read_columns
from canopy.validation.protocol import Validator

STAGE = Stage("split", per_benchmark=True, group="data", kinds=("parquet",), reads={"gold_spans": ("gold",)})
_FILES = ("questions.parquet", "gold.parquet", "texts.parquet")


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator,
        benchmark: str | None = None) -> StageResult:
    """Write one benchmark's part of the joint split into ``data/split/<name>``.

    ``splits.parquet`` holds each question's side, ``components.parquet`` why it is there, ``groups.parquet`` the
    questions and gold items, also of other benchmarks, that may not be on another side than some of this one's.

    Raises
    ------
    DataError
        If a benchmark brings a split for some of its questions only.
    ValidationFailed
        If official splits put a gold text on both sides; the message names the texts.
    """
    assert benchmark is not None
    check_inputs(STAGE.name, STAGE.reads, config, paths, validator)
    settings, fitted = config.split, fitted_questions()
    tracker.log_params({"test_share": settings.test_share, "split_seed": settings.seed,
                        "use_official": settings.use_official, "near_duplicates": settings.near_duplicates})
    inputs = tuple((b, _digests(paths.output("gold_spans", b))) for b in sorted(config.benchmarks))
    with progress("looking for gold and questions that say the same"):
        joint = _join(paths, inputs, settings, frozenset().union(*fitted.values()))
    placements = joint.placements[benchmark]
    own = paths.output("gold_spans", benchmark)
    with replace_directory(paths.output("split", benchmark)) as out:
        splits = write_table(out / "splits.parquet", [{"question_id": p.question_id, "split": p.split}
                                                      for p in placements], SPLIT_SCHEMA)
        write_table(out / "components.parquet", [{
            "question_id": p.question_id, "component": p.component, "alone": p.alone, "others": p.others,
            "through": [m.name for m in p.through], "fitted": p.fitted} for p in placements], COMPONENT_SCHEMA)
        touching = [g for g in joint.groups if any(m.benchmark == benchmark for m in g)]
        groups = write_table(out / "groups.parquet", [{
            **m._asdict(), "group": n, "sides": None if m.benchmark == benchmark else sorted(joint.sides.get(m, ()))}
            for n, group in enumerate(touching) for m in group], GROUP_SCHEMA)
        metrics, tables, notes = describe_split(benchmark, placements, touching, read_questions(
            own / "questions.parquet"), fitted)
        result = StageResult(metrics=metrics, tables=tables, notes=notes)
        result.checks = validator.check("split", {
            "gold": read_columns("gold", paths, benchmark), "splits": splits, "groups": groups,
            "questions": pq.read_table(own / "questions.parquet", columns=["id", "answers"])})
        write_summary(out, result)
    return result


def _digests(folder: Path) -> tuple[str, ...]:
    """The digests of the files that the split reads of a benchmark.

    Raises
    ------
    DataError
        If a file is missing.
    """
    missing = next((folder / f for f in _FILES if not (folder / f).is_file()), None)
    if missing:
        raise DataError(f"{missing}: no such file; `canopy run --select gold_spans` makes it")
    return tuple(file_sha256(folder / f) for f in _FILES)


@lru_cache(maxsize=1)
def _join(paths: Paths, inputs: tuple[tuple[str, tuple[str, ...]], ...], settings: Split,
          fitted: frozenset[str]) -> JointSplit:
    """The joint split; kept for the next benchmark that one process splits, as long as no file changes."""
    return join_splits({name: _read(paths, name, settings.use_official) for name, _ in inputs},
                       test_share=settings.test_share, seed=settings.seed, threshold=settings.near_duplicates,
                       fitted=fitted)


def _read(paths: Paths, name: str, use_official: bool) -> BenchmarkGold:
    questions = read_questions(paths.output("gold_spans", name) / "questions.parquet")
    rows = read_columns("gold", paths, name).select(["question_id", "item_id"]).to_pylist()
    texts = [GoldText(**r) for r in read_columns("texts", paths, name).to_pylist()]
    try:
        official = official_sides(questions, use_official)
    except DataError as e:
        raise DataError(f"{name}: {e}") from None
    return BenchmarkGold(questions, [(r["question_id"], r["item_id"]) for r in rows], texts, official)
