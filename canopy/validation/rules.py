"""The rules that data must meet, as plain data: one list for the stages, for Dagster's checks and for the suites generated for other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unique:
    """No value of the column occurs twice; null breaks it, as it does every test."""

    column: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """Every value of the column is one of these."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """Every value of the column lies between these bounds, which it may equal; None is no bound."""

    column: str
    low: float | None = None
    high: float | None = None


Test = Unique | OneOf | Between


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what every row of a table of ``canopy.validation.tables`` must meet.

    Parameters
    ----------
    name, says : str
        Its name, and a sentence for people.
    blocking : bool
        Whether nothing may be built from data that breaks it; else people are told.
    judged : str
        The table whose rows it judges.
    shown : tuple of str
        Columns that tell people which row it is.
    """

    name: str
    says: str
    blocking: bool
    judged: str
    test: Test
    shown: tuple[str, ...]


_PAIR = ("question_id", "item_id")
_SIDES = ("train", "test")
_ITEMS = (
    Rule("item ids are unique", "No two items share an id.", True, "items", Unique("id"), ("id",)),
    Rule("modalities are known", "Every item is a text, a table, an image or a video.", True, "items",
         OneOf("modality", ("text", "table", "image", "video")), ("id", "modality")),
    Rule("items have content", "Texts have words, tables rows, videos a duration.", True, "items", Between("content", low=1e-9), ("id", "modality")),
)

SUITES: Mapping[str, tuple[Rule, ...]] = {
    "benchmark": (
        *_ITEMS,
        Rule("question ids are unique", "No two questions share an id.", True, "questions", Unique("id"), ("id",)),
        Rule("questions have words", "No question is empty.", True, "questions", Between("words", low=1), ("id",)),
        Rule("questions have answers", "A question without an answer can be retrieved for but not scored.", False, "questions",
             Between("answers", low=1), ("id",)),
        Rule("answers have words", "An answer that says nothing is found in any evidence.", True, "questions", Between("blank_answers", high=0), ("id",)),
        Rule("gold items are in the data", "Every annotation names an item that is there.", True, "annotations", OneOf("item_known", (True,)), _PAIR),
        Rule("gold questions are in the data", "Every annotation names a question that is there.", True, "annotations",
             OneOf("question_known", (True,)), _PAIR),
        Rule("gold units fit", "Characters mark texts, rows tables, seconds videos.", True, "annotations", OneOf("unit_fits", (True,)), (*_PAIR, "unit")),
        Rule("gold spans lie inside their items", "No span begins before or ends after its item.", True, "spans", Between("outside", high=0),
             (*_PAIR, "start", "end", "item_ends")),
        Rule("modality mix has gold", "Every modality among the items has gold; nothing is trained or measured on one that has none.", False,
             "modalities", Between("gold_items", low=1), ("modality", "items")),
    ),
    "gold_spans": (
        Rule("fragments lie inside their items", "Gold fragments are numbers from 0 to the item's count, at least one.", True, "gold",
             OneOf("inside", (True,)), (*_PAIR, "fragments", "count")),
        Rule("gold questions have a split", "Every question with gold is in the split.", True, "gold", OneOf("split_known", (True,)), _PAIR),
        Rule("one split a question", "No question is in two splits.", True, "splits", Unique("question_id"), ("question_id", "split")),
        Rule("splits are train and test", "Every question is in train or in test.", True, "splits", OneOf("split", _SIDES), ("question_id", "split")),
        Rule("no gold item on both sides", "Train and test share no gold item.", True, "gold_items", Between("sides", high=1), ("item_id", "splits")),
        Rule("no near-duplicates on both sides", "No question and no gold item of train says the same as one of test.", True, "duplicates",
             Between("sides", high=1), ("kind", "ids", "splits")),
        Rule("modality mix is alike", "Gold of each modality has about the same share of train and test.", False, "modality_mix",
             Between("beyond", high=0), ("modality", "train_share", "test_share")),
        Rule("answer types are alike", "Each type of answer has about the same share of train and test.", False, "answer_mix",
             Between("beyond", high=0), ("answer_type", "train_share", "test_share")),
    ),
    "training_instances": (
        Rule("instances are preferences", "Every instance has at least two children, one of them gold.", True, "instances",
             OneOf("preference", (True,)), (*_PAIR, "node")),
        Rule("instances lie inside their items", "An instance's fragments are among its item's.", True, "instances", OneOf("inside", (True,)),
             (*_PAIR, "node")),
        Rule("instances are unique", "No two instances are of the same question, item, group and node.", True, "instances", Unique("key"),
             (*_PAIR, "node")),
        Rule("instances have a side", "Every instance is of train or of test.", True, "instances", OneOf("split", _SIDES), (*_PAIR, "split")),
    ),
    "corpus": _ITEMS,
    "node_encoder": (
        Rule("instances' items are in the data", "Every training instance names an item that is there.", True, "sources",
             OneOf("item_known", (True,)), _PAIR),
        Rule("instances' questions are in the data", "Every training instance names a question that is there.", True, "sources",
             OneOf("question_known", (True,)), _PAIR),
    ),
    "node_embeddings": (
        Rule("gold items are in the corpus", "Every gold item can be retrieved.", True, "corpus_gold", OneOf("in_corpus", (True,)), _PAIR),
        Rule("folded items are found", "Every item that was folded went into one that is searched.", True, "folds", OneOf("lands", (True,)), ("item_id", "into")),
    ),
}

# What each judged table is made from.
MADE_FROM: Mapping[str, tuple[str, ...]] = {
    "items": ("items",), "questions": ("questions",), "annotations": ("annotations", "items", "questions"), "spans": ("annotations", "items"),
    "modalities": ("items", "annotations"), "gold": ("gold", "splits"), "splits": ("splits",), "gold_items": ("gold", "splits"),
    "duplicates": ("duplicates", "gold", "splits"), "modality_mix": ("gold", "splits"), "answer_mix": ("questions", "splits"),
    "instances": ("instances",), "sources": ("instances", "items", "questions"), "corpus_gold": ("gold", "corpus", "folded"),
    "folds": ("folded", "corpus"),
}
