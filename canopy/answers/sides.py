"""The questions of one side of a benchmark's split, with their gold and the items that they are asked over."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq

from canopy.answers.gold import AnswerGold, Places, build_gold
from canopy.config import Config
from canopy.corpus.reader import Corpus
from canopy.hierarchy.leaves import Leaves
from canopy.items import Item, Question, read_items, read_questions
from canopy.paths import Paths
from canopy.pipelines.tools import Library


@dataclass(frozen=True, slots=True)
class Side:
    """Questions of the train or the test side.

    Attributes
    ----------
    questions : list of Question
        In the benchmark's order.
    corpus : Corpus
        The items that are searched, and the benchmark's annotated ones.
    """

    questions: list[Question]
    corpus: Corpus
    library: Library
    places: Places
    gold: AnswerGold


def _read_questions(paths: Paths, benchmark: str, side: str) -> list[Question]:
    """A benchmark's questions of one side (``train``, ``test``), in its order."""
    splits = pq.read_table(paths.output("split", benchmark) / "splits.parquet", filters=[("split", "=", side)])
    ids = set(splits["question_id"].to_pylist())
    return [q for q in read_questions(paths.output("benchmark", benchmark) / "questions.parquet") if q.id in ids]


def read_side(config: Config, paths: Paths, benchmark: str, side: str) -> Side:
    """Read one side's questions, their gold, and the corpus."""
    questions = _read_questions(paths, benchmark, side)
    ids = {q.id for q in questions}
    rows = [r for r in pq.read_table(paths.output("gold_spans", benchmark) / "gold.parquet").to_pylist()
            if r["question_id"] in ids]
    own = read_items(paths.output("benchmark", benchmark) / "items.parquet", sorted({r["item_id"] for r in rows}))
    corpus = Corpus.open(paths.output("corpus"), {i.id: i for i in own})
    library = Library(corpus, config.hierarchy.segment_seconds, corpus.folds.representatives(), paths.media(config))

    def look_up(item_id: str) -> tuple[Item, Leaves]:
        return library.item(item_id), library.leaves(item_id)

    places = Places(corpus.folds, look_up)
    return Side(questions, corpus, library, places, build_gold(rows, questions, places, look_up))
