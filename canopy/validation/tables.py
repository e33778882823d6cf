"""What the rules check: small tables made from a stage's tables, one row a thing that can be right or wrong.

A rule that spans several tables (a gold item must be in the data) becomes a column of such a table, so that the plain
check and the suite generated for another tool look at the same rows. None of them holds an item's text: they stay
small whatever the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from canopy.validation import benchmark_tables, gold_tables, training_tables
from canopy.validation.columns import Tables

TABLES: Mapping[str, Callable[[Tables], pa.Table]] = {
    "items": benchmark_tables.tabulate_items,
    "questions": benchmark_tables.tabulate_questions,
    "annotations": benchmark_tables.tabulate_annotations,
    "spans": benchmark_tables.tabulate_spans,
    "modalities": benchmark_tables.tabulate_modalities,
    "gold": gold_tables.tabulate_gold,
    "gold_questions": gold_tables.tabulate_gold_questions,
    "splits": gold_tables.tabulate_splits,
    "gold_items": gold_tables.tabulate_gold_items,
    "gold_groups": gold_tables.tabulate_gold_groups,
    "question_groups": gold_tables.tabulate_question_groups,
    "modality_mix": gold_tables.tabulate_modality_mix,
    "answer_mix": gold_tables.tabulate_answer_mix,
    "instances": training_tables.tabulate_instances,
    "sources": training_tables.tabulate_sources,
    "corpus_gold": training_tables.tabulate_corpus_gold,
    "folds": training_tables.tabulate_folds,
}
