"""Windows and token labels: every token owned once, with as much context as there is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from canopy.encoder.tokens import batch_windows, cut_windows, tokenize_pieces
from canopy.encoder.words import Piece


@given(st.lists(st.integers(0, 400), max_size=6), st.integers(2, 64), st.integers(0, 80))
def test_every_token_is_owned_by_one_window_that_holds_it(lengths, capacity, overlap):
    windows = cut_windows(lengths, capacity, overlap)
    owned = [np.zeros(n, dtype=int) for n in lengths]
    for w in windows:
        assert w.start <= w.own_start <= w.own_end <= w.end and w.end - w.start <= capacity
        owned[w.sequence][w.own_start:w.own_end] += 1
    assert all((o == 1).all() for o in owned)
    assert {w.sequence for w in windows} == set(range(len(lengths)))


@given(st.lists(st.integers(0, 300), min_size=1, max_size=30), st.integers(16, 2000))
def test_batches_cover_all_windows_within_the_budget(lengths, budget):
    windows = cut_windows(lengths, 64, 8)
    batches = batch_windows(windows, budget)
    assert sorted(w for b in batches for w in b) == list(range(len(windows)))
    for b in batches:
        width = max(windows[w].end - windows[w].start for w in b) + 2
        assert len(b) == 1 or width * len(b) <= budget


def test_cutting_into_pieces_does_not_change_the_tokens(encoder):
    text = "Ærøskøbing lies on an island. It rained heavily in Łódź yesterday."
    whole, = tokenize_pieces(encoder.tokenizer, [[Piece(text, 0)]])
    cut, = tokenize_pieces(encoder.tokenizer, [[Piece("", -1), Piece(text[:30], 0), Piece(text[30:], 1)]])
    assert whole.ids.tolist() == cut.ids.tolist()
    assert set(cut.fragments.tolist()) == {0, 1} and (np.diff(cut.fragments) >= 0).all()
