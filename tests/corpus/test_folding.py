"""What repeats is folded into the first that says it; later benchmarks change nothing before them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.config import Config
from canopy.corpus.folding import adds_nothing_but_words, fold_items
from canopy.corpus.folds import Folds, read_folds
from canopy.corpus.reader import Corpus
from canopy.errors import DataError
from canopy.items import Item, write_items
from canopy.paths import Paths
from canopy.stages import corpus
from canopy.stages.base import NullTracker
from canopy.validation.checker import RuleValidator

LONG = ("The Vltava rises in the Sumava mountains and flows north through Cesky Krumlov and Prague before it joins "
        "the Elbe at Melnik . Its "
        "valley has been dammed in nine places , which changed the course of the water and drowned the rapids that "
        "rafts had to pass . Smetana "
        "named a symphonic poem after it , and the old bridges that cross it are on every postcard of the capital .")


def text(name: str, words: str, title: str = "", benchmark: str = "x") -> Item:
    return Item(f"{benchmark}/{name}", benchmark, "text", title=title, text=words)


def folds(*items: Item, **over: object) -> dict[str, tuple[str, str]]:
    return {f.item_id: (f.representative, f.kind) for f in fold_items(items, **over)}


def test_equal_items_fold_exactly_and_equal_words_nearly() -> None:
    first, again = text("a", LONG, "Vltava"), text("b", LONG, "Vltava")
    spaced, redirect = text("c", LONG.replace(" .", ".").replace(" ,", ","), "Vltava"), text("d", LONG, "Moldau")
    assert folds(first, again, spaced, redirect) == {"x/b": ("x/a", "exact"), "x/c": ("x/a", "near"),
                                                     "x/d": ("x/a", "near")}
    assert folds(first, again, redirect, threshold=0) == {"x/b": ("x/a", "exact")}
    assert folds(first, again, exact=False, threshold=0) == {}
    # An item equal to a folded one goes where that one went, though its content is not the representative's.
    assert folds(first, redirect, text("e", LONG, "Moldau"))["x/e"] == ("x/a", "near")


@pytest.mark.parametrize(("old", "new"), [
    ("nine places", "ten places"), ("Melnik", "Usti"), ("on every postcard", "not on every postcard"),
    ("nine places", "9 nine places"),
    ("Cesky Krumlov and Prague", "Prague and Cesky Krumlov")])
def test_another_name_number_or_negation_is_another_item(old: str, new: str) -> None:
    assert old in LONG and folds(text("a", LONG), text("b", LONG.replace(old, new))) == {}


def test_added_words_fold() -> None:
    more = LONG.replace("Smetana", "Bedrich Smetana")
    for a, b in ((LONG, more), (more, LONG)):
        assert folds(text("a", a), text("b", b)) == {"x/b": ("x/a", "near")}
    assert folds(text("a", LONG), text("b", more), threshold=0.99) == {}


def test_short_texts_fold_only_where_they_are_equal() -> None:
    assert folds(text("a", "It has two pages."), text("b", "It has two pages", ""),
                 text("c", "It has two pages.", "Other")) == {}
    assert folds(text("a", "It has two pages."), text("b", "It has two pages.")) == {"x/b": ("x/a", "exact")}


def test_tables_of_one_form_with_other_figures_do_not_fold() -> None:
    def table(name: str, year: int, title: str = "Balance sheet") -> Item:
        rows = tuple((line, str(year * n + n))
            for n, line in enumerate(("Cash and equivalents", "Trade receivables", "Inventories", "Prepaid costs",
                                                                         "Property", "Goodwill",
                                                                         "Other intangible assets", "Total assets")))
        return Item(f"x/{name}", "x", "table", title, header=("Item", "Amount in thousands of dollars"), rows=rows)

    one = table("a", 3)
    swapped = dataclasses.replace(one, id="x/s", rows=(one.rows[1], one.rows[0], *one.rows[2:]))
    assert folds(one, table("b", 4), table("c", 3, "Forecast of the balance sheet"), swapped,
                 table("d", 3)) == {"x/d": ("x/a", "exact")}
    reworded = dataclasses.replace(one, id="x/r", rows=tuple((a.upper(), f" {b} ") for a, b in one.rows))
    assert folds(one, reworded) == {"x/r": ("x/a", "near")}


def test_media_fold_by_their_file_alone_and_modalities_never_mix() -> None:
    def picture(name: str, sha: str, caption: str, modality: str = "image") -> Item:
        return Item(f"x/{name}", "x", modality, media_sha256=sha, caption=caption, duration=9.0 if modality == "video"
                    else 0.0)

    items = [picture("a", "1", LONG), picture("b", "1", LONG), picture("c", "1", ""), picture("d", "2", LONG),
             picture("e", "", LONG),
             picture("f", "", LONG), picture("g", "1", LONG, "video"), text("h", LONG)]
    assert folds(*items) == {"x/b": ("x/a", "exact"), "x/c": ("x/a", "near")}


def test_words_added_is_a_matter_of_order() -> None:
    assert adds_nothing_but_words(["a", "b"], ["a", "x", "b"])
    assert not adds_nothing_but_words(["b", "a"], ["a", "x", "b"])
    assert not adds_nothing_but_words(["a"], ["a", "1st"]) and not adds_nothing_but_words(["a"], ["never", "a"])


SENTENCES = ("The mill was built by the river in spring .", "Its wheel turned day and night for many years .",
             "Nobody in the town remembers who owned it .",
             "A school of music moved in after the war .", "Visitors come to hear the organ on Sundays .",
             "The roof burned down in 1912 .")


@st.composite
def corpora(draw: st.DrawFn) -> list[Item]:
    """Items out of a few sentences, so that many are equal, near or contained in one another."""
    made = []
    for n in range(draw(st.integers(0, 14))):
        words = " ".join(draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6)))
        if draw(st.booleans()):
            words = words.replace("the", draw(st.sampled_from(("the", "the old", "The", "a"))))
        made.append(text(str(n), words, draw(st.sampled_from(("", "Mill", "School")))))
    return made


@given(corpora(), corpora(), st.sampled_from((0.5, 0.9, 1.0)))
def test_folding_is_stable_and_star_wise(before: list[Item], added: list[Item], threshold: float) -> None:
    added = [dataclasses.replace(i, id=f"y/{n}", benchmark="y") for n, i in enumerate(added)]
    alone, joined = list(fold_items(before, threshold=threshold)), list(fold_items(before + added, threshold=threshold))
    # Adding changes nothing before it.
    assert joined[:len(alone)] == alone and all(f.item_id.startswith("y/") for f in joined[len(alone):])
    assert joined == list(fold_items(before + added, threshold=threshold))
    place = {i.id: n for n, i in enumerate(before + added)}
    items = {i.id: i for i in before + added}
    folded = {f.item_id for f in joined}
    assert len(folded) == len(joined)
    for f in joined:
        assert f.representative not in folded and place[f.representative] < place[f.item_id]
        assert threshold <= f.similarity <= 1
        assert (items[f.item_id].content_digest() == items[f.representative].content_digest()) == (f.kind == "exact")


def make(root: Path, **benchmarks: list[Item]) -> tuple[Config, Paths]:
    paths = Paths(root)
    for name, items in benchmarks.items():
        write_items(paths.output("benchmark", name) / "items.parquet", items)
    return Config.model_validate({"benchmarks": {b: {"adapter": "native", "path": b} for b in benchmarks}}), paths


def test_the_stage_keeps_representatives_and_near_duplicates_and_says_what_it_folded(tmp_path: Path) -> None:
    one = [text("b", LONG, "Vltava", "one"), text("a", "A short one.", "", "one")]
    two = [text("c", LONG, "Vltava", "two"), text("a", LONG, "Moldau", "two"), text("z", "Another.", "", "two")]
    config, paths = make(tmp_path, one=one, two=two, three=[])
    result = corpus.run(config, paths, NullTracker(), RuleValidator())
    folder = paths.output("corpus")
    assert pq.read_table(folder / "items.parquet")["id"].to_pylist() == ["one/a", "one/b", "two/z"]
    assert [i.id for i in Corpus.open(folder).encoded_items()] == ["one/a", "one/b", "two/z", "two/a"]
    folds = read_folds(folder)
    assert folds == Folds({"two/c": "one/b"}, {"two/a": "one/b"})
    assert [folds.exact_representative(i) for i in ("two/c", "two/a", "one/b")] == ["one/b", "two/a", "one/b"]
    assert [folds.representative(i) for i in ("two/c", "two/a", "two/z")] == ["one/b", "one/b", "two/z"]
    assert result.metrics == {"items": 3.0, "items_read": 5.0, "folded_exact": 1.0, "folded_near": 1.0,
                              "items_text": 3.0}
    assert result.tables["folded"] == [{"benchmark": "two", "into": "one", "exact": 1, "near": 1}]
    first = {p.name: p.read_bytes() for p in folder.iterdir()}
    corpus.run(config, paths, NullTracker(), RuleValidator())
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == first


def test_benchmarks_without_any_item_end_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the benchmarks \(one, two\) has an item.*wait for"):
        corpus.run(*make(tmp_path, one=[], two=[]), NullTracker(), RuleValidator())
    assert not (tmp_path / "data" / "corpus").exists()
