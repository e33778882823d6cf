"""The split over all benchmarks: no gold text on both sides, moves only where a leak forces them, any order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.digests import text_sha256
from canopy.gold.joint import BenchmarkGold, JointSplit, join_splits
from canopy.gold.sharing import Member, find_groups
from canopy.gold.texts import GoldText, gold_texts
from canopy.items import Item, Question

WORDS = ("granite", "harbour", "lantern", "meadow", "needle", "orchard", "pepper", "quarry", "ribbon", "saddle",
         "timber", "velvet", "walnut", "yonder")


def passage(n: int) -> str:
    """A text of its own for each number: no two are alike."""
    return " ".join(f"{WORDS[(n * 7 + k * k) % len(WORDS)]} of town {n} number {k}" for k in range(4))


def gold(name: str, pairs: list[tuple[int, int]], official: dict[str, str] | None = None) -> BenchmarkGold:
    """Question n of a benchmark has the passages it is paired with as gold; a passage is an item of the benchmark."""
    asked = sorted({q for q, _ in pairs})
    passages = sorted({i for _, i in pairs})
    return BenchmarkGold(
        [Question(f"{name}/q{q}", name, f"What does {name} say of matter {q}?") for q in asked],
        [(f"{name}/q{q}", f"{name}/i{i}") for q, i in pairs],
        [GoldText(f"{name}/i{i}", "text", False, passage(i)) for i in passages], official)


def join(benchmarks: dict[str, BenchmarkGold], fitted: frozenset[str] = frozenset(), share: float = 0.4) -> JointSplit:
    return join_splits(benchmarks, test_share=share, seed=13, threshold=0.9, fitted=fitted)


def sides(split: JointSplit) -> dict[str, str]:
    return {p.question_id: p.split for placements in split.placements.values() for p in placements}


PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 25)), min_size=1, max_size=16, unique=True)
WORLDS = st.dictionaries(st.sampled_from(("amber", "basalt", "coral", "dune")), PAIRS, min_size=1, max_size=4)


def split_world(world: dict[str, list[tuple[int, int]]], share: float = 0.4) -> JointSplit:
    return join({name: gold(name, pairs) for name, pairs in world.items()}, share=share)


def hang_together(world: dict[str, list[tuple[int, int]]], question: str) -> set[str]:
    """The questions that share passages with one, or with those that do, and so on."""
    of = {f"{b}/q{q}": {i for r, i in pairs if r == q} for b, pairs in world.items() for q, _ in pairs}
    component, passages = {question}, set(of[question])
    while more := {q for q, own in of.items() if q not in component and own & passages}:
        component |= more
        passages |= {i for q in more for i in of[q]}
    return component


@settings(max_examples=60, deadline=None)
@given(WORLDS, st.sampled_from((0.2, 0.4, 0.7)))
def test_no_passage_is_on_both_sides_and_the_order_does_not_matter(world, share) -> None:
    split = split_world(world, share)
    side = sides(split)
    by_passage: dict[int, set[str]] = {}
    for name, pairs in world.items():
        for q, i in pairs:
            by_passage.setdefault(i, set()).add(side[f"{name}/q{q}"])
    assert all(len(s) == 1 for s in by_passage.values())
    backwards = split_world(dict(reversed(world.items())), share)
    assert (backwards.placements, backwards.groups) == (split.placements, split.groups)


@settings(max_examples=60, deadline=None)
@given(WORLDS, PAIRS)
def test_a_benchmark_more_moves_a_question_only_where_it_joins_it_to_one_of_the_other_side(world, more) -> None:
    before, after = split_world(world), split_world({**world, "extra": more})
    old, added = sides(before), {p.question_id: p for p in after.placements["extra"]}
    for name, placements in after.placements.items():
        for p in placements if name != "extra" else ():
            assert p.alone == next(x.alone for x in before.placements[name] if x.question_id == p.question_id)
            if p.split != old[p.question_id]:
                # The new benchmark joins it, directly or as a bridge, to a question that had or has another side.
                component = hang_together({**world, "extra": more}, p.question_id)
                assert any(q in added for q in component)
                assert any((added[q].alone if q in added else old[q]) != old[p.question_id] for q in component)
            if not p.others:
                assert p.split == p.alone and not p.through


@settings(max_examples=40, deadline=None)
@given(WORLDS, st.integers(0, 12))
def test_what_was_fitted_on_stays_in_train_with_all_that_hangs_together(world, n) -> None:
    name = min(world)
    text = f"What does {name} say of matter {n}?"
    split = join({b: gold(b, pairs) for b, pairs in world.items()}, frozenset({text_sha256(text)}))
    assert sides(split).get(f"{name}/q{n}", "train") == "train"
    for placements in split.placements.values():
        assert all(p.split == "train" for p in placements if p.fitted)


def test_most_questions_win_and_what_moved_names_why() -> None:
    lone = {name: gold(name, [(n, n) for n in range(10)]) for name in ("amber", "basalt")}
    alone = {p.question_id: p.alone for ps in join(lone).placements.values() for p in ps}
    assert Counter(alone.values()) == {"train": 12, "test": 8}
    split = join(lone)
    assert len(split.groups) == 10 and sides(split).keys() == alone.keys()
    moved = [p for ps in split.placements.values() for p in ps if p.split != p.alone]
    assert moved
    for p in moved:
        name, _, question = p.question_id.partition("/")
        other = "basalt" if name == "amber" else "amber"
        assert p.others == (other,)
        assert [m.id for m in p.through] == [f"{name}/i{question[1:]}", f"{other}/i{question[1:]}"]


@pytest.mark.parametrize("majority", ["train", "test"])
def test_a_component_goes_where_most_of_its_questions_were(majority: str) -> None:
    size = 40
    big = gold("big", [(n, n) for n in range(size)])
    alone = {p.question_id: p.split for p in join({"big": big}).placements["big"]}
    chosen = [n for n in range(size) if alone[f"big/q{n}"] == majority][:3]
    other = next(n for n in range(size) if alone[f"big/q{n}"] != majority)
    bridge = BenchmarkGold([Question("b/q", "b", "Which?")], [("b/q", f"b/i{n}") for n in (*chosen, other)],
                           [GoldText(f"b/i{n}", "text", False, passage(n)) for n in (*chosen, other)])
    split = join({"big": big, "b": bridge})
    assert {p.question_id: (p.alone, p.split) for p in split.placements["big"] if p.split != p.alone} == {
        f"big/q{other}": (alone[f"big/q{other}"], majority)}


def test_an_official_split_stays_and_the_others_follow() -> None:
    official = gold("set", [(0, 0), (1, 1)], {"set/q0": "train", "set/q1": "test"})
    free = gold("free", [(0, 0), (1, 1), (2, 2)])
    side = sides(join({"set": official, "free": free}))
    assert (side["set/q0"], side["set/q1"], side["free/q0"], side["free/q1"]) == ("train", "test", "train", "test")
    # What an official split has on both sides it keeps there: the stage's check names it.
    leak = sides(join({"set": gold("set", [(0, 0), (1, 0)], {"set/q0": "train", "set/q1": "test"}), "free": free}))
    assert (leak["set/q0"], leak["set/q1"], leak["free/q0"]) == ("train", "test", "train")


def test_one_giant_component_is_in_train() -> None:
    star = {name: gold(name, [(n, n) for n in range(12)]) for name in ("amber", "basalt")}
    star["hub"] = gold("hub", [(0, n) for n in range(12)])
    assert set(sides(join(star)).values()) == {"train"}


def test_passages_that_are_cut_differently_or_written_differently_share_a_group() -> None:
    story = [f"Sentence {n} tells what the {w} does in the {v} at dawn." for n, (w, v) in
             enumerate(zip(WORDS, reversed(WORDS), strict=True))]
    whole = Item("a/whole", "a", "text", text=" ".join(story[:4]))
    inside = Item("b/inside", "b", "text", text=" ".join(story[1:3]).upper().replace(".", " ."))
    window = Item("c/window", "c", "text", text=" ".join(story[3:6]))
    apart = Item("d/apart", "d", "text", text=" ".join(story[6:9]))
    table = Item("e/table", "e", "table", header=("story",), rows=tuple((s,) for s in story[:4]))
    items = {i.id: i for i in (whole, inside, window, apart, table)}

    def row(item: str, *fragments: int, count: int) -> dict[str, object]:
        return {"item_id": item, "fragments": list(fragments), "count": count}

    rows = [row("a/whole", 0, 3, count=4), row("b/inside", 0, count=2), row("c/window", 2, count=3),
            row("d/apart", 0, count=3), row("e/table", 0, count=4)]
    texts = {i.benchmark: gold_texts([r], items, 30.0) for r in rows for i in (items[str(r["item_id"])],)}
    # The gold of `whole` and `window` is one sentence that both hold, but each passage as a whole holds others.
    assert [t.text for t in texts["a"] if t.part] == [f"{story[0]} ", story[3]]
    groups = find_groups({}, texts, 0.9)
    assert groups == [[Member("item", "a", "a/whole"), Member("item", "b", "b/inside"),
                       Member("item", "c", "c/window")]]
    assert find_groups({}, texts, 0.0) == []


def test_rows_that_repeat_the_header_say_nothing_and_other_rows_join_tables() -> None:
    years = ("Years ended", "December 31, 2019", "December 31, 2018", "December 31, 2017")
    figures = ("Net income", "$ 53,330", "$ 21,524", "$ 29,251")
    items = {i.id: i for i in (
        Item("a/income", "a", "table", header=years, rows=(years, figures, ("Interest", "12", "11", "10"))),
        Item("b/cash", "b", "table", header=("", "2019", "2018"), rows=(("Cash", "1", "2"), years, ("Debt", "3", "4"))),
        Item("c/summary", "c", "table", header=("", "Year", "2018"), rows=(figures, ("Taxes", "5", "6", "7"))))}

    def groups(row: int) -> list[list[str]]:
        gold = [{"item_id": "a/income", "fragments": [row], "count": 3}, {"item_id": "b/cash", "fragments": [0],
                "count": 3}, {"item_id": "c/summary", "fragments": [1], "count": 2}]
        texts = {str(r["item_id"])[0]: gold_texts([r], items, 30.0) for r in gold}
        return [[m.id for m in g] for g in find_groups({}, texts, 0.9)]

    assert groups(0) == [] and groups(1) == [["a/income", "c/summary"]]


def test_short_texts_join_only_copies_and_media_join_by_their_digest() -> None:
    items = {i.id: i for i in (
        Item("a/1", "a", "text", text="The old mill."), Item("b/1", "b", "text", text="the old  mill"),
        Item("b/2", "b", "text", text="The old mill. It was sold to the town in spring and stands to this day."),
        Item("a/p", "a", "image", media_sha256="aa"), Item("b/p", "b", "image", media_sha256="aa"),
        Item("b/t", "b", "table", rows=(("the old mill",),)))}
    texts: dict[str, list[GoldText]] = {}
    for i in items.values():
        texts.setdefault(i.benchmark, []).extend(gold_texts([{"item_id": i.id, "fragments": [0], "count": 1}], items,
                                                            30.0))
    groups = find_groups({"a": [Question("a/q", "a", "Who sold it?")], "b": [Question("b/q", "b", "who sold it")]},
                         texts, 0.9)
    assert [[m.id for m in g] for g in groups] == [["a/1", "b/1"], ["a/p", "b/p"], ["a/q", "b/q"]]
