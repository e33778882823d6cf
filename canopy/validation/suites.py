"""The rules that data must meet: one list for the stages, for Dagster's checks and for other tools' suites."""

from __future__ import annotations

from collections.abc import Mapping

from canopy.validation.rules import Between, OneOf, Rule, Test, Unique

_PAIR = ("question_id", "item_id")
_SIDES = ("train", "test")
_TRUE = (True,)


def _blocking(table: str, test: Test, labels: tuple[str, ...], name: str, says: str) -> Rule:
    return Rule(name, says, True, table, test, labels)


def _advisory(table: str, test: Test, labels: tuple[str, ...], name: str, says: str) -> Rule:
    return Rule(name, says, False, table, test, labels)


_ITEMS = (
    _blocking("items", Unique("id"), ("id",),
              "item ids are unique", "No two items share an id."),
    _blocking("items", OneOf("modality", ("text", "table", "image", "video")), ("id", "modality"),
              "modalities are known", "Every item is a text, a table, an image or a video."),
    _blocking("items", Between("content", low=1e-9), ("id", "modality"),
              "items have content", "Texts have words, tables rows, videos a duration."),
)
_QUESTIONS = (
    _blocking("questions", Unique("id"), ("id",),
              "question ids are unique", "No two questions share an id."),
    _blocking("questions", Between("words", low=1), ("id",),
              "questions have words", "No question is empty."),
    _advisory("questions", Between("answers", low=1), ("id",),
              "questions have answers", "A question without an answer can be retrieved for but not scored."),
    _blocking("questions", Between("blank_answers", high=0), ("id",),
              "answers have words", "An answer that says nothing is found in any evidence."),
)
_ANNOTATIONS = (
    _blocking("annotations", OneOf("item_known", _TRUE), _PAIR,
              "gold items are in the data", "Every annotation names an item that is there."),
    _blocking("annotations", OneOf("question_known", _TRUE), _PAIR,
              "gold questions are in the data", "Every annotation names a question that is there."),
    _blocking("annotations", OneOf("unit_fits", _TRUE), (*_PAIR, "unit"),
              "gold units fit", "Characters mark texts, rows tables, seconds videos."),
    _blocking("spans", Between("outside", high=0), (*_PAIR, "start", "end", "item_ends"),
              "gold spans lie inside their items", "No span begins before or ends after its item."),
    _advisory("modalities", Between("gold_items", low=1), ("modality", "items"),
              "modality mix has gold",
              "Every modality among the items has gold; nothing is trained or measured on one that has none."),
)
_GOLD = (
    _blocking("gold", OneOf("inside", _TRUE), (*_PAIR, "fragments", "count"),
              "fragments lie inside their items",
              "Gold fragments are numbers from 0 to the item's count, at least one."),
)
_SPLIT = (
    _blocking("gold_questions", OneOf("split_known", _TRUE), _PAIR,
              "gold questions have a split", "Every question with gold is in the split."),
    _blocking("splits", Unique("question_id"), ("question_id", "split"),
              "one split a question", "No question is in two splits."),
    _blocking("splits", OneOf("split", _SIDES), ("question_id", "split"),
              "splits are train and test", "Every question is in train or in test."),
    _blocking("gold_items", Between("sides", high=1), ("item_id", "splits"),
              "no gold item on both sides", "Train and test share no gold item."),
    _blocking("gold_groups", Between("sides", high=1), ("items", "splits"),
              "no gold text of a test question trains",
              "No gold item of train, in any benchmark, says the same as one of test, holds it or stands in it."),
    _blocking("question_groups", Between("sides", high=1), ("questions", "splits"),
              "no near-duplicate questions on both sides",
              "No question of train, in any benchmark, says the same as one of test."),
    _advisory("modality_mix", Between("beyond", high=0), ("modality", "train_share", "test_share"),
              "modality mix is alike", "Gold of each modality has about the same share of train and test."),
    _advisory("answer_mix", Between("beyond", high=0), ("answer_type", "train_share", "test_share"),
              "answer types are alike", "Each type of answer has about the same share of train and test."),
)
_INSTANCES = (
    _blocking("instances", OneOf("preference", _TRUE), (*_PAIR, "node"),
              "instances are preferences", "Every instance has at least two children, one of them gold."),
    _blocking("instances", OneOf("inside", _TRUE), (*_PAIR, "node"),
              "instances lie inside their items", "An instance's fragments are among its item's."),
    _blocking("instances", Unique("key"), (*_PAIR, "node"),
              "instances are unique", "No two instances are of the same question, item, group and node."),
    _blocking("instances", OneOf("split", _SIDES), (*_PAIR, "split"),
              "instances have a side", "Every instance is of train or of test."),
)
_TRAINING_INPUTS = (
    _blocking("sources", OneOf("item_known", _TRUE), _PAIR,
              "instances' items are in the data", "Every training instance names an item that is there."),
    _blocking("sources", OneOf("question_known", _TRUE), _PAIR,
              "instances' questions are in the data", "Every training instance names a question that is there."),
)
_EMBEDDING_INPUTS = (
    _blocking("corpus_gold", OneOf("in_corpus", _TRUE), _PAIR,
              "gold items are in the corpus", "Every gold item can be retrieved."),
    _blocking("folds", OneOf("lands", _TRUE), ("item_id", "into"),
              "folded items are found", "Every item that was folded went into one that is searched."),
)
# The rules of each suite; a suite is named after the stage that writes, or reads, what it checks.
SUITES: Mapping[str, tuple[Rule, ...]] = {
    "benchmark": (*_ITEMS, *_QUESTIONS, *_ANNOTATIONS),
    "gold_spans": _GOLD,
    "split": _SPLIT,
    "training_instances": _INSTANCES,
    "corpus": _ITEMS,
    "node_encoder": _TRAINING_INPUTS,
    "node_embeddings": _EMBEDDING_INPUTS,
}
# Which of a stage's tables each checked table is made from.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "items": ("items",),
    "questions": ("questions",),
    "annotations": ("annotations", "items", "questions"),
    "spans": ("annotations", "items"),
    "modalities": ("items", "annotations"),
    "gold": ("gold",),
    "gold_questions": ("gold", "splits"),
    "splits": ("splits",),
    "gold_items": ("gold", "splits"),
    "gold_groups": ("groups", "gold", "splits"),
    "question_groups": ("groups", "splits"),
    "modality_mix": ("gold", "splits"),
    "answer_mix": ("questions", "splits"),
    "instances": ("instances",),
    "sources": ("instances", "items", "questions"),
    "corpus_gold": ("gold", "corpus", "folded"),
    "folds": ("folded", "corpus"),
}
