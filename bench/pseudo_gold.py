"""Pseudo-gold against hidden annotations: `python bench/pseudo_gold.py WORKSPACE [--side train|test|all]`.

WORKSPACE has the stages up to `split`. The annotations of each benchmark are hidden, evidence is located from the
answers alone, and compared with what was hidden. For every other question the gold items themselves are taken out of
the corpus, as if it did not hold what the question is about: what is located for such a question is wrong. Rules are
chosen with ``--side train``; ``--floors`` shows several.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from canopy.config import load_config
from canopy.gold.candidates import Rule
from canopy.gold.pseudo import RULE, locate_answers
from canopy.items import read_annotations, read_items, read_questions
from canopy.paths import Paths


def measure(paths: Paths, benchmark: str, side: str, floors: list[float], overlaps: list[float]) -> None:
    """Print coverage and precision on one benchmark."""
    source = paths.output("benchmark", benchmark)
    hidden: dict[str, set[str]] = {}
    for a in read_annotations(source / "annotations.parquet"):
        if not a.pseudo:
            hidden.setdefault(a.question_id, set()).add(a.item_id)
    splits = pq.read_table(paths.output("split", benchmark) / "splits.parquet").to_pylist()
    on_side = {r["question_id"] for r in splits if side in ("all", r["split"])}
    questions = [q for q in read_questions(source / "questions.parquet")
                 if q.id in hidden and q.id in on_side and q.answers]
    items = list(read_items(source / "items.parquet"))
    if not questions:
        print(f"{benchmark}: no annotated question")
        return
    without = {q.id for q in questions[::2]}
    absent = set().union(*(hidden[q] for q in without)) - set().union(*(hidden[q.id] for q in questions[1::2]), set())
    rest = [i for i in items if i.id not in absent]
    kept = [q for q in questions if q.id not in without]
    gone = [q for q in questions if q.id in without and not hidden[q.id] - absent]
    for floor in floors:
        for overlap in overlaps:
            rule, counts = Rule(floor, overlap), Counter[str]()
            located: dict[str, list[str]] = {}
            for a in locate_answers([*kept, *gone], [], rest, counts=counts, rule=rule):
                located.setdefault(a.question_id, []).append(a.item_id)
            here, wrong = [q.id for q in kept if q.id in located], [q.id for q in gone if q.id in located]
            right = sum(any(i in hidden[q] for i in located[q]) for q in here)
            alternatives = sum(len(located[q]) for q in here)
            gold = sum(i in hidden[q] for q in here for i in located[q])
            print(f"{benchmark:18s} floor {floor:.2f} overlap {overlap:.2f}: located {share(len(here), len(kept))}, of "
                  f"these with a gold item {share(right, len(here))}, alternatives that are gold "
                  f"{share(gold, alternatives)}; located without gold in the corpus {share(len(wrong), len(gone))}",
                  flush=True)


def share(part: int, whole: int) -> str:
    """A count of a total, with its percentage."""
    return f"{part} of {whole} ({100 * part / max(1, whole):.0f}%)"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--side", default="test", choices=("train", "test", "all"))
    parser.add_argument("--floors", type=float, nargs="+", default=[RULE.floor])
    parser.add_argument("--overlaps", type=float, nargs="+", default=[RULE.overlap])
    arguments = parser.parse_args()
    config = load_config(arguments.workspace / "params.yaml")
    for benchmark in config.benchmarks:
        measure(Paths(arguments.workspace), benchmark, arguments.side, arguments.floors, arguments.overlaps)


if __name__ == "__main__":
    main()
