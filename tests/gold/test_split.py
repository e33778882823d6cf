"""The split: whole components, near the share asked for, stable."""

from hypothesis import given
from hypothesis import strategies as st

from canopy.gold.split import components, find_duplicates, same_sayings, split_questions
from canopy.items import Item, Question

PAIRS = st.lists(st.tuples(st.integers(0, 30).map("q{}".format), st.integers(0, 20).map("i{}".format)), max_size=60)


@given(PAIRS, st.floats(0.1, 0.9), st.integers(0, 5))
def test_no_gold_item_on_both_sides(pairs, share, seed):
    questions = sorted({q for q, _ in pairs} | {"alone"})
    component = components(pairs, questions)
    side = split_questions(component, share, seed)
    assert list(side) == questions and set(side.values()) <= {"train", "test"}
    for item in {i for _, i in pairs}:
        assert len({side[q] for q, i in pairs if i == item}) == 1
    assert side == split_questions(component, share, seed)


def test_the_share_is_met_when_components_are_small():
    questions = [f"q{n}" for n in range(200)]
    side = split_questions(components([(q, f"i{q}") for q in questions], questions), 0.3, 1)
    assert sum(s == "test" for s in side.values()) == 60


TEXT = ("The old tower was built by masons from the north in the year nineteen hundred, "
        "and many people still like it a great deal.")


def test_questions_and_gold_items_that_say_the_same_stay_together():
    questions = [Question(f"q{n}", "b", w) for n, w in enumerate(("Who built it?", "who  built it",
                                                                  "When was it built?", "What is it like?", "Why?"))]
    items = [Item("i0", "b", "text", text=TEXT), Item("i1", "b", "text", text=TEXT.upper()),
             Item("i2", "b", "table", rows=((TEXT,),)),
             Item("i3", "b", "image", media_sha256="aa"), Item("i4", "b", "image", media_sha256="aa")]
    pairs = [("q0", "i0"), ("q2", "i1"), ("q3", "i2"), ("q3", "i3"), ("q4", "i4")]
    same = find_duplicates(questions, items, 0.9)
    assert [(d["kind"], d["group"], d["id"]) for d in same] == [("question", 0, "q0"), ("question", 0, "q1"),
                                                                ("item", 1, "i0"), ("item", 1, "i1"),
                                                                ("item", 2, "i3"), ("item", 2, "i4")]
    ids = [q.id for q in questions]
    assert components(same_sayings(pairs, same), ids) == {"q0": 0, "q1": 0, "q2": 0, "q3": 1, "q4": 1}
    assert components(same_sayings(pairs, ()), ids) == components(pairs, ids) == {"q0": 0, "q1": 1, "q2": 2, "q3": 3,
                                                                                  "q4": 4}
    assert find_duplicates(questions, items, 0) == []
