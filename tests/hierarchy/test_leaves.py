"""Leaves: sentences that tile a text byte for byte, rows, segments, and where gold spans land."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from canopy.hierarchy.leaves import cut_item, gold_fragments, sentence_bounds
from canopy.items import Annotation, Item


def text_item(text):
    return Item("x/t", "x", "text", text=text)


def video(seconds):
    return Item("x/v", "x", "video", duration=seconds)


@given(st.text(max_size=400))
@example("Dr. Müller said: “Ça va?” 你好。 Then — nothing.")
@example("\n\n \t")
@example("One.  Two?\n\nThree!")
def test_sentences_tile_the_text(text):
    bounds = sentence_bounds(text)
    if text:
        assert bounds[0] == 0 and bounds[-1] == len(text)
        assert all(a < b for a, b in zip(bounds[:-1], bounds[1:], strict=True))
        assert "".join(text[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)) == text


@given(st.lists(st.sampled_from(["Ærøskøbing lies on an island.", "It rained — heavily — in Łódź.",
                                 "東京は日本の首都です。",
                                 "Who knows?",
                                 "Costs rose 3.5% in the U.S. last year."]), min_size=2, max_size=6))
def test_offsets_count_characters_not_bytes(sentences):
    text = " ".join(sentences)
    pieces = [text[a:b].strip() for a, b in zip(sentence_bounds(text)[:-1], sentence_bounds(text)[1:], strict=True)]
    assert " ".join(pieces) == text
    assert all(p[0] in "ÆIT東WC" for p in pieces)


def test_no_leaf_is_white_space_alone():
    assert sentence_bounds("One.\n\n\n  \n\nTwo.") == (0, 11, 15)


@pytest.mark.parametrize(("seconds", "leaves"), [(190, 6), (29, 1), (30, 1), (59.9, 1), (60, 2), (0.5, 1)])
def test_a_trailing_remainder_joins_the_last_segment(seconds, leaves):
    cut = cut_item(video(seconds))
    assert cut.count == leaves and cut.bounds[-1] == seconds
    assert cut.span(leaves - 1, leaves) == ((leaves - 1) * 30, seconds)


@pytest.mark.parametrize(("spans", "want"), [
    ([(40, 40)], [1]), ([(30, 30)], [1]), ([(0, 0)], [0]), ([(29, 31)], [0, 1]), ([(160, 175)], [5]),
    ([(190, 190)], [5]), ([(500, 510)], [])])
def test_seconds_land_in_the_segment_that_holds_them(spans, want):
    item = video(190)
    assert gold_fragments(item, cut_item(item), Annotation("q", item.id, "seconds", tuple(spans))).tolist() == want


def test_white_space_at_a_spans_ends_does_not_make_the_neighbour_gold():
    item = text_item("One is here. Two is there. Three.")
    leaves = cut_item(item)
    assert gold_fragments(item, leaves, Annotation("q", item.id, "chars", ((12, 26),))).tolist() == [1]
    assert gold_fragments(item, leaves, Annotation("q", item.id, "chars", ((12, 13),))).tolist() == []
    assert gold_fragments(item, leaves, Annotation("q", item.id, "item")).tolist() == [0, 1, 2]


@given(st.integers(1, 40), st.data())
def test_rows_are_their_own_fragments(n, data):
    item = Item("x/t", "x", "table", header=("a",), rows=tuple((str(r),) for r in range(n)))
    a = data.draw(st.integers(0, n - 1))
    b = data.draw(st.integers(a + 1, n))
    assert gold_fragments(item, cut_item(item),
                          Annotation("q", item.id, "rows", ((a, b),))).tolist() == list(range(a, b))
