"""A benchmark's own split: whole components, near the share asked for, stable."""

from hypothesis import given
from hypothesis import strategies as st

from canopy.gold.sharing import Member
from canopy.gold.split import components, connect, split_questions

PAIRS = st.lists(st.tuples(st.integers(0, 30).map("q{}".format), st.integers(0, 20).map("i{}".format)), max_size=60)


def number(pairs, questions):
    """The component of each question."""
    connected = connect([(Member("question", "b", q), Member("item", "b", i)) for q, i in pairs], ())
    return {q.id: n for q, n in components(connected, [Member("question", "b", q) for q in questions]).items()}


@given(PAIRS, st.floats(0.1, 0.9), st.integers(0, 5), st.integers(0, 30))
def test_no_gold_item_on_both_sides(pairs, share, seed, fitted):
    questions = sorted({q for q, _ in pairs} | {"alone"})
    component = number(pairs, questions)
    side = split_questions(component, share, seed)
    assert list(side) == questions and set(side.values()) <= {"train", "test"}
    kept = split_questions(component, share, seed, {q for q in (f"q{fitted}",) if q in component})
    for item in {i for _, i in pairs}:
        for sides in (side, kept):
            assert len({sides[q] for q, i in pairs if i == item}) == 1
    assert kept.get(f"q{fitted}", "train") == "train"
    assert side == split_questions(component, share, seed)


def test_the_share_is_met_when_components_are_small_and_other_questions_take_the_place_of_fitted_ones():
    questions = [f"q{n}" for n in range(200)]
    component = number([(q, f"i{q}") for q in questions], questions)
    side = split_questions(component, 0.3, 1)
    assert sum(s == "test" for s in side.values()) == 60
    fitted = [q for q in questions if side[q] == "test"][:40]
    kept = split_questions(component, 0.3, 1, fitted)
    assert sum(s == "test" for s in kept.values()) == 60 and not any(kept[q] == "test" for q in fitted)
