from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.hierarchy.tree import build_tree
from canopy.items import Item
from canopy.leaf_scorer.features import NAMES, leaf_features
from canopy.leaf_scorer.forest import join_retrieved
from canopy.leaf_scorer.stems import Rarity, asked_stems
from canopy.scoring.stems import stem
from tests.leaf_scorer.retrieved import FILM, HARBOUR, ITEMS, ORR, retrieve

QUESTION = "Where did the master of the harbour of Leith live?"


def column(features: np.ndarray, name: str) -> list[float]:
    return [float(v) for v in features[:, NAMES.index(name)]]


def test_stems_join_forms_of_a_word_and_leave_short_ones() -> None:
    for forms in (("city", "cities"), ("box", "boxes"), ("rise", "rises", "rising"), ("land", "landing", "landed")):
        assert len({stem(w) for w in forms}) == 1, forms
    assert [stem(w) for w in ("as", "is", "red", "00417")] == ["as", "is", "red", "00417"]


def test_function_words_are_left_out_before_endings_are() -> None:
    assert asked_stems("Why does the ferry rise?") == ["ferri", "rise"]
    assert asked_stems("Which ships were landing?") == ["ship", "land"]
    assert asked_stems("What is it?") == ["what", "is", "it"]


def test_a_table_of_rarity_leaves_rare_words_out() -> None:
    rarity = Rarity.of(ITEMS)
    assert rarity.items == 4 and rarity.counts["leith"] == 2 and rarity.idf("granite") > rarity.idf("leith")
    assert "granite" not in rarity.common(2).counts and rarity.common(2).idf("leith") == rarity.idf("leith")
    assert Rarity().idf("leith") == Rarity().idf("anything") == 1.0


def test_each_leaf_has_its_words_its_item_and_its_links() -> None:
    features = leaf_features(retrieve(QUESTION), Rarity())
    assert features.shape == (3 + 2 + 2 + 2, len(NAMES)) and features.dtype == np.float32
    overlap = column(features, "overlap")
    asked = asked_stems(QUESTION)
    assert overlap[0] == pytest.approx(sum(w in ("harbour", "leith") for w in asked) / len(asked))
    assert column(features, "title_quoted")[:4] == [1, 1, 1, 0]
    assert column(features, "names")[:5] == [0, 1, 0, 0, 0]  # the second sentence names Jane Orr
    assert column(features, "named")[3:5] == [1, 1]
    assert column(features, "year")[:2] == [1, 0] and column(features, "modality")[-3:] == [1, 3, 3]
    assert column(features, "place")[:5] == [0, 1, 2, 0, 1]
    assert column(features, "dense_rank") == column(features, "dense_rank")


def test_what_an_item_lacks_is_missing_not_zero() -> None:
    features = leaf_features(retrieve(QUESTION, [FILM, ORR]), Rarity())
    assert np.isnan(column(features, "overlap")[0]) and not np.isnan(column(features, "overlap")[1])
    assert np.isnan(column(features, "lexical")).all() and np.isnan(column(features, "names_dense")[0])
    known = leaf_features(retrieve(QUESTION, [FILM, ORR], lexical=[0.25, 1.0]), Rarity())
    assert column(known, "lexical") == [0.25, 0.25, 1, 1] and column(known, "lexical_rank") == [1, 1, 0, 0]


@given(st.permutations(range(4)), st.integers(0, 99))
def test_the_order_of_items_changes_no_words(order: list[int], seed: int) -> None:
    plain = leaf_features(retrieve(QUESTION, seed=seed), Rarity.of(ITEMS))
    mixed = leaf_features(retrieve(QUESTION, [ITEMS[n] for n in order], seed=seed), Rarity.of(ITEMS))
    first = np.concatenate([[0], np.cumsum([3, 2, 2, 2])])
    rows = np.concatenate([np.arange(first[n], first[n + 1]) for n in order])
    for name in ("overlap", "bm25", "title_overlap", "item_overlap", "names", "named", "tokens"):
        n = NAMES.index(name)
        np.testing.assert_array_equal(mixed[:, n], plain[rows, n])


def test_no_item_and_parts_that_do_not_fit() -> None:
    assert leaf_features(join_retrieved("Why?", [], [], []), Rarity()).shape == (0, len(NAMES))
    words = retrieve("Why?", [HARBOUR]).items
    with pytest.raises(ValueError, match="not of the same items"):
        join_retrieved("Why?", words, [build_tree(2)], [np.zeros(3)])
    assert retrieve("", [Item("i", "t", "image", title="", media="a.png")]).tokens.tolist() == [0]
