"""The split: whole components, near the share asked for, stable."""

from hypothesis import given
from hypothesis import strategies as st

from canopy.gold.split import components, split_questions

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
