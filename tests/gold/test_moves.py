"""What a split says of itself: what moved and why, what was fitted on, and a side that is empty."""

from __future__ import annotations

from canopy.digests import text_sha256
from canopy.gold.joint import Placement
from canopy.gold.moves import describe_split
from canopy.gold.sharing import Member
from canopy.items import Question

QUESTIONS = [Question(f"a/q{n}", "a", f"What is {n}?") for n in range(4)]
SHARED = [Member("item", "a", "a/i"), Member("item", "b", "b/i")]


def place(n: int, split: str, alone: str = "", component: int = 0, others: tuple[str, ...] = ()) -> Placement:
    return Placement(f"a/q{n}", split, alone or split, component, others, tuple(SHARED) if others else ())


def test_what_moved_is_counted_and_named_with_its_reason() -> None:
    placements = [place(0, "test", "train", 0, ("b",)), place(1, "test", "test", 0, ("b",)),
                  place(2, "train", component=1), place(3, "train", "test", 2, ("b", "c"))]
    metrics, tables, notes = describe_split("a", placements, [SHARED], QUESTIONS, {})
    assert notes == [
        "1 question of a changed side because it shares gold with b: a/q0 (train to test, a/i = b/i).",
        "1 question of a changed side because it shares gold with b and c: a/q3 (test to train, a/i = b/i)."]
    assert [(r["question"], r["alone"], r["here"], r["with"], r["through"]) for r in tables["moved"]] == [
        ("a/q0", "train", "test", "b", "a/i = b/i"), ("a/q3", "test", "train", "b, c", "a/i = b/i")]
    assert tables["shared"] == [
        {"with": "b", "gold items": 1, "questions": 0, "hang together": 3, "moved": 2},
        {"with": "c", "gold items": 0, "questions": 0, "hang together": 1, "moved": 1}]
    assert {k: metrics[k] for k in ("questions_train", "questions_test", "components", "largest_component",
                                    "questions_joined", "questions_moved", "duplicate_items")} == {
        "questions_train": 2, "questions_test": 2, "components": 3, "largest_component": 2, "questions_joined": 3,
        "questions_moved": 2, "duplicate_items": 1}


def test_questions_that_were_fitted_on_are_named_and_a_warning_says_where_an_official_split_tests_them() -> None:
    fitted = {"reader": frozenset({text_sha256("What is 0?"), text_sha256("What is 1?")}),
              "critic": frozenset({text_sha256("What is 1?")})}
    placements = [place(0, "train"), place(1, "test", component=1), place(2, "test", component=2)]
    metrics, _, notes = describe_split("a", placements, [], QUESTIONS, fitted)
    assert metrics["questions_fitted"] == 2
    assert notes == [
        "In train because what ships with canopy was fitted on them (critic, reader): 1 question.",
        "Warning: what ships with canopy (critic, reader) was fitted on 1 test question of an official split, e.g. "
        "a/q1: its figures on them are too good."]


def test_an_empty_side_is_said() -> None:
    _, _, notes = describe_split("a", [place(n, "train", component=n // 3) for n in range(4)], [], QUESTIONS, {})
    assert notes == ["No question of a is in test: nothing of it is measured. 3 of 4 questions hang together through "
                     "shared gold."]
    assert describe_split("a", [], [], [], {})[2] == []
