"""Near-duplicates: what is found, what is not, and that copies stay cheap."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.corpus.duplicates import Pair, comparable, near_duplicate_groups, near_duplicates
from canopy.corpus.minhash import normalise, rows_a_band, shingles, similarity
from canopy.items import Item

WORDS = [f"w{n}" for n in range(500)]


def passage(seed: int, length: int = 80) -> list[str]:
    """Words of a made-up passage."""
    return random.Random(seed).choices(WORDS, k=length)


def test_case_width_and_punctuation_do_not_count() -> None:
    assert normalise("  The ﬁrst—\u00a0TOWER’s, (1900)!\n") == "the first tower s 1900"
    assert near_duplicates({"a": "A tower, old.", "b": "a  TOWER old", "c": "an old tower"}) == [Pair("a", "b", 1.0)]


def test_texts_without_words_are_duplicates_of_nothing() -> None:
    assert near_duplicates({"a": "", "b": " ", "c": "!?", "d": "..."}) == [] and len(shingles("")) == 0


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9])
def test_one_changed_word_is_found_where_the_threshold_allows(threshold: float) -> None:
    texts = {}
    for n in range(60):
        words = passage(n)
        texts[f"a{n}"] = " ".join(words)
        texts[f"b{n}"] = " ".join([*words[:40], "changed", *words[41:]])
        texts[f"c{n}"] = " ".join([*words[:40], *passage(1000 + n, 40)])
    assert near_duplicate_groups(texts, threshold) == [[f"a{n}", f"b{n}"] for n in range(60)]
    assert all(threshold <= p.similarity < 1 for p in near_duplicates(texts, threshold))
    assert near_duplicate_groups(texts, 1.0) == []


def test_copies_give_one_pair_each() -> None:
    texts = {f"x{n}": "the same notice, always" for n in range(2000)}
    assert near_duplicates(texts) == [Pair("x0", f"x{n}", 1.0) for n in range(1, 2000)]
    assert near_duplicate_groups(texts) == [list(texts)]


def test_groups_join_what_pairs_connect() -> None:
    words = passage(7)
    chain = {"a": words, "b": [*words[:79], "x"], "c": [*words[:78], "y", "x"], "far": passage(8)}
    assert near_duplicate_groups({k: " ".join(v) for k, v in chain.items()}, 0.95) == [["a", "b", "c"]]


@given(st.dictionaries(st.text(max_size=3), st.text(st.sampled_from("ab c"), max_size=30), max_size=12),
       st.sampled_from([0.3, 0.6, 0.9, 1.0]))
def test_pairs_are_as_alike_as_they_say_and_groups_follow_from_them(texts: dict[str, str], threshold: float) -> None:
    order = list(texts)
    pairs = near_duplicates(texts, threshold)
    for p in pairs:
        assert order.index(p.a) < order.index(p.b) and p.similarity >= threshold
        assert p.similarity == similarity(shingles(normalise(texts[p.a])), shingles(normalise(texts[p.b])))
    groups = near_duplicate_groups(texts, threshold)
    assert sum(len(g) - 1 for g in groups) == len(pairs)
    assert {i for g in groups for i in g} == {i for p in pairs for i in p[:2]}
    copies = {n for n in map(normalise, texts.values()) if n and sum(normalise(t) == n for t in texts.values()) > 1}
    assert copies <= {normalise(texts[i]) for i in {x for g in groups for x in g}}


def test_bands_are_as_wide_as_the_threshold_allows() -> None:
    assert [rows_a_band(t) for t in (0.5, 0.8, 0.9)] == [2, 5, 8]
    assert all((1 - t ** rows_a_band(t)) ** (128 // rows_a_band(t)) <= 1e-3 for t in (0.5, 0.6, 0.7, 0.8, 0.9, 0.99))


def test_what_of_an_item_is_compared() -> None:
    assert comparable(Item("a", "b", "text", title="T", text="words")) == "words"
    assert comparable(Item("a", "b", "table", header=("h",), rows=(("1", "2"), ("3", "")))) == "h 1 2 3 "
    assert comparable(Item("a", "b", "image", media_sha256="ff", caption="c")) == "ff"
    assert comparable(Item("a", "b", "video")) == ""
