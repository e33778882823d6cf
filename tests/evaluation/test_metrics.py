from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.config import Evaluation
from canopy.evaluation.cases import Words, read_words
from canopy.evaluation.measurement import measure
from canopy.evaluation.metrics import answers_kept, decisions_held, find_answers, matchable, retrieval_ranks
from canopy.evaluation.systems import GOLD, TUNED, WHOLE, flat_leaf
from canopy.hierarchy.tree import build_tree
from canopy.items import Item, Question
from canopy.refinement import refine
from tests.evaluation.made_up import make_cases, make_scores

seeds = st.integers(0, 10**6)


def _words(cases):
    fragments = int(cases.layout.fragments[-1])
    rng = np.random.default_rng(0)
    e = np.zeros(0, dtype=np.int64)
    return Words(rng.integers(0, 4, cases.layout.pairs), rng.integers(1, 9, fragments), e, e, e)


def _loop(cases, instances, scores):
    """Decision accuracy, one decision after another; alternatives folded by 'any'."""
    held, start = defaultdict(bool), {}
    for p, (q, i) in enumerate(zip(cases.pair_question, cases.pair_item, strict=True)):
        start[cases.questions[q], i] = int(cases.layout.nodes[p])
    for x in instances:
        key = x["question_id"], x["item_id"]
        if key not in start:
            continue
        s = scores[start[key]:]
        kids = list(zip(x["child_nodes"], x["child_gold"], strict=True))
        v = s[x["node"]]
        if x["fully_gold"]:
            ok = all(v > s[c] for c, _ in kids)
        else:
            gold, other = [s[c] for c, g in kids if g], [s[c] for c, g in kids if not g]
            ok = all(g >= v for g in gold) and all(v > o for o in other) and all(g > o for g in gold for o in other)
        held[(*key, x["node"])] |= bool(ok)
    return dict(held)


@given(seeds)
def test_decision_accuracy_agrees_with_a_plain_loop(seed):
    cases, _, instances = make_cases(seed)
    scores = make_scores(cases, seed + 1)
    tables = measure(cases, _words(cases), {TUNED: scores}, Evaluation(flat_m=(1,)))
    found = {(d["question_id"], d["item_id"], d["node"]): d["held"] for d in tables.decisions}
    assert found == _loop(cases, instances, scores)
    rows = [r for r in tables.systems if r["system"] == TUNED]
    assert sum(r["decisions"] for r in rows) == len(found)
    assert sum(r["decisions_held"] for r in rows) == sum(found.values())


@given(seeds)
def test_a_decision_that_holds_is_what_the_rule_does(seed):
    cases, _, _ = make_cases(seed)
    scores, forest = make_scores(cases, seed), cases.layout.forest
    kept, d = refine(forest, scores), cases.decisions
    for n, held in enumerate(decisions_held(d, scores)):
        v, part = d.node[n], slice(d.offsets[n], d.offsets[n + 1])
        kids, gold = d.children[part], d.child_gold[part]
        explored = scores[kids] >= scores[v]
        assert held == (not explored.any() if d.fully_gold[n] else (explored == gold).all())
        above, reached = forest.parent[v], scores[v] >= scores[forest.parent[v]] if forest.parent[v] >= 0 else True
        while above >= 0 and forest.parent[above] >= 0:
            reached, above = reached and scores[above] >= scores[forest.parent[above]], forest.parent[above]
        if held and d.fully_gold[n]:
            assert kept[v] == reached


@given(seeds)
def test_recall_tokens_and_pruning_stay_within_whole_and_gold(seed):
    cases, gold, _ = make_cases(seed)
    tables = measure(cases, _words(cases), {TUNED: make_scores(cases, seed)}, Evaluation(flat_m=(1, 2, 4)))
    by = {(r["system"], r["question_id"]): r for r in tables.systems}
    for r in tables.systems:
        assert 0 <= r["gold_recall"] <= 1 and 0 < r["kept_tokens"] <= r["whole_tokens"]
        assert r["pruned_items"] <= r["refinable"] and (np.isnan(r["pruned"]) or 0 <= r["pruned"] <= 1)
    for q in cases.questions:
        assert by[WHOLE, q]["gold_recall"] == by[GOLD, q]["gold_recall"] == 1
        assert by[WHOLE, q]["kept_tokens"] == by[WHOLE, q]["whole_tokens"] and not by[WHOLE, q]["pruned_items"]
        flat = [by[flat_leaf(m), q] for m in (1, 2, 4)]
        assert flat[0]["gold_recall"] <= flat[1]["gold_recall"] <= flat[2]["gold_recall"]
        assert flat[0]["kept_tokens"] <= flat[1]["kept_tokens"] <= flat[2]["kept_tokens"]
    kept = {(r["question_id"], r["item_id"]): set(r["kept"]) for r in tables.regions if r["system"] == TUNED}
    for q in cases.questions:
        groups = defaultdict(list)
        for g in gold:
            if g["question_id"] == q:
                groups[g["group"]].append((len(kept[q, g["item_id"]] & set(g["fragments"])), len(g["fragments"])))
        best = max(sum(h for h, _ in rows) / sum(n for _, n in rows) for rows in groups.values())
        assert by[TUNED, q]["gold_recall"] == pytest.approx(best)


@given(seeds)
@settings(max_examples=25)
def test_perfect_scores_make_every_decision_and_keep_exactly_the_gold(seed):
    gold, splits = [], []
    rng = np.random.default_rng(seed)
    for q in range(6):
        count = int(rng.integers(1, 12))
        lo = int(rng.integers(count))
        splits.append({"question_id": f"q{q}", "split": "test", "component": q})
        gold.append({"question_id": f"q{q}", "item_id": f"i{q}", "group": 0, "count": count, "fragments": [lo],
                     "modality": "text",
                     "coverage": "located"})
    from canopy.evaluation.cases import build_cases
    from canopy.gold.instances import build_instances
    cases = build_cases(gold, splits, build_instances(gold, {f"q{q}": "test" for q in range(6)}, 2), 2)
    parts = []
    for g in gold:
        tree, first = build_tree(g["count"]), g["fragments"][0]
        parts.append(np.where((tree.lo <= first) & (tree.hi > first), 1.0, 0.0))
    scores = np.concatenate(parts).astype(np.float32)
    tables = measure(cases, _words(cases), {TUNED: scores}, Evaluation(flat_m=(1,)))
    assert all(d["held"] for d in tables.decisions)
    for r, g in zip([r for r in tables.regions if r["system"] == TUNED], gold, strict=True):
        assert r["kept"] == g["fragments"] and r["recall"] == 1


def test_alternatives_count_a_node_once_and_name_it_either_where_they_disagree():
    from canopy.evaluation.cases import build_cases
    from canopy.gold.instances import build_instances

    row = {"question_id": "q", "item_id": "i", "count": 2, "modality": "table", "coverage": "located"}
    gold = [{**row, "group": 0, "fragments": [0]}, {**row, "group": 1, "fragments": [0, 1]}]
    splits = [{"question_id": "q", "split": "test", "component": 0}]
    cases = build_cases(gold, splits, build_instances(gold, {"q": "test"}, 2), 2)
    told = measure(cases, _words(cases), {TUNED: np.array([0.5, 0.1, 0.1], np.float32)},
                   Evaluation(flat_m=(1,))).decisions
    assert [(d["kind"], d["alternatives"], d["held"]) for d in told] == [("either", 2, True)]


def test_answers_are_found_across_sentences_but_not_across_rows():
    answers = matchable(["New York", "yes"])
    assert answers == [["new", "york"]]
    assert find_answers(answers, "", ["He left New", "York at dawn."], across=True) == [(0, 2)]
    assert find_answers(answers, "", ["City: New", "York: 3"], across=False) == []
    assert find_answers(answers, "Sights of New York", ["a", "b"], across=False) == [(0, 0)]
    assert find_answers([["1", "234"]], "", ["It cost 1,234 francs."], across=True) == [(0, 1)]


def test_an_answer_counts_only_when_every_fragment_that_states_it_is_kept():
    kept = np.array([True, False, True])
    lo, hi, question = np.array([0, 2, 0]), np.array([2, 3, 2]), np.array([0, 1, 1])
    assert answers_kept(kept, lo, hi, question, 3)[:2].tolist() == [0.0, 1.0]
    assert np.isnan(answers_kept(kept, lo, hi, question, 3)[2])


def test_retrieval_takes_the_best_alternative_and_the_first_gold_rank():
    rows = retrieval_ranks([["x", "a", "c"], ["x"]], [{0: ["a", "b"], 1: ["c"]}, {0: ["y"]}], [1, 2, 3])
    assert [(r["question"], r["k"], r["recall"], r["rank"]) for r in rows] == [
        (0, 1, 0.0, 2), (0, 2, 0.5, 2), (0, 3, 1.0, 2), (1, 1, 0.0, None), (1, 2, 0.0, None), (1, 3, 0.0, None)]


def test_tokens_count_a_tables_title_once():
    from canopy.evaluation.cases import build_cases

    item = Item("t", "b", "table", title="Peaks of Ticino", header=("peak", "metres"),
                rows=(("Basodino", "3272"), ("Adula", "3402")))
    gold = [{"question_id": "q", "item_id": "t", "group": 0, "count": 2, "fragments": [1], "modality": "table",
             "coverage": "located"}]
    cases = build_cases(gold, [{"question_id": "q", "split": "test", "component": 0}], [], 2)
    words = read_words(cases, {"t": item}, {"q": Question("q", "b", "How high is Adula?", ("3402",))}, 30.0,
                       lambda texts: np.array([len(t.split()) for t in texts]))
    told = {r["system"]: r for r in measure(cases, words, {TUNED: np.array([0.2, 0.1, 0.3], np.float32)},
                                            Evaluation(flat_m=(1,))).systems}
    assert told[WHOLE]["kept_tokens"] == 3 + 2 * 6 and told[TUNED]["kept_tokens"] == 3 + 6
    assert told[TUNED]["answer_in_evidence"] == 1.0


def test_nothing_to_measure_gives_empty_tables():
    cases, _, _ = make_cases(0, questions=0)
    tables = measure(cases, _words(cases), {TUNED: np.zeros(0, np.float32)}, Evaluation())
    assert not tables.decisions and not tables.systems and not tables.levels


def test_words_of_every_modality_add_up_to_the_whole_region():
    from canopy.encoder.words import item_words, region_text
    from canopy.hierarchy.leaves import cut_item
    from canopy.items import Cue

    items = [Item("a", "b", "text", title="T", text="One is here. Two is there.  Three."),
             Item("b", "b", "table", title="T", section="S", header=("x", "y"), rows=(("1", "2"), ("", "3"))),
             Item("c", "b", "video", title="T", caption="C", duration=95,
                  cues=(Cue(1, 2, "hello"), Cue(61, 62, "bye now"))),
             Item("d", "b", "image", title="T", caption="C", words="W")]
    for item in items:
        leaves = cut_item(item)
        once, each = item_words(item, leaves)
        assert len(each) == leaves.count
        whole = region_text(item, leaves, 0, leaves.count)
        assert "".join(" ".join([once, *each]).split()).replace(".", "") == "".join(whole.split()).replace(".", "")
