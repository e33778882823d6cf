"""Annotations to gold rows: merging, alternatives, and gold that cannot be located."""

from canopy.gold.fragments import map_annotations
from canopy.items import Annotation, Item

TEXT = Item("x/t", "x", "text", text="One is here. Two is there. Three is gone.")
TABLE = Item("x/b", "x", "table", header=("a",), rows=(("1",), ("2",), ("3",)))
ITEMS = {i.id: i for i in (TEXT, TABLE)}


def rows(*annotations):
    return map_annotations(annotations, ITEMS, 30.0)


def test_joint_annotations_of_one_item_merge():
    made, lost = rows(Annotation("q", "x/t", "chars", ((0, 3),)), Annotation("q", "x/t", "chars", ((13, 16),)))
    assert [(r["fragments"], r["coverage"], r["count"]) for r in made] == [([0, 1], "located", 3)] and not lost


def test_alternatives_stay_apart_and_repeats_fold():
    made, _ = rows(*(Annotation("q", "x/b", "rows", ((r, r + 1),), g) for g, r in enumerate([0, 2, 0])))
    assert [(r["group"], r["fragments"]) for r in made] == [(0, [0]), (1, [2])]


def test_a_span_that_touches_nothing_makes_the_item_gold_whole():
    made, lost = rows(Annotation("q", "x/b", "rows", ((7, 8),)))
    assert made[0]["coverage"] == "whole" and made[0]["fragments"] == [0, 1, 2]
    assert lost[0]["item_id"] == "x/b" and "touch none of 3" in lost[0]["reason"]
