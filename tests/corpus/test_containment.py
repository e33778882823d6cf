"""Texts inside others: as a plain search says, whatever the case and the punctuation, and not by chance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from canopy.corpus.containment import MIN_WORDS, contained_texts
from canopy.corpus.minhash import normalise

# Few words, so that texts share their first words and stand in one another.
TEXTS = st.lists(st.lists(st.sampled_from(("a", "b", "The", "Été,")), max_size=24).map(" ".join), max_size=6)


@given(TEXTS, TEXTS)
def test_the_pairs_are_those_of_a_plain_search(parts: list[str], wholes: list[str]) -> None:
    pairs = set(contained_texts(dict(enumerate(parts)), dict(enumerate(wholes))))
    plain = [f" {normalise(w)} " for w in wholes]
    assert pairs == {(p, w) for p, part in enumerate(parts) for w, whole in enumerate(plain)
                     if len(part.split()) >= MIN_WORDS and f" {normalise(part)} " in whole and plain.index(whole) == w}


def test_a_passage_that_is_cut_elsewhere_is_inside_and_words_are_whole() -> None:
    story = "It rained. The old mill by the river was sold to a baker in spring. Nobody knows why."
    parts = {"cut": "the old mill -- by the river was SOLD to a baker", "short": "the old mill by the river",
             "letters": "old mill by the river was sold to a bake", "other": "the old mill by the sea was sold to him"}
    assert list(contained_texts(parts, {"story": story, "copy": story.upper()})) == [("cut", "story")]
