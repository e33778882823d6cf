"""What a reader cannot tell apart, and the figures and signs that near-duplicates must share."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.corpus.equality import as_read, figures, item_as_read, words_of
from canopy.items import Cue, Item


def test_spacing_composition_quotes_and_dashes_are_one() -> None:
    assert as_read(" Café\u00a0—\n“it’s”\u200b co\u00adop… ") == 'Café - "it\'s" coop...'
    assert as_read("cafe\u200b\u0301") == "café"
    assert as_read("−20 – 20") == "-20 - 20"
    assert as_read("20 µg, 10², CO₂, 6′ 2″, ±5, ﬁve, ５") == "20 µg, 10², CO₂, 6′ 2″, ±5, ﬁve, ５"


@given(st.text())
def test_reading_twice_changes_nothing_and_keeps_case_digits_and_signs(text: str) -> None:
    once = as_read(text)
    assert as_read(once) == once and "  " not in once and once == once.strip()
    kept = [c for c in unicodedata.normalize("NFC", text) if c.isnumeric() or c.isupper() or c in "+€$%"]
    assert [c for c in once if c.isnumeric() or c.isupper() or c in "+€$%"] == kept


def test_an_item_reads_the_same_in_every_field_that_a_reader_sees() -> None:
    item = Item("a", "b", "video", " T ", "S ", "x", ("h ",), ((" 1",),), caption=" c", cues=(Cue(0, 1, " w "),),
                words="o ", screen=(Cue(1, 2, "s "),))
    assert item_as_read(item) == Item("a", "b", "video", "T", "S", "x", ("h",), (("1",),), caption="c",
                                      cues=(Cue(0, 1, "w"),), words="o", screen=(Cue(1, 2, "s"),))


def test_case_counts_in_words() -> None:
    assert words_of("The US, 5 MW: (ﬁne)!") == "The US 5 MW fine"


@pytest.mark.parametrize(("text", "pieces"), [
    ("Keep at -20 degrees.", ["-20"]), ("(in 1900), C# and C++", ["1900", "C#", "C++"]), ("3 : 2", ["3", ":", "2"]),
    ("give .5 mg", [".5"]), ("6' tall", ["6'"]), ("he said '6'", ["6"]), ("no figure at all", []),
    ("½ of x²", ["½", "x²"]), ("$ 1,200.", ["$", "1,200"])])
def test_figures_and_signs(text: str, pieces: list[str]) -> None:
    assert [piece for _, piece, _ in figures(text) if piece != ":"] == [p for p in pieces if p != ":"]


def test_figures_come_with_their_neighbours() -> None:
    assert figures("It costs 20 million in 1912 .") == (("costs", "20", "million"), ("in", "1912", ""))
    assert figures("3 : 2") != figures("3 2")
