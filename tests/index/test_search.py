"""Search of two kinds: words and vectors, near-alike documents, filters, and files that do not belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.config import Retrieval
from canopy.errors import DataError
from canopy.index.item_index import ItemIndex
from canopy.index.lexical import LexicalIndex
from canopy.index.search import ItemSearch, write_index
from canopy.index.terms import item_terms, terms
from canopy.items import Item

WORDS = ("pump", "valve", "leith", "brno", "failed", "repaired", "a-12", "a-13")


def vectors(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors that are very alike, as those of documents of one form are."""
    rng = np.random.default_rng(seed)
    v = 1 + 0.05 * rng.normal(size=(count, 16))
    return (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)


def search_over(path: Path, texts: list[str], retrieval: Retrieval) -> ItemSearch:
    path.mkdir(parents=True)
    dense = ItemIndex.build([f"i{n}" for n in range(len(texts))], vectors(len(texts)), digest="d")
    write_index(path, dense, [terms(t) for t in texts], retrieval)
    return ItemSearch.open(path, dimension=16, digest="d")


@pytest.mark.parametrize(("text", "expected"), [
    ("The ships of Leith", ["ship", "leith"]), ("TCK-00417.", ["tck-00417", "tck", "00417"]),
    ("v1.2.3 costs 1,250 EUR", ["v1.2.3", "v1", "2", "3", "cost", "1", "250", "eur"]),
    ("Straße Übung", ["strass", "übung"]), ("A/2041", ["a/2041", "2041"]), ("東京都", ["東京", "京都"]),
    ("猫", ["猫"]), ("of the in", []), ("", []), ("C# und C++", ["c#", "c", "und", "c++", "c"]),
    ("QRX\u20110088 QRX\u20130088", ["qrx-0088", "qrx", "0088"] * 2), ("§ 27 and #31", ["§27", "27", "#31", "31"]),
    ("हिन्दी தமிழ்", ["हिन्दी", "தமிழ்"]), ("mea\u00adsured", terms("measured")), ("İzmir", ["izmir"]),
    ("ខ្មែរ", ["ខ្", "្ម", "មែ", "ែរ"])])
def test_terms_are_stems_codes_and_pairs_of_letters(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_title_counts_twice_and_every_part_of_an_item_counts() -> None:
    item = Item("i", "t", "table", title="Fees", section="Harbour", header=("Berth",), rows=(("North",),))
    assert item_terms(item) == ["fee", "fee", "harbour", "berth", "north"]


def test_a_question_about_one_of_many_alike_documents_finds_it_by_its_code(tmp_path: Path) -> None:
    texts = [f"Ticket {'ABCDEFGH'[n % 8]}{n:05d}: the pump in Leith failed on day {n % 365}. Kim Frost repaired it."
             for n in range(2000)]
    asked = range(0, 2000, 34)
    question = {n: f"Who repaired the pump of ticket {'ABCDEFGH'[n % 8]}{n:05d}?" for n in asked}
    query = vectors(60, seed=1)
    for retrieval, least, most in (("hybrid", 55, 59), ("bm25", 55, 59), ("dense", 0, 20)):
        search = search_over(tmp_path / retrieval, texts, retrieval)
        hits = sum(f"i{n}" in [i for i, _ in search.search(question[n], query[row], 5)]
                   for row, n in enumerate(asked))
        assert least <= hits <= most, (retrieval, hits)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=12), st.integers(0, 2**31),
       st.sampled_from(["dense", "bm25", "hybrid"]), st.integers(1, 14), st.data())
def test_filters_hold_inside_the_search(tmp_path_factory: pytest.TempPathFactory, words: list[list[str]], seed: int,
                                        retrieval: Retrieval, k: int, data: st.DataObject) -> None:
    search = search_over(tmp_path_factory.mktemp("s") / "i", [" ".join(w) for w in words], retrieval)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words))))
    query, vector = data.draw(st.sampled_from(WORDS)), vectors(1, seed)[0]
    hits = search.search(query, vector, k, among=among)
    assert len(hits) == min(k, int(among.sum())) == len({i for i, _ in hits})
    assert all(among[int(i[1:])] for i, _ in hits)
    assert hits == search.search(query, vector, k, among=among)
    if retrieval == "dense":
        assert [s for _, s in hits] == sorted((s for _, s in hits), reverse=True)


def test_words_alone_order_by_bm25(tmp_path: Path) -> None:
    search = search_over(tmp_path / "i", ["pump pump valve", "valve", "leith", "pump"], "bm25")
    assert {i for i, _ in search.search("the pump", vectors(1)[0], 2)} == {"i0", "i3"}
    assert search.lexical is not None and search.lexical.scores("pump")[2] == 0
    assert not search.lexical.scores("of unknown").any() and not search.lexical.scores("").any()


def test_equal_items_give_equal_files(tmp_path: Path) -> None:
    texts = ["pump in leith", "valve", ""]
    for name in ("a", "b"):
        search_over(tmp_path / name, texts, "hybrid")
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file())
    assert len(files) > 5
    assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)


def test_no_words_at_all_and_damaged_files(tmp_path: Path) -> None:
    search = search_over(tmp_path / "i", ["", ""], "hybrid")
    assert len(search.search("pump", vectors(1)[0], 5)) == 2
    assert len(LexicalIndex.build([])) == 0
    part = next((tmp_path / "i" / "bm25").glob("*vocab*"))
    part.write_bytes(part.read_bytes() + b" ")
    with pytest.raises(DataError, match="not those of the index's manifest"):
        ItemSearch.open(tmp_path / "i", dimension=16, digest="d")


def test_an_index_without_words_is_searched_by_vectors(tmp_path: Path) -> None:
    ItemIndex.build(["a", "b"], vectors(2), digest="d").save(tmp_path / "i")
    search = ItemSearch.open(tmp_path / "i", dimension=16, digest="d")
    assert search.retrieval == "dense" and len(search.search("x", vectors(1)[0], 5)) == 2
