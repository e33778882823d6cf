"""What repeats is folded into the first that says it; later benchmarks change nothing before them."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.benchmarks.declaration import Benchmark, write_declaration
from canopy.benchmarks.registry import load_benchmark_adapter
from canopy.config import FOLDINGS, Config, Folding
from canopy.corpus.equality import as_read, figures
from canopy.corpus.folding import adds_nothing_but_words, fold_items
from canopy.corpus.folds import Folds, read_folds
from canopy.corpus.reader import Corpus
from canopy.errors import DataError
from canopy.items import Cue, Item, write_items
from canopy.paths import Paths
from canopy.stages import corpus
from canopy.stages.base import NullTracker
from canopy.validation.checker import RuleValidator

LONG = ("The Vltava rises in the Sumava mountains and flows north through Cesky Krumlov and Prague before it joins "
        "the Elbe at Melnik . Its "
        "valley has been dammed in nine places , which changed the course of the water and drowned the rapids that "
        "rafts had to pass . Smetana "
        "named a symphonic poem after it , and the old bridges that cross it are on every postcard of the capital .")


def text(name: str, words: str, title: str = "", benchmark: str = "x", section: str = "") -> Item:
    return Item(f"{benchmark}/{name}", benchmark, "text", title=title, section=section, text=words)


def folds(*items: Item, fold: Folding = "equal", **over: object) -> dict[str, tuple[str, str]]:
    foldings = {i.benchmark: fold for i in items}
    return {f.item_id: (f.representative, f.kind) for f in fold_items(items, foldings=foldings, **over)}


def test_what_reads_the_same_folds() -> None:
    first, again = text("a", "The tower’s height — 20 m — was “measured” in café B.\n", "Tower"), "Tower"
    same = (text("b", first.text, again),
            text("c", "The tower's  height - 20\u00a0m - was \"measured\"\nin cafe\u0301 B.", " Tower "),
            text("d", first.text.replace("measured", "meas\u00adured"), again))
    assert folds(first, *same) == {"x/b": ("x/a", "exact"), "x/c": ("x/a", "equal"), "x/d": ("x/a", "equal")}
    assert folds(first, *same, exact=False) == {}


@pytest.mark.parametrize(("old", "new"), [
    ("-20 degrees", "20 degrees"), ("€1,200", "$1,200"), ("€1,200", "£1,200"), ("€1,200", "1,200"),
    ("1,200", "1.200"), ("1,200", "1200"), ("1,200", "12,00"), ("C#", "C++"), ("C#", "C"), ("+5", "±5"), ("+5", "5"),
    ("+5", "-5"), ("3%", "3‰"), ("3%", "3"), ("90°C", "90°F"), ("90°C", "90 C"), ("10²", "102"), ("10²", "10³"),
    ("5 MW", "5 mW"), ("ask US", "ask us"), (".5 mg", "5 mg"), (".5 mg", ".5 µg"), ("6′", "6″"), ("(7)", "7"),
    ("CO₂", "CO2"), ("x < y", "x > y"), ("x < y", "x ≤ y"), ("3:2", "3;2"), ("½", "1/2"), ("nine", "ten"),
    ("to Brno", "from Brno"), ("may", "may not")])
@pytest.mark.parametrize("fold", FOLDINGS)
def test_what_differs_in_a_sign_a_digit_a_unit_or_a_word_stays_two(old: str, new: str, fold: Folding) -> None:
    words = ("Store type A at -20 degrees , pay €1,200 , join the C# group , allow +5 and 3% , boil at 90°C for 10² "
             "s , use 5 MW , ask US , give .5 mg , leave 6′ free , book (7) as CO₂ loss , check x < y and 3:2 , take ½ "
             "of nine parts to Brno , and you may go home after that .")
    assert old in words and folds(text("a", words), text("b", words.replace(old, new)), fold=fold) == (
        {"x/b": ("x/a", "near")} if fold != "equal" and (old, new) == ("(7)", "7") else {})


@pytest.mark.parametrize("fold", ["equal", "near"])
def test_another_title_or_heading_is_another_item(fold: Folding) -> None:
    brno = text("a", LONG, "Offices", section="Brno office")
    others = (text("b", LONG, "Offices", section="Leith office"), text("c", LONG, "Opening", section="Brno office"),
              text("d", LONG, section="Brno office"), text("e", LONG, "Offices"))
    assert folds(brno, *others, fold=fold) == {}
    assert folds(brno, text("f", LONG, "Offices", section="Brno office"), fold=fold) == {"x/f": ("x/a", "exact")}


def test_near_duplicates_are_for_benchmarks_that_ask() -> None:
    first, spaced = text("a", LONG, "Vltava"), text("c", LONG.replace(" .", ".").replace(" ,", ","), "Vltava")
    more, redirect = text("m", LONG.replace("Smetana", "Bedrich Smetana"), "Vltava"), text("d", LONG, "Moldau")
    items = first, spaced, more, redirect
    assert folds(*items) == {}
    assert folds(*items, fold="near") == {"x/c": ("x/a", "near"), "x/m": ("x/a", "near")}
    assert folds(*items, fold="redirects") == {i: ("x/a", "near") for i in ("x/c", "x/m", "x/d")}
    assert folds(*items, fold="redirects", threshold=0) == {}
    # Both benchmarks must ask, and the lesser of the two counts.
    other = [dataclasses.replace(i, id=f"y/{i.id[2:]}", benchmark="y") for i in items]
    for theirs, expected in (("equal", {}), ("near", {"y/c": "x/a", "y/m": "x/a"})):
        joined = fold_items([first, *other[1:]], foldings={"x": "redirects", "y": theirs})
        assert {f.item_id: f.representative for f in joined} == expected


def test_an_item_equal_to_a_folded_one_goes_where_that_one_went_if_its_benchmark_asks() -> None:
    first, redirect = text("a", LONG, "Vltava"), text("d", LONG, "Moldau")
    assert folds(first, redirect, text("e", LONG, "Moldau"), fold="redirects") == {
        "x/d": ("x/a", "near"), "x/e": ("x/a", "near")}
    own = text("e", LONG, "Moldau", "own")
    assert [f.item_id for f in fold_items([first, redirect, own], foldings={"x": "redirects"})] == ["x/d"]


@pytest.mark.parametrize(("old", "new"), [
    ("nine places", "ten places"), ("Melnik", "Usti"), ("on every postcard", "not on every postcard"),
    ("nine places", "9 nine places"), ("old bridges", "seven old bridges"), ("in 1912", "in about 1912"),
    ("1912", "1912 million"), ("Cesky Krumlov and Prague", "Prague and Cesky Krumlov")])
def test_near_duplicates_never_differ_in_a_name_a_number_or_a_negation(old: str, new: str) -> None:
    words = LONG + " The last raft came in 1912 and nobody has seen another one since then ."
    assert old in words and folds(text("a", words), text("b", words.replace(old, new)), fold="redirects") == {}


def test_added_words_fold_both_ways_and_only_under_one_title() -> None:
    more = LONG.replace("Smetana", "Bedrich Smetana")
    for a, b in ((LONG, more), (more, LONG)):
        assert folds(text("a", a), text("b", b), fold="near") == {"x/b": ("x/a", "near")}
        assert folds(text("a", a, "Vltava"), text("b", b, "Moldau"), fold="redirects") == {}
    assert folds(text("a", LONG), text("b", more), fold="near", threshold=0.99) == {}


def test_short_texts_fold_only_where_they_are_equal() -> None:
    assert folds(text("a", "It has two pages."), text("b", "It has two pages", ""),
                 text("c", "It has two pages.", "Other"), fold="redirects") == {}
    assert folds(text("a", "It has two pages."), text("b", "It has two pages.")) == {"x/b": ("x/a", "exact")}


def test_tables_fold_cell_by_cell() -> None:
    def table(name: str, year: int, title: str = "Balance sheet") -> Item:
        lines = ("Cash and equivalents", "Trade receivables", "Inventories", "Prepaid costs", "Property", "Goodwill",
                 "Other intangible assets", "Total assets")
        rows = tuple((line, str(year * n + n)) for n, line in enumerate(lines))
        return Item(f"x/{name}", "x", "table", title, header=("Item", "Amount in thousands of dollars"), rows=rows)

    one = table("a", 3)
    def other(name: str, **fields: object) -> Item:
        return dataclasses.replace(one, id=f"x/{name}", **fields)

    different = (
        table("b", 4), table("c", 3, "Forecast of the balance sheet"), other("s", rows=(one.rows[1], one.rows[0],
                                                                                        *one.rows[2:])),
        other("h", header=one.header[::-1]), other("e", header=("Item", "Amount in thousands of euros")),
        other("n", rows=tuple((a, f"-{b}") for a, b in one.rows)), other("p", caption="Audited"),
        other("r", rows=tuple((b, a) for a, b in one.rows)), other("t", section="2023"),
        other("q", rows=(*one.rows[:-1], ("Total", "assets 32"))), other("l", rows=(*one.rows, ("Total", "1"))),
        other("o", rows=tuple((a, f"({b})") for a, b in one.rows)))
    assert folds(one, *different) == {} and folds(one, *different, fold="redirects") == {}
    assert folds(one, table("d", 3)) == {"x/d": ("x/a", "exact")}
    reworded = other("r", rows=tuple((f" {a}.", f" {b} ") for a, b in one.rows))
    assert folds(one, reworded) == {} and folds(one, reworded, fold="near") == {"x/r": ("x/a", "near")}


def test_media_fold_by_file_title_and_caption_and_modalities_never_mix() -> None:
    def picture(name: str, sha: str, caption: str, modality: str = "image", **fields: object) -> Item:
        return Item(f"x/{name}", "x", modality, media_sha256=sha, caption=caption,
                    duration=9.0 if modality == "video" else 0.0, **fields)

    items = [picture("a", "1", LONG), picture("b", "1", LONG), picture("c", "1", ""), picture("d", "2", LONG),
             picture("e", "", LONG), picture("f", "", LONG), picture("g", "1", LONG, "video"),
             picture("h", "1", LONG, "video", cues=(Cue(0, 1, "-20"),)),
             picture("i", "1", LONG, "video", cues=(Cue(0, 1, "20"),)), picture("j", "1", LONG, section="Brno"),
             picture("k", "1", f" {LONG}"), text("l", LONG)]
    for fold in FOLDINGS:
        assert folds(*items, fold=fold) == {"x/b": ("x/a", "exact"), "x/k": ("x/a", "equal")}


def test_words_added_is_a_matter_of_order() -> None:
    assert adds_nothing_but_words(["a", "b"], ["a", "x", "b"])
    assert not adds_nothing_but_words(["b", "a"], ["a", "x", "b"])
    for more in ("1st", "never", "Seven", "million", "½"):
        assert not adds_nothing_but_words(["a"], [more, "a"])


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
    both = {"threshold": threshold, "foldings": {"x": "near", "y": "redirects"}}
    alone, joined = list(fold_items(before, **both)), list(fold_items(before + added, **both))
    # Adding changes nothing before it.
    assert joined[:len(alone)] == alone and all(f.item_id.startswith("y/") for f in joined[len(alone):])
    assert joined == list(fold_items(before + added, **both))
    place = {i.id: n for n, i in enumerate(before + added)}
    items = {i.id: i for i in before + added}
    folded = {f.item_id for f in joined}
    assert len(folded) == len(joined)
    for f in joined:
        assert f.representative not in folded and place[f.representative] < place[f.item_id]
        assert threshold <= f.similarity <= 1
        assert (items[f.item_id].content_digest() == items[f.representative].content_digest()) == (f.kind == "exact")
        if f.kind != "near":
            assert as_read(items[f.item_id].title) == as_read(items[f.representative].title)


PIECES = ("-20", "20", "−20", "+20", "20.5", "205", "$20", "€20", "C#", "C++", "C", "US", "us", "mW", "MW", "10²",
          "102", "%", "a tower", "“a tower”", '"a tower"', "–", "-", "café", "cafe\u0301", "not")


@given(st.lists(st.tuples(st.sampled_from(("", "Brno", "Leith")), st.lists(st.sampled_from(PIECES), max_size=3),
                          st.sampled_from((" ", "\u00a0", "\n", "  "))), max_size=12), st.randoms())
def test_folding_of_own_documents_is_an_equivalence_whatever_the_order(
        parts: list[tuple[str, list[str], str]], shuffle: random.Random) -> None:
    items = [text(str(n), gap.join(words), section=section) for n, (section, words, gap) in enumerate(parts)]

    def groups(order: list[Item]) -> set[frozenset[str]]:
        members = {i.id: {i.id} for i in order}
        for f in fold_items(order):
            members[f.representative] |= members.pop(f.item_id)
        return {frozenset(m) for m in members.values()}

    partition = groups(items)
    assert groups(shuffle.sample(items, len(items))) == partition
    by_reading: dict[tuple[str, str], set[str]] = {}
    for i in items:
        by_reading.setdefault((i.section, as_read(i.text)), set()).add(i.id)
    assert partition == {frozenset(m) for m in by_reading.values()}
    of = {i.id: i for i in items}
    for group in partition:
        assert len({"".join(c for c in of[i].text if c.isnumeric() or c in "+$€#%") for i in group}) == 1


@given(corpora(), st.integers(0, 4), st.sampled_from(PIECES))
def test_no_fold_of_any_kind_differs_in_figures(items: list[Item], place: int, piece: str) -> None:
    words = [i.text.split() for i in items]
    changed = [dataclasses.replace(i, id=f"y/{n}", text=" ".join((*w[:place], piece, *w[place:])))
               for n, (i, w) in enumerate(zip(items, words, strict=True))]
    of = {i.id: i for i in (*items, *changed)}
    for f in fold_items(of.values(), foldings={"x": "redirects"}, threshold=0.5):
        assert figures(of[f.item_id].text) == figures(of[f.representative].text)


def make(root: Path, **benchmarks: list[Item]) -> tuple[Config, Paths]:
    paths = Paths(root)
    for name, items in benchmarks.items():
        write_items(paths.output("benchmark", name) / "items.parquet", items)
    return Config.model_validate({"benchmarks": {b: {"adapter": "native", "path": b} for b in benchmarks}}), paths


def test_the_stage_keeps_representatives_and_near_duplicates_and_says_what_it_folded(tmp_path: Path) -> None:
    one = [text("b", LONG, "Vltava", "one"), text("a", "A short one.", "", "one")]
    two = [text("c", LONG, "Vltava", "two"), text("a", LONG, "Moldau", "two"), text("z", "Another.", "", "two")]
    config, paths = make(tmp_path, one=one, two=two, three=[])
    for name in ("one", "two"):
        write_declaration(paths.output("benchmark", name), Benchmark("Rivers", fold="redirects"))
    result = corpus.run(config, paths, NullTracker(), RuleValidator())
    folder = paths.output("corpus")
    assert pq.read_table(folder / "items.parquet")["id"].to_pylist() == ["one/a", "one/b", "two/z"]
    assert [i.id for i in Corpus.open(folder).encoded_items()] == ["one/a", "one/b", "two/z", "two/a"]
    folds = read_folds(folder)
    assert folds == Folds({"two/c": "one/b"}, {"two/a": "one/b"})
    assert [folds.exact_representative(i) for i in ("two/c", "two/a", "one/b")] == ["one/b", "two/a", "one/b"]
    assert [folds.representative(i) for i in ("two/c", "two/a", "two/z")] == ["one/b", "one/b", "two/z"]
    assert result.metrics == {"items": 3.0, "items_read": 5.0, "folded_exact": 1.0, "folded_equal": 0.0,
                              "folded_near": 1.0, "items_text": 3.0}
    assert result.tables["folded"] == [{"benchmark": "two", "into": "one", "exact": 1, "equal": 0, "near": 1}]
    first = {p.name: p.read_bytes() for p in folder.iterdir()}
    corpus.run(config, paths, NullTracker(), RuleValidator())
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == first


def test_a_benchmark_folds_as_its_adapter_declares_unless_params_say_otherwise(tmp_path: Path) -> None:
    config, paths = make(tmp_path, one=[text("a", LONG, "Vltava", "one"), text("b", LONG, "Moldau", "one")])

    def near(fold: str | None) -> float:
        entry = {"adapter": "native", "path": "one", **({"fold": fold} if fold else {})}
        own = Config.model_validate({**config.model_dump(), "benchmarks": {"one": entry}})
        return corpus.run(own, paths, NullTracker(), RuleValidator()).metrics["folded_near"]

    assert [near(f) for f in (None, "redirects", "near")] == [0, 1, 0]
    write_declaration(paths.output("benchmark", "one"), load_benchmark_adapter("hotpotqa").BENCHMARK)
    assert [near(f) for f in (None, "equal")] == [1, 0]
    assert {load_benchmark_adapter(name).BENCHMARK.fold for name in ("native", "starter", "tat_qa")} == {"equal"}


def test_benchmarks_without_any_item_end_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none of the benchmarks \(one, two\) has an item.*wait for"):
        corpus.run(*make(tmp_path, one=[], two=[]), NullTracker(), RuleValidator())
    assert not (tmp_path / "data" / "corpus").exists()
