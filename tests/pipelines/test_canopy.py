"""CANOPY's loop: what each round does, who is asked how often, and what every option changes."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.config import Answers, Options
from canopy.items import Evidence, Item
from canopy.llm.roles import RegionView, Trace
from canopy.pipelines.base import Result, Round, all_systems
from canopy.pipelines.canopy import SYSTEMS, Canopy, is_stated, new_words
from canopy.pipelines.compression import keep_whole, score_items
from canopy.pipelines.evidence import choose_newest, order_regions, share_frames, show_regions
from canopy.pipelines.tools import Library, Tools
from canopy.selection.rule import select_global_leaves
from tests import tiny_tools
from tests.tiny_tools import ENOUGH, Bench, Corpus, more, question

corpus = tiny_tools.corpus

DAM = "When was the Aswan High Dam on the Nile finished?"
NEON = "What is the boiling point of neon?"


def ask(bench: Bench, words: str = DAM, *, k: int = 3, rounds: int = 3, trace: Trace | None = None,
        system: dict[str, Any] | None = None, **options: Any) -> Result:
    return Canopy(k, rounds, Options(**options), **(system or {})).answer(question(words), bench.tools, trace
                                                                          if trace is not None else Trace())


def regions(result: Result) -> list[tuple[str, int, int]]:
    return [(e.item_id, e.lo, e.hi) for r in result.rounds for e in r.kept]


def test_rounds_search_what_the_critic_asks_for_and_skip_what_is_in_evidence(corpus: Corpus) -> None:
    bench, trace = corpus.bench(more("rivers in Africa", "which river"), more(DAM)), Trace()
    result = ask(bench, trace=trace)
    assert [r.query for r in result.rounds] == [DAM, "rivers in Africa", DAM]
    assert all(len(r.retrieved) == 3 for r in result.rounds) and result.rounds[0].new == result.rounds[0].retrieved
    assert (
        result.rounds[2].new == ()
        and result.rounds[2].kept == ()
        and result.rounds[2].retrieved == result.rounds[0].retrieved
    )
    new = [i for r in result.rounds for i in r.new]
    assert len(set(new)) == len(new) and {e.item_id for r in result.rounds for e in r.kept} == set(new)
    assert all([i for i, _ in itertools.groupby(e.item_id for e in r.kept)] == list(r.new) for r in result.rounds)
    # The critic reads the original question and all evidence so far; it is not asked after the last round.
    assert [(q, len(regions)) for q, regions in bench.critic.saw] == [(DAM, len(result.rounds[0].kept)),
                                                                  (DAM, len(result.evidence))]
    assert [trace.count(r) for r in ("critic", "reader", "classifier", "router")] == [2, 1, 0, 0]
    assert bench.reader.saw == [tuple(result.views)] and result.answer == "an answer" and not result.cap_cut


def test_each_round_is_refined_with_its_own_query(corpus: Corpus) -> None:
    result = ask(corpus.bench(more(NEON)))
    for r in result.rounds:
        vector = corpus.searcher.vector(r.query)
        for e in r.kept:
            tree, scores = corpus.scorers["f_theta"].tree(e.item_id), corpus.scorers["f_theta"].scores([e.item_id],
                                                                                                       vector)[0]
            at = np.flatnonzero((tree.lo == e.lo) & (tree.hi == e.hi))
            assert e.score in scores[at] and e.span == corpus.library.leaves(e.item_id).span(e.lo, e.hi)


def test_enough_evidence_ends_the_loop(corpus: Corpus) -> None:
    bench = corpus.bench(ENOUGH)
    assert len(ask(bench).rounds) == 1 and len(bench.critic.saw) == 1
    never = corpus.bench(more("x"))
    assert len(ask(never, rounds=1).rounds) == 1 and never.critic.saw == []
    silent = corpus.bench(more(""))  # a critic without a query: the question is asked again
    assert [r.query for r in ask(silent).rounds] == [DAM, DAM]


def test_the_classifier_is_asked_once_and_only_when_a_table_turns_up(corpus: Corpus) -> None:
    texts = corpus.bench(more("the red planet"), more("a Polish physicist"))
    ask(texts, k=1)
    assert texts.classifier.asked == []
    tables = corpus.bench(more("areas of the Great Lakes"), more("symbol of krypton"))
    result = ask(tables, NEON, k=1)
    assert [r.new for r in result.rounds] == [("tiny/elements",), ("tiny/lakes",),
                                             ()] and tables.classifier.asked == [NEON]


@pytest.mark.parametrize("aggregate", [True, False])
def test_tables_stay_whole_for_aggregate_questions_alone(corpus: Corpus, aggregate: bool) -> None:
    result = ask(corpus.bench(aggregate=aggregate), NEON, k=9)
    kept = {i: [e for e in result.rounds[0].kept if e.item_id == i] for i in result.rounds[0].new}
    tables = [len(kept[i]) == 1 and kept[i][0].hi - kept[i][0].lo == corpus.library.leaves(i).count
              for i in ("tiny/elements", "tiny/lakes")]
    assert all(tables) if aggregate else not tables[0]
    hits = dict(corpus.searcher.search(NEON, 9, Trace()))
    # a whole item has its retrieval's score
    assert not aggregate or kept["tiny/elements"][0].score == hits["tiny/elements"]
    assert any(e.hi - e.lo < corpus.library.leaves("tiny/nile").count for e in kept["tiny/nile"])


def test_given_items_are_one_round(corpus: Corpus) -> None:
    gold = [("tiny/q", (("tiny/mars", (0,)), ("tiny/elements", (1,))))]
    bench = corpus.bench(more("x"), corpus_scope="gold", gold=gold)
    result = ask(bench)
    assert (
        [r.new for r in result.rounds] == [("tiny/mars", "tiny/elements")]
        and bench.critic.saw == []
        and len(bench.classifier.asked) == 1
    )
    assert ask(corpus.bench(corpus_scope="gold")).evidence == []


def test_the_cap_keeps_the_newest(corpus: Corpus) -> None:
    full = ask(corpus.bench(more(NEON)), system={"projection": False})
    first, second = (sum(e.tokens for e in full.evidence if e.item_id in r.new) for r in full.rounds)
    assert full.tokens == first + second > 100 > second and not full.cap_cut
    cut = ask(corpus.bench(more(NEON), evidence_tokens=100), system={"projection": False})
    assert (
        cut.cap_cut
        and cut.tokens <= 100
        and cut.tokens == sum(e.tokens for e in cut.evidence) == sum(len(s.words().split()) for s in cut.views)
    )
    assert set(cut.rounds[1].new) <= {e.item_id for e in cut.evidence} and cut.rounds == full.rounds
    # in the order they were retrieved
    assert [e.item_id for e in cut.evidence] == [e.item_id for e in full.evidence if e in cut.evidence]


@given(st.lists(st.lists(st.integers(0, 60), max_size=5), max_size=4), st.integers(0, 120))
def test_newest_first_under_any_cap(rounds: list[list[int]], cap: int) -> None:
    kept, cut = choose_newest(rounds, cap)
    used = sum(t for r, k in zip(rounds, kept, strict=True) for t, keep in zip(r, k, strict=True) if keep)
    assert used <= cap and cut == (not all(all(k) for k in kept))
    # In the order newest round first, best first: what fits alone is kept up to the first that does not fit beside the
    # others, and nothing after it.
    order = [(t, k) for r, ks in zip(reversed(rounds), reversed(kept), strict=True) for t, k in zip(r, ks, strict=True)
             if t <= cap]
    flags = [k for _, k in order]
    assert flags == sorted(flags, reverse=True)
    if False in flags:
        assert used + order[flags.index(False)][0] > cap


def test_one_region_longer_than_the_cap_does_not_cost_the_others() -> None:
    assert choose_newest([[5, 6], [200, 7]], 100) == ([[True, True], [False, True]], True)
    assert choose_newest([[60], [50, 60, 1]], 100) == ([[False], [True, False, False]], True)


def test_order_of_the_evidence(corpus: Corpus) -> None:
    plain, by_score, best_last = (ask(corpus.bench(more(NEON)), order=o) for o in ("retrieval", "score", "best_last"))
    assert [(e.item_id, e.lo) for e in plain.evidence] == [(i, lo) for i, lo, _ in regions(plain)]
    scores = [e.score for e in by_score.evidence]
    assert scores == sorted(scores, reverse=True) and [e.score for e in best_last.evidence] == sorted(scores)
    assert {(e.item_id, e.lo) for e in plain.evidence} == {(e.item_id, e.lo) for e in by_score.evidence}
    assert [s.score for s in by_score.views] == scores
    same = [(Evidence(str(n), 0, 1, 0.5, 0), None) for n in range(4)]
    assert order_regions(same, "score") == same == order_regions(same, "best_last")  # type: ignore[arg-type,comparison-overlap]


def test_leaving_out_what_is_seen_still_gives_k(corpus: Corpus) -> None:
    again = ask(corpus.bench(more(DAM), more(DAM)), exclude_seen=True)
    retrieved = [i for r in again.rounds for i in r.retrieved]
    assert len(retrieved) == len(set(retrieved)) == 9 and all(r.new == r.retrieved for r in again.rounds)
    assert len([i for r in ask(corpus.bench(more(DAM), more(DAM))).rounds for i in r.new]) == 3


def test_little_that_is_new_stops_the_loop(corpus: Corpus) -> None:
    bench = corpus.bench(more(DAM), more("Mars"))
    result = ask(bench, min_gain=0.2)
    assert len(result.rounds) == 2 and len(bench.critic.saw) == 1 and result.notes == {"stopped: little new": 1}
    going = corpus.bench(more("the red planet Mars"), more("x"))
    assert len(ask(going, min_gain=0.2).rounds) == 3 and new_words(ask(going, rounds=1).rounds, going.tools) == 1.0


def test_a_small_margin_keeps_items_whole(corpus: Corpus) -> None:
    usual, whole = ask(corpus.bench()), ask(corpus.bench(), keep_margin=2.0)
    assert regions(ask(corpus.bench(), keep_margin=0.0)) == regions(usual) and any(e.depth for e in usual.evidence)
    assert all(e.depth == 0 and e.hi - e.lo == corpus.library.leaves(e.item_id).count for e in whole.evidence)
    some = ask(corpus.bench(), keep_margin=0.02, k=9)
    for item in some.rounds[0].new:
        tree, scores = (
            corpus.scorers["f_theta"].tree(item),
            corpus.scorers["f_theta"].scores([item], corpus.searcher.vector(DAM))[0],
        )
        kept = [e for e in some.evidence if e.item_id == item]
        assert (
            [e.depth for e in kept] == [0]
            or max(e.score for e in kept) >= scores[0] + np.float32(0.02)
            or len(tree) == 1
        )


def test_aggregate_questions_keep_texts_and_videos_whole_where_asked_to(corpus: Corpus) -> None:
    bench = corpus.bench(aggregate=True)
    result = ask(bench, k=9, aggregate_all=True)
    assert len(bench.classifier.asked) == 1 and all(e.depth == 0 for e in result.evidence) and len(result.evidence) == 9
    texts = corpus.bench(aggregate=True)
    assert any(e.depth for e in ask(texts, k=2).evidence) and texts.classifier.asked == []


def test_flat_candidates_are_leaves_that_beat_their_parent(corpus: Corpus) -> None:
    result = ask(corpus.bench(), k=9, flat_global=True)
    usual = ask(corpus.bench(), k=9)
    for item in result.rounds[0].new:
        tree, scores = (
            corpus.scorers["f_theta"].tree(item),
            corpus.scorers["f_theta"].scores([item], corpus.searcher.vector(DAM))[0],
        )
        leaves = [n for n in range(len(tree)) if tree.hi[n] - tree.lo[n] == 1]
        spans = [(int(tree.lo[n]), int(tree.hi[n])) for n in leaves if tree.parent[n] < 0
                  or scores[n] >= scores[tree.parent[n]]] or [(0, int(tree.hi[0]))]
        assert sorted((e.lo, e.hi) for e in result.evidence if e.item_id == item) == sorted(spans)
    assert regions(result) != regions(usual)


def test_an_item_without_a_good_leaf_stays_whole(corpus: Corpus) -> None:
    bench = corpus.bench()
    scored = score_items(["tiny/nile", "tiny/mars"], DAM, bench.tools, Trace())
    falling = -scored.layout.forest.depth.astype(np.float32)  # every child scores below its parent
    assert np.flatnonzero(select_global_leaves(scored.layout, falling)).tolist() == scored.layout.nodes[:-1].tolist()


def test_looking_ahead_finds_a_leaf_below_a_weak_level(corpus: Corpus) -> None:
    class Shaped:
        """Scores of a tree of eight leaves: both children of the root are below it, one leaf is above."""

        def __init__(self, inner: Any) -> None:
            self.tree, self._inner = inner.tree, inner

        def scores(self, items: list[str], query: np.ndarray) -> list[np.ndarray]:
            out = []
            for i in items:
                s = np.linspace(0.5, 0.4, len(self.tree(i))).astype(np.float32)
                s[-1] = 0.6
                out.append(s)
            return out

    bench = corpus.bench(k=1)
    bench.tools.scorers = {"f_theta": Shaped(corpus.scorers["f_theta"])}  # type: ignore[dict-item]
    parent, ahead = ask(bench, k=1), ask(bench, k=1, rule="lookahead")
    count = corpus.library.leaves("tiny/nile").count
    assert regions(parent) == [("tiny/nile", 0, count)]
    assert (
        len(ahead.evidence) == 1
        and ahead.evidence[0].hi - ahead.evidence[0].lo == 1
        and ahead.evidence[0].score == np.float32(0.6)
    )
    assert regions(ask(bench, k=1, rule="lookahead", lookahead_margin=0.11)) == regions(parent)


def test_an_answer_that_is_not_stated_is_read_again_from_the_whole(corpus: Corpus) -> None:
    kept = ask(corpus.bench(), k=1)
    nile = corpus.library.item("tiny/nile").text
    elsewhere = next(w for w in ("Khartoum", "Cairo", "millennia") if all(w not in s.text for s in kept.views))
    bench = corpus.bench(answers=(elsewhere,))
    result = ask(bench, k=1, faithfulness=True)
    assert len(bench.reader.saw) == 2 and bench.reader.saw[1][0].text == nile and result.notes == {"reread whole": 1}
    assert [(e.lo, e.hi, e.score) for e in result.evidence] == [(0, corpus.library.leaves("tiny/nile").count,
                                                                 max(e.score for e in kept.evidence))]
    nowhere = corpus.bench(answers=("Lake Victoria",))
    assert ask(nowhere, k=1, faithfulness=True).notes == {"reread whole": 1, "unsupported": 1}
    for stated in ("1970", "the ASWAN high dam!", "yes", "B", ""):
        once = corpus.bench(answers=(stated,))
        assert ask(once, k=1, faithfulness=True).notes == {} and len(once.reader.saw) == 1
    assert ask(corpus.bench(answers=("Lake Victoria",)), k=1).notes == {}


def test_stated_means_whole_words() -> None:
    views = [RegionView("tiny/nile", "text", "Rivers", 0, 1, "The Blue Nile meets it.")]
    assert all(is_stated(Result(a, views=views)) for a in ("blue nile", "Rivers", "the Nile", "no", "C", ""))
    assert not is_stated(Result("Blue Ni", views=views)) and not is_stated(Result("Nile"))


def test_frames_by_score_are_as_many_in_all(corpus: Corpus) -> None:
    tools = corpus.bench().tools
    parts = [Evidence("tiny/launch", n, n + 1, s, 1) for n, s in enumerate((0.3, 0.9, 0.1, 0.5))]
    clocked, dense = (show_regions(parts, tools, Options(frame_density=d)) for d in (False, True))
    assert [len(s.times) for s in clocked] == [3, 3, 3, 3] and sum(len(s.times) for s in dense) == 12
    counts = [len(s.times) for s in dense]
    assert counts[1] == max(counts) > 3 and counts[2] == 1 and counts[1] >= counts[3] >= counts[0] >= counts[2]
    for part, s in zip(parts, dense, strict=True):
        assert list(s.times) == sorted(set(s.times)) and all(30 * part.lo < t < 30 * part.hi for t in s.times)
    own = dataclasses.replace(parts[0], times=(7.0,))  # a system that chose frames keeps them
    assert show_regions([own, *parts[1:]], tools, Options(frame_density=True))[0].times == (7.0,)
    assert [s.times for s in show_regions(parts[:1], tools, Options(frame_density=True))] == [clocked[0].times]


@given(st.lists(st.integers(1, 32), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_shared_frames_keep_the_total_and_follow_the_ranks(counts: list[int], chance: Any) -> None:
    ranks = list(range(len(counts)))
    chance.shuffle(ranks)
    shares = share_frames(counts, ranks)
    assert sum(shares) == sum(counts) and all(1 <= g <= 32 for g in shares)
    equal = share_frames([4] * len(counts), ranks)
    assert all(equal[a] >= equal[b] for a in range(len(counts)) for b in range(len(counts)) if ranks[a] > ranks[b])


def test_frames_are_shared_over_all_rounds(corpus: Corpus) -> None:
    bench = corpus.bench(more("the capsule reaches orbit"), to=("video",))
    result = ask(bench, "Does the crew walk to the launch pad?", k=1, frame_density=True, system={"routed": True})
    usual = ask(corpus.bench(more("the capsule reaches orbit"), to=("video",)),
                "Does the crew walk to the launch pad?", k=1, system={"routed": True})
    assert sum(len(s.times) for s in result.views) == sum(len(s.times) for s in usual.views) > 0


def test_the_critic_carries_facts_and_gaps(corpus: Corpus) -> None:
    bench = corpus.bench(more("q1", "the river", "fact one"), more("q2", "", "fact one", "fact two"))
    ask(bench, critic_memory=True)
    assert bench.critic.memories == [((), ()), (("fact one",), ("the river",))]
    plain = corpus.bench(more("q1"))
    ask(plain)
    assert plain.critic.memories == [None, None]


def test_the_router_is_asked_once_and_bounds_every_round(corpus: Corpus) -> None:
    bench = corpus.bench(more(DAM), to=("table", "video"))
    result = ask(bench, k=9, system={"routed": True})
    assert bench.router.asked == [(DAM, ("image", "table", "text", "video"))]
    assert all({corpus.library.item(i).modality for i in r.retrieved} == {"table", "video"} for r in result.rounds)


def test_without_projection_everything_stays_whole_and_no_one_classifies(corpus: Corpus) -> None:
    bench = corpus.bench(more(NEON))
    result = ask(bench, k=4, system={"projection": False})
    assert bench.classifier.asked == [] and len(result.rounds) == 2 and all(e.depth == 0 for e in result.evidence)
    hits = dict(corpus.searcher.search(DAM, 4, Trace()))
    assert [e.score for e in result.rounds[0].kept] == [hits[e.item_id] for e in result.rounds[0].kept]
    assert [e.item_id for e in result.evidence] == [i for r in result.rounds for i in r.new]


def test_f0_scores_by_f0(corpus: Corpus) -> None:
    result = ask(corpus.bench(), system={"scorer": "f0"})
    scores = {i: corpus.scorers["f0"].scores([i], corpus.searcher.vector(DAM))[0] for i in result.rounds[0].new}
    assert all(e.score in scores[e.item_id] for e in result.evidence)
    assert [e.score for e in result.evidence] != [e.score for e in ask(corpus.bench()).evidence]


def test_what_roles_noted_is_told_with_the_answer(corpus: Corpus) -> None:
    bench, trace = corpus.bench(), Trace()
    trace.note("a picture that cannot be shown", 2)
    assert ask(bench, trace=trace).notes == {"a picture that cannot be shown": 2}


def test_equal_runs_are_equal(corpus: Corpus) -> None:
    first, second = (ask(corpus.bench(more(NEON), more("Mars"))) for _ in range(2))
    assert first == second


def test_every_ablation_is_the_loop_with_one_thing_changed() -> None:
    answers = Answers()
    usual = SYSTEMS[0].make(answers)
    assert isinstance(usual, Canopy) and (usual.k, usual.rounds, usual.options, usual.scorer, usual.projection,
                                          usual.routed) == (10, 3, Options(), "f_theta", True, False)
    changed = {}
    for spec in SYSTEMS[1:]:
        system = spec.make(answers)
        assert isinstance(system, Canopy)
        differs = [n for n in ("k", "rounds", "scorer", "projection", "routed")
                   if getattr(system, n) != getattr(usual, n)]
        differs += [n for n, v in system.options if v != getattr(usual.options, n)]
        changed[spec.name] = differs
        assert spec.needs.scorers == (system.scorer,) and not spec.needs.llm
    assert changed == {
        "canopy-lookahead": ["rule"], "canopy-routed": ["routed"], "canopy-no-projection": ["projection"],
        "canopy-no-iteration": ["rounds"],
        "canopy-f0": ["scorer"], "canopy-exclude-seen": ["exclude_seen"], "canopy-min-gain": ["min_gain"],
        "canopy-keep-margin": ["keep_margin"],
        "canopy-aggregate-all": ["aggregate_all"], "canopy-flat-global": ["flat_global"],
        "canopy-per-modality": ["scorer"],
        "canopy-frame-density": ["frame_density"], "canopy-critic-memory": ["critic_memory"],
        "canopy-order-score": ["order"],
        "canopy-order-best-last": ["order"], "canopy-faithfulness": ["faithfulness"]}
    assert set(changed) < set(all_systems())


@pytest.mark.parametrize("spec", SYSTEMS, ids=lambda s: s.name)
def test_every_system_of_the_loop_answers(corpus: Corpus, spec: Any) -> None:
    bench, trace = corpus.bench(more(NEON), more("Mars"), aggregate=True), Trace()
    result = spec.make(Answers(k=2)).answer(question(DAM), bench.tools, trace)
    assert result.answer == "an answer" and result.evidence and 1 <= len(result.rounds) <= 3
    assert trace.count("critic") <= 2 and trace.count("classifier") <= 1 and trace.count("reader") in (1, 2)


def test_whole_items_without_scores(corpus: Corpus) -> None:
    tools: Tools = corpus.bench().tools
    assert [e.score for e in keep_whole(["tiny/nile"], tools)] == [0.0] and keep_whole([], tools) == []


def test_the_critic_sees_what_fits_under_the_readers_cap_best_first(corpus: Corpus) -> None:
    bench, trace = corpus.bench(more(NEON), evidence_tokens=100), Trace()
    result = ask(bench, k=9, trace=trace, system={"projection": False})
    first, everything = bench.critic.saw[0][1], result.rounds[0].kept
    assert 0 < sum(len(s.words().split()) for s in first) <= 100 and len(first) < len(everything)
    # the best retrieved stay, as for the reader
    assert [s.item_id for s in first] == [e.item_id for e in everything[:len(first)]]
    assert result.notes == {"regions the critic had no room for": sum(len(everything) - len(views) for _,
                                                                      views in bench.critic.saw)}


def test_a_list_is_stated_where_each_of_its_parts_is(corpus: Corpus) -> None:
    views = [RegionView("a", "text", "", 0, 1, "It passes through Vienna."),
             RegionView("b", "text", "", 0, 1, "Belgrade lies on it.")]
    assert (
        is_stated(Result("Belgrade; Vienna", views=views))
        and not is_stated(Result("Vienna; Paris", views=views))
        and is_stated(Result("; ", views=views))
    )


def test_what_was_whole_already_is_not_read_again(corpus: Corpus) -> None:
    bench = corpus.bench(answers=("Atlantis",))
    result = ask(bench, k=1, faithfulness=True, keep_margin=2.0)
    assert result.notes == {"unsupported": 1} and len(bench.reader.saw) == 1


def test_what_has_no_words_is_new_all_the_same(corpus: Corpus) -> None:
    """Else a follow-up that finds pictures would end the loop."""
    items = [Item(f"tiny/p{n}", "tiny", "image", "") for n in range(2)]
    tools = corpus.bench().tools
    tools.library = Library({i.id: i for i in items}, 30.0)
    rounds = [Round("q", (i.id,), (i.id,), tuple(keep_whole([i.id], tools))) for i in items]
    # the share of all words kept
    assert new_words(rounds, tools) == 0.5 and new_words([rounds[0], rounds[0]], tools) == 0.0


def test_a_margin_keeps_items_whole_under_flat_candidates_too(corpus: Corpus) -> None:
    assert any(e.hi - e.lo < corpus.library.leaves(e.item_id).count
               for e in ask(corpus.bench(), flat_global=True).evidence)
    assert all(e.depth == 0 for e in ask(corpus.bench(), flat_global=True, keep_margin=2.0).evidence)


def test_options_for_all_do_not_turn_one_ablation_into_another() -> None:
    systems = {s.name: s.make(Answers(options=Options(flat_global=True, rule="lookahead"))) for s in SYSTEMS}
    ahead, flat = systems["canopy-lookahead"], systems["canopy-flat-global"]
    assert isinstance(ahead, Canopy) and (ahead.options.rule, ahead.options.flat_global) == ("lookahead", False)
    assert isinstance(flat, Canopy) and (flat.options.rule, flat.options.flat_global) == ("parent", True)


def test_a_round_that_adds_little_to_much_gains_little(corpus: Corpus) -> None:
    """All words of its only new item are new, which says nothing about how much they add."""
    items = [Item("tiny/long", "tiny", "text", "", text=" ".join(f"word{n}" for n in range(45)) + "."),
             Item("tiny/short", "tiny", "text", "", text="Five other words stand here.")]
    tools = corpus.bench().tools
    tools.library = Library({i.id: i for i in items}, 30.0)
    rounds = [Round("q", (i.id,), (i.id,), tuple(keep_whole([i.id], tools))) for i in items]
    assert new_words(rounds, tools) == pytest.approx(5 / 50) and new_words(rounds[::-1],
                                                                           tools) == pytest.approx(45 / 50)
