"""Pseudo-gold against hidden annotations: `python bench/pseudo_gold.py FOLDER [--side train|test|all] [--out FILE]`.

FOLDER is a workspace with the stages up to `split`, or a folder of release files by benchmark (`hotpotqa`, `ott-qa`,
`musique`, `natural-questions`); without a split a question is on the training side by a hash of its id (six of ten).
The annotations of each benchmark are hidden, evidence is located from the answers alone, and compared with what was
hidden. For every other question the gold items themselves are taken out of the corpus, as if it did not hold what the
question is about: what is located for such a question is wrong. Rules are chosen with ``--side train``; ``--floors``
shows several. ``before`` is the rule of earlier versions: no floor, and the limit before the question narrows.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from canopy.atomic import write_json
from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.config import load_config
from canopy.gold.candidates import Rule
from canopy.gold.pseudo import LIMIT, RULE, locate_answers
from canopy.ingest.sink import Sink
from canopy.items import Annotation, Item, Question, read_annotations, read_items, read_questions
from canopy.paths import Paths

FOLDERS = {"hotpotqa": "hotpotqa", "ott_qa": "ott-qa", "musique": "musique", "natural_questions": "natural-questions"}
BEFORE = Rule(0.0, 0.7)
Row = dict[str, str | float]


@dataclass(frozen=True, slots=True)
class Source:
    """A benchmark's tables, and its questions of the training side."""

    name: str
    items: list[Item]
    questions: list[Question]
    annotations: list[Annotation]
    train: frozenset[str]


def is_training(question: str) -> bool:
    """The side of a question where there is no split."""
    return hashlib.sha256(question.encode()).digest()[0] % 10 < 6


def open_sources(folder: Path) -> Iterator[Source]:
    """The benchmarks of a workspace, or of release files."""
    if (folder / "params.yaml").is_file():
        paths = Paths(folder)
        for name in load_config(folder / "params.yaml").benchmarks:
            at = paths.output("benchmark", name)
            splits = pq.read_table(paths.output("split", name) / "splits.parquet").to_pylist()
            yield Source(name, list(read_items(at / "items.parquet")), list(read_questions(at / "questions.parquet")),
                         list(read_annotations(at / "annotations.parquet")),
                         frozenset(r["question_id"] for r in splits if r["split"] == "train"))
        return
    for name, below in FOLDERS.items():
        if (folder / below).is_dir():
            with tempfile.TemporaryDirectory() as scratch:
                sink = Sink(name, Path(scratch))
                load_benchmark_adapter(name).read(folder / below, sink)
                questions = list(sink.questions.values())
                yield Source(name, list(sink.items.values()), questions, list(sink.annotations),
                             frozenset(q.id for q in questions if is_training(q.id)))


def measure(source: Source, side: str, rules: Sequence[tuple[str, Rule]]) -> list[Row]:
    """Counts of one benchmark under each rule; none without annotated questions."""
    hidden: dict[str, set[str]] = {}
    for a in source.annotations:
        if not a.pseudo:
            hidden.setdefault(a.question_id, set()).add(a.item_id)
    questions = [q for q in source.questions if q.id in hidden and q.answers
                 and (side == "all" or (q.id in source.train) == (side == "train"))]
    without = {q.id for q in questions[::2]}
    absent = set().union(*(hidden[q] for q in without)) - set().union(*(hidden[q.id] for q in questions[1::2]))
    rest = [i for i in source.items if i.id not in absent]
    kept = [q for q in questions if q.id not in without]
    gone = [q for q in questions if q.id in without and not hidden[q.id] - absent]
    rows: list[Row] = []
    for name, rule in rules if questions else ():
        counts = Counter[str]()
        located: dict[str, list[str]] = {}
        # Before, an answer in more than the limit of items was given up, whatever the question said.
        common: set[str] = set()
        if name == "before":
            every = Counter(a.question_id for a in locate_answers([*kept, *gone], [], rest, limit=len(rest),
                                                                  rule=Rule(0.0, 0.0)))
            common = {q for q, n in every.items() if n > LIMIT}
        for a in locate_answers([q for q in (*kept, *gone) if q.id not in common], [], rest, counts=counts, rule=rule):
            located.setdefault(a.question_id, []).append(a.item_id)
        here = [q.id for q in kept if q.id in located]
        right = sum(any(i in hidden[q] for i in located[q]) for q in here)
        wrong = sum(q.id in located for q in gone)
        rows.append({"benchmark": source.name, "side": side, "rule": name, "questions": len(kept),
                     "located": len(here), "with a gold item": right,
                     "alternatives": sum(len(located[q]) for q in here),
                     "gold alternatives": sum(i in hidden[q] for q in here for i in located[q]),
                     "without gold in the corpus": len(gone), "located there": wrong,
                     "uncovered": counts["uncovered"], "common": counts["common"] + len(common)})
    return rows


def describe(row: Row) -> str:
    """A row as a line."""
    def share(part: str, whole: str) -> str:
        return f"{row[part]} of {row[whole]} ({100 * float(row[part]) / max(1.0, float(row[whole])):.0f}%)"

    precision = float(row["with a gold item"]) / max(1.0, float(row["located"]) + float(row["located there"]))
    return (f"{row['benchmark']:18} {row['rule']:24} located {share('located', 'questions')}; of these with gold "
            f"{share('with a gold item', 'located')}; alternatives that are gold "
            f"{share('gold alternatives', 'alternatives')}; located without gold in the corpus "
            f"{share('located there', 'without gold in the corpus')}; precision over both {precision:.0%}; "
            f"uncovered {row['uncovered']}, common {row['common']}")


def write_table(rows: Sequence[Row]) -> str:
    """The table of docs/results.md, in Markdown."""
    lines = ["| questions of the test side | rule | located | of these with gold | alternatives that are gold | "
             "located without gold in the corpus |", "|---|---|--:|--:|--:|--:|"]
    for r in rows:
        lines.append(f"| {r['benchmark']} | {r['rule']} | {r['located']} of {r['questions']} | "
                     f"{r['with a gold item']} | {r['gold alternatives']} of {r['alternatives']} | "
                     f"{r['located there']} of {r['without gold in the corpus']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--side", default="test", choices=("train", "test", "all"))
    parser.add_argument("--floors", type=float, nargs="+", default=[RULE.floor])
    parser.add_argument("--overlaps", type=float, nargs="+", default=[RULE.overlap])
    parser.add_argument("--out", type=Path, help="a JSON file for the counts; the table for docs/results.md is printed")
    arguments = parser.parse_args()
    rules = [("before", BEFORE), *((f"floor {f:g} overlap {o:g}", Rule(f, o)) for f in arguments.floors
                                   for o in arguments.overlaps)]
    rows: list[Row] = []
    for source in open_sources(arguments.folder):
        for row in measure(source, arguments.side, rules):
            print(describe(row), flush=True)
            rows.append(row)
    if arguments.out:
        write_json(arguments.out, rows)
        print(write_table(rows))


if __name__ == "__main__":
    main()
