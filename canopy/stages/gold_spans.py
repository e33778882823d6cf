"""Stage `gold_spans`: annotations to fragments of each item's hierarchy, and the split by connected component."""

from __future__ import annotations

import json
from collections import Counter

from canopy.atomic import replace_directory
from canopy.config import Config
from canopy.errors import DataError
from canopy.gold.fragments import GOLD_SCHEMA, map_annotations
from canopy.gold.split import SPLIT_SCHEMA, components, split_questions
from canopy.items import Question, read_annotations, read_items, read_questions, write_table
from canopy.stages.base import Paths, StageResult, Tracker, Validator
from canopy.stages.summary import write_summary


def run(config: Config, paths: Paths, tracker: Tracker, validator: Validator, benchmark: str | None = None) -> StageResult:
    """Map one benchmark's annotations into ``data/gold_spans/<name>``: gold.parquet, splits.parquet, unlocated.jsonl."""
    assert benchmark is not None
    source = paths.output("benchmark", benchmark)
    annotations, questions = read_annotations(source / "annotations.parquet"), read_questions(source / "questions.parquet")
    wanted = list(dict.fromkeys(a.item_id for a in annotations))
    items = {i.id: i for i in read_items(source / "items.parquet", wanted)}
    rows, unlocated = map_annotations(annotations, items, config.hierarchy.segment_seconds)
    component = components(((r["question_id"], r["item_id"]) for r in rows), [q.id for q in questions])
    split = choose_split(questions, component, config)
    tracker.log_params({"test_share": config.split.test_share, "split_seed": config.split.seed, "use_official": config.split.use_official})
    with replace_directory(paths.output("gold_spans", benchmark)) as out:
        gold = write_table(out / "gold.parquet", rows, GOLD_SCHEMA)
        splits = write_table(out / "splits.parquet", [{"question_id": q, "split": s, "component": component[q]} for q, s in split.items()], SPLIT_SCHEMA)
        (out / "unlocated.jsonl").write_text("".join(json.dumps(u, ensure_ascii=False) + "\n" for u in unlocated), "utf-8")
        coverage = {m: Counter() for m in dict.fromkeys(r["modality"] for r in rows)}
        for r in rows:
            coverage[r["modality"]][r["coverage"]] += 1
        with_gold = {r["question_id"] for r in rows}
        result = StageResult(metrics={
            "gold_rows": float(len(rows)), "located": float(sum(r["coverage"] == "located" for r in rows)),
            "whole": float(sum(r["coverage"] == "whole" for r in rows)), "unlocated": float(len(unlocated)),
            "questions_without_gold": float(len(questions) - len(with_gold)), "components": float(len(set(component.values()))),
            **{f"questions_{s}": float(n) for s, n in sorted(Counter(split.values()).items())}})
        result.tables["coverage"] = [{"modality": m, "located": c["located"], "whole item": c["whole"]} for m, c in coverage.items()]
        result.tables["gold"] = [{**r, "fragments": str(r["fragments"])} for r in rows[:10]]
        result.files = ["unlocated.jsonl"]
        result.notes = _sentences(questions, rows, unlocated)
        result.checks = validator.check("gold_spans", {"gold": gold, "splits": splits})
        write_summary(out, result)
    return result


def choose_split(questions: list[Question], component: dict[str, int], config: Config) -> dict[str, str]:
    """The split that the data brings (every question says train or test, or ``split.use_official``), else our own by component.

    An official split may share gold items between its sides; the stage's validation then stops the run and says so.

    Raises
    ------
    DataError
        Where only some questions say train or test, or the official split is asked for and a question has none.
    """
    said = [q for q in questions if q.split in ("train", "test")]
    bare = [q for q in questions if q.split not in ("train", "test", "dev", "validation")]
    if config.split.use_official and bare:
        raise DataError(f"split.use_official is set, but {len(bare)} of {len(questions)} questions have no split, the first {bare[0].id!r}")
    # HotpotQA's and OTT-QA's own files say train and dev; only a folder of the user's says test.
    if any(q.split == "test" for q in questions) and len(said) < len(questions):
        silent = next(q.id for q in questions if q.split not in ("train", "test"))
        raise DataError(f"{len(said)} of {len(questions)} questions say train or test; {silent!r} does not: give a split to all or to none")
    if config.split.use_official or (questions and len(said) == len(questions) and any(q.split == "test" for q in questions)):
        return {q.id: {"dev": "test", "validation": "test"}.get(q.split, q.split) for q in questions}
    return split_questions(component, config.split.test_share, config.split.seed)


def _sentences(questions: list[Question], rows: list[dict[str, object]], unlocated: list[dict[str, str]]) -> list[str]:
    told = []
    bare = len({q.id for q in questions} - {r["question_id"] for r in rows})
    if bare:
        told.append(f"{bare} questions have no gold evidence: they are used for retrieval only.")
    if unlocated:
        told.append(f"{len(unlocated)} annotations touch no fragment and count as gold whole, e.g. {unlocated[0]}.")
    return told
