"""The corpus reader: the same items from a stage's output and a bundle's file; representatives."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from canopy.corpus.folds import ITEMS, NEAR, Fold, Folds, write_folds
from canopy.corpus.packing import pack_corpus
from canopy.corpus.reader import Corpus
from canopy.errors import DataError
from canopy.items import Item, write_items

FIRST = Item("one/a", "one", "text", title="Vltava", text="The Vltava is the longest river.")
TABLE = Item("one/t", "one", "table", header=("river", "km"), rows=(("Vltava", "430"),))
CLOSE = Item("two/a", "two", "text", title="Moldau", text="The Vltava is the longest river.")
COPY = Item("two/c", "two", "text", title="Vltava", text=FIRST.text, source="elsewhere")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stage's output with one exact and one near duplicate."""
    write_items(tmp_path / ITEMS, [FIRST, TABLE])
    write_items(tmp_path / NEAR, [CLOSE])
    write_folds(tmp_path, [Fold("two/c", "one/a", "exact", 1.0), Fold("two/a", "one/a", "near", 1.0)])
    return tmp_path


def packed(folder: Path) -> Corpus:
    """The corpus of a bundle made of that output."""
    pack_corpus(folder / ITEMS, folder / "corpus.arrow", folder / NEAR, {"two/c": "one/a"})
    return Corpus.open_packed(folder / "corpus.arrow")


def test_an_output_and_a_bundle_have_the_same_items(folder: Path) -> None:
    as_first = dataclasses.replace(FIRST, id="two/c")
    for corpus in (Corpus.open(folder), packed(folder)):
        assert dict(corpus) == {"one/a": FIRST, "one/t": TABLE, "two/a": CLOSE, "two/c": as_first}
        assert list(corpus.encoded_items()) == [FIRST, TABLE, CLOSE] and corpus.ids == ["one/a", "one/t", "two/a"]
        assert len(corpus) == 4 and "two/c" in corpus and corpus.unknown(["two/c", "x", "two/a"]) == ["x"]
        assert corpus.modalities(["one/t", "one/a"]).tolist() == ["table", "text"]
        with pytest.raises(KeyError):
            corpus["x"]


def test_each_item_has_a_representative(folder: Path) -> None:
    folds = Corpus.open(folder).folds
    assert [folds.representative(i) for i in ("one/a", "two/a", "two/c")] == ["one/a"] * 3
    assert [folds.exact_representative(i) for i in ("one/a", "two/a", "two/c")] == ["one/a", "two/a", "one/a"]
    assert packed(folder).folds == Folds({"two/c": "one/a"})


def test_other_items_stand_as_their_benchmark_has_them(folder: Path) -> None:
    corpus = Corpus.open(folder, {"two/c": COPY, "one/a": COPY})
    assert corpus["two/c"] == COPY and corpus["one/a"] == FIRST and len(corpus) == 4


def test_a_corpus_that_folded_nothing_opens(tmp_path: Path) -> None:
    write_items(tmp_path / ITEMS, [FIRST])
    assert dict(Corpus.open(tmp_path)) == {"one/a": FIRST}


def test_few_items_are_kept(folder: Path) -> None:
    corpus = Corpus(Corpus.open(folder)._table, Folds(), cached_items=1)
    assert corpus["one/a"] is corpus["one/a"] and corpus["one/t"] == TABLE
    assert packed(folder)["one/a"] == FIRST


def test_a_damaged_bundle_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "corpus.arrow").write_bytes(b"no arrow")
    with pytest.raises(DataError, match=r"not a readable corpus.*export the bundle again"):
        Corpus.open_packed(tmp_path / "corpus.arrow")
