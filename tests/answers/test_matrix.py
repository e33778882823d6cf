"""The matrix of answers.

What is planned, that work is done once and survives a kill, and how answers are measured and compared.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from canopy.answers.gold import AnswerGold, Places, build_gold
from canopy.answers.journal import Journal
from canopy.answers.matrix import plan, sample_by_seed, scopes_of
from canopy.answers.scorekeeping import Scorekeeper
from canopy.answers.summary import columns_read, compare_systems, flat
from canopy.answers.tasks import MAX_ATTEMPTS, MAX_CONSECUTIVE_ERRORS, do_all, do_until_done
from canopy.config import Answers
from canopy.corpus.folds import Folds
from canopy.errors import ServerError
from canopy.hierarchy.leaves import cut_item
from canopy.items import Evidence, Item, Question
from canopy.llm.roles import Call, Trace
from canopy.pipelines.availability import Situation, describe_needs, find_models, find_obstacles
from canopy.pipelines.base import Needs, Result, Round, SystemSpec, all_systems, find_systems
from canopy.pipelines.canopy import Canopy
from canopy.pipelines.tools import Library, Tools
from canopy.scoring import generic, hotpotqa
from canopy.scoring.bootstrap import paired_bootstrap

ITEMS = {i.id: i for i in (
    Item("b/a", "b", "text", "A", text="The first line is here. The second names Oslo. The third ends."),
    Item("b/a2", "b", "text", "A",
         text="The first line is here, and the second names Oslo. The third ends. A fourth is new."),
    Item("b/copy", "b", "text", "A", text="The first line is here. The second names Oslo. The third ends."),
    Item("b/t", "b", "table", "T", header=("City", "Land"), rows=(("Oslo", "Norway"), ("Rome", "Italy"))),
    Item("b/p", "b", "image", "P", caption="A picture"))}
FOLDED = Folds({"b/copy": "b/a"}, {"b/a2": "b/a"})


def held(item_id: str) -> Any:
    return ITEMS[item_id], cut_item(ITEMS[item_id])


# ---- planning

def test_oracles_run_where_items_are_given_and_searchers_where_there_is_something_to_search() -> None:
    specs = all_systems()
    assert scopes_of(specs["gold-item"], ["unified", "gold"]) == ["gold"] and scopes_of(specs["gold-span"],
                                                                                        ["unified"]) == []
    assert scopes_of(specs["canopy-no-iteration"], ["unified", "own", "gold"]) == ["unified", "own"]
    assert scopes_of(specs["canopy"], ["unified", "own", "gold"]) == ["unified", "own", "gold"]


def test_k_rounds_and_budgets_are_variants() -> None:
    answers = Answers(sweep_k=(5, 20), sweep_rounds=(1,), budgets=(0.2, 0.5), seeds=(1, 2))
    cells = plan(find_systems(["canopy", "vanilla", "flat-leaf-share"]), "reader", ["unified", "gold"], answers)
    named = [(c.spec.name, c.corpus_scope, c.variant) for c in cells]
    assert named == [
        ("canopy", "unified", ""), ("canopy", "unified", "k=5"), ("canopy", "unified", "k=20"),
        ("canopy", "unified", "R=1"), ("canopy", "gold", ""),
        ("vanilla", "unified", ""), ("vanilla", "unified", "k=5"), ("vanilla", "unified", "k=20"),
        ("vanilla", "gold", ""),
        *(("flat-leaf-share", s, v) for s in ("unified", "gold") for v in ("", "budget=0.2", "budget=0.5"))]
    sizes = {(c.spec.name, c.corpus_scope, c.variant): (c.sizes["k"], c.sizes["rounds_limit"]) for c in cells}
    assert sizes["canopy", "unified", ""] == (10, 3) and sizes["canopy", "unified",
                                                               "k=5"] == (5, 3) and sizes["canopy", "unified",
                                                                                          "R=1"] == (10, 1)
    assert sizes["canopy", "gold", ""] == (10, 1) and sizes["vanilla", "unified", "k=20"] == (20, 1)
    assert all(c.seeds == (1, 2) for c in cells) and len({c.key("q") for c in cells}) == len(cells)


def test_node_scores_of_another_branching_make_a_variant_of_the_loop_alone() -> None:
    cells = plan(find_systems(["canopy", "canopy-lookahead", "canopy-f0", "vanilla"]), "reader", ["unified"],
                 Answers(), scorers=["f0", "f_theta", "f_theta_branching_3"])
    assert [(c.spec.name, c.variant) for c in cells] == [("canopy", ""), ("canopy", "B=3"), ("canopy-lookahead", ""),
                                                         ("canopy-lookahead", "B=3"), ("canopy-f0", ""),
                                                         ("vanilla", "")]
    loops = [c.system for c in cells[:4] if isinstance(c.system, Canopy)]
    assert [s.scorer for s in loops] == ["f_theta", "f_theta_branching_3"] * 2 and [s.options.rule for s in loops] == [
        "parent",
        "parent",
        "lookahead",
        "lookahead",
    ]


def test_every_seed_answers_anew_only_where_the_model_draws() -> None:
    cells = plan(find_systems(["vanilla"]), "reader", ["unified"], Answers(seeds=(1, 2)), sampled=True)
    assert [c.seeds for c in cells] == [(1,), (2,)] and cells[0].key("q") != cells[1].key("q")


def test_seeds_draw_the_questions() -> None:
    assert sample_by_seed(["a", "b", "c"], [1, 2], None) == {1: ["a", "b", "c"], 2: ["a", "b", "c"]}
    assert sample_by_seed(["a", "b", "c"], [1, 2], {1: ["c", "a"], 2: ["b"]}.__getitem__) == {1: ["a", "c"], 2: ["b"]}


# ---- doing the work

@pytest.mark.parametrize("workers", [1, 4])
def test_all_is_done_once(workers: int) -> None:
    finished, lock = [], threading.Lock()

    def do(n: int) -> None:
        with lock:
            finished.append(n)

    do_all(list(range(50)), do, workers)
    assert sorted(finished) == list(range(50))


def test_the_first_error_ends_the_work_and_what_is_at_work_is_finished() -> None:
    finished: list[int] = []

    def do(n: int) -> None:
        if n == 3:
            raise ServerError("gone")
        time.sleep(0.05)
        finished.append(n)

    with pytest.raises(ServerError, match="gone"):
        do_all(list(range(1000)), do, 4)
    assert {0, 1, 2} <= set(finished) and len(finished) < 20


def passes(error: BaseException) -> bool:
    return "busy" in str(error)


@pytest.mark.parametrize("workers", [1, 4])
def test_what_fails_and_may_pass_has_another_turn_after_the_others(workers: int) -> None:
    tries, finished = Counter[int](), list[int]()

    def do(n: int) -> None:
        time.sleep(0.001)
        tries[n] += 1
        if n % 10 == 3 and tries[n] < (MAX_ATTEMPTS if n == 13 else 2):
            raise ServerError("busy")
        finished.append(n)

    do_until_done(range(60), do, workers, passes)
    assert sorted(finished) == list(range(60)) and {n % 10 for n in finished[-6:]} == {3}
    assert {n: c for n, c in tries.items() if c > 1} == {n: MAX_ATTEMPTS if n == 13 else 2
                                                         for n in range(3, 60, 10)} and finished[-1] == 13


@pytest.mark.parametrize("workers", [1, 4])
def test_what_does_not_pass_ends_the_work(workers: int) -> None:
    tries = Counter[int]()

    def do(n: int, bad: Callable[[int], bool], words: str) -> None:
        time.sleep(0.01)
        tries[n] += 1
        if bad(n):
            raise ServerError(f"{words} {n}")

    with pytest.raises(ServerError, match="busy 7"):  # one that never passes: all others are done
        do_until_done(range(30), lambda n: do(n, lambda n: n == 7, "busy"), workers, passes)
    assert tries == {n: 2 if n == 7 else 1 for n in range(30)}
    tries.clear()
    with pytest.raises(ServerError, match="busy"):  # nothing gets through
        do_until_done(range(1000), lambda n: do(n, lambda n: n > 5, "busy"), workers, passes)
    assert 6 + MAX_CONSECUTIVE_ERRORS <= len(tries) <= 6 + MAX_CONSECUTIVE_ERRORS + 2 * workers
    tries.clear()
    with pytest.raises(ServerError, match="gone"):  # another error
        do_until_done(range(1000), lambda n: do(n, lambda n: n == 5, "gone"), workers, passes)
    assert len(tries) < 6 + 2 * workers


def test_a_journal_keeps_what_was_finished_and_forgets_what_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "work" / "a.jsonl"
    journal = Journal(path)
    journal.add(("canopy", "q1"), {"text": "caf\u00e9 \ud800", "x": 0.1})
    journal.add(("canopy", "q2"), 2)
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole.splitlines(True)[0] + b"not json\n" + whole.splitlines(True)[1] + b'[["canopy","q3"],{"cut')
    again = Journal(path)
    assert ("canopy", "q1") in again and ("canopy", "q2") in again and ("canopy", "q3") not in again and len(again) == 2
    again.add(("canopy", "q3"), 3)
    assert [again.get(("canopy", q)) for q in ("q3", "q1", "q2")] == [3, {"text": "caf\u00e9 \ud800", "x": 0.1}, 2]
    again.close()
    assert len(Journal(path)) == 3


# ---- gold over folded items

def test_fragments_of_folded_items_are_found_in_what_stands_for_them() -> None:
    places = Places(FOLDED, held)
    assert places.fragments("b/copy", [1]) == {("b/a", 1)} == places.fragments("b/a", [1])
    assert places.fragments("b/a2", [0]) == {("b/a", 0), ("b/a", 1)}  # one sentence there says what two say here
    assert places.fragments("b/a2", [1]) == {("b/a", 2)}
    assert places.fragments("b/a2", [2]) == {("b/a2", 2)}  # new words: retrieval cannot find them
    assert places.item("b/a2") == "b/a" and places.item("b/t") == "b/t"


def gold_of(*rows: tuple[str, int, list[int]], question: Question) -> AnswerGold:
    entries = [{"question_id": question.id, "item_id": i, "group": g, "fragments": f, "coverage": "located" if g
             else "whole"} for i, g, f in rows]
    return build_gold(entries, [question], Places(FOLDED, held), held)


def test_alternatives_count_by_their_best_and_the_best_annotated_one_is_given() -> None:
    q = Question("q", "b", "Where?", ("Oslo",))
    gold = gold_of(("b/t", 0, [0, 1]), ("b/copy", 1, [1]), ("b/p", 1, [0]), question=q)
    assert gold.recall("q", frozenset({("b/t", 0)})) == 0.5 and gold.recall("q", frozenset({("b/a", 1),
                                                                                            ("b/p", 0)})) == 1.0
    assert gold.recall("q", frozenset()) == 0.0 and gold.recall("other", frozenset()) is None
    assert (
        gold.items_found("q", frozenset({"b/a"})) == (1, 2)
        and gold.items_found("q", frozenset({"b/t"})) == (1, 1)
        and gold.items_found("other", frozenset()) == (0, 0)
    )
    assert gold.annotations["q"] == (("b/copy", (1,)), ("b/p", (0,))) and gold.stated == {"q"}


def test_whether_an_answer_can_be_in_the_evidence() -> None:
    assert gold_of(("b/t", 0, [0]), question=Question("q", "b", "Where?", ("Paris",))).stated == frozenset()
    assert gold_of(("b/t", 0, [0]), question=Question("q", "b", "Is it?", ("yes",))).stated == frozenset()
    assert build_gold([], [Question("q", "b", "Where?", ("Paris",))], Places(FOLDED, held), held).stated == {"q"}


# ---- one row

def tools_over(library: Library) -> Tools:
    reader = SimpleNamespace(name="words", sees_media=False, count_tokens=lambda texts: [len(t.split()) for t in texts])
    return Tools(library, None, {}, SimpleNamespace(reader=reader), Answers())  # type: ignore[arg-type]


def region(item: str, lo: int, hi: int, text: str = "") -> Evidence:
    return Evidence(item, lo, hi, 0.5, 1, text, 4)


def measured(question: Question, gold: AnswerGold, rounds: list[Round], answer: str = "Oslo", evidence: list[Evidence]
             | None = None, trace: Trace | None = None,
             metric: Any = generic, facts: bool = False) -> dict[str, Any]:
    library = Library(ITEMS, 30.0, FOLDED.representatives())
    evidence = [e for r in rounds for e in r.kept] if evidence is None else evidence
    result = Result(answer, evidence, [library.show(e) for e in evidence], rounds, 7, False, {"b": 2, "a": 1})
    return Scorekeeper(metric, gold, Places(FOLDED, held), facts).measure(question, result, tools_over(library), trace
                                                                          or Trace())


def test_a_row_counts_rounds_duplicates_outcomes_and_gold() -> None:
    q = Question("q", "b", "Where?", ("Oslo",))
    gold = gold_of(("b/copy", 0, [1, 2]), ("b/t", 0, [0]), question=q)
    rounds = [Round("one", ("b/a", "b/p"), ("b/a", "b/p"), (region("b/a", 1, 2), region("b/p", 0, 1))),
              Round("two \ud800", ("b/t", "b/a", "b/p"), ("b/t",), (region("b/t", 0, 1), region("b/t", 1, 2)))]
    trace = Trace([Call("critic", 10, 2), Call("critic", 20, 3, fallback="no JSON"),
                   Call("reader", 30, 1, cached=True)])
    row = measured(q, gold, rounds, trace=trace)
    assert (row["em"], row["f1"], row["accuracy"]) == (1.0, 1.0, None)
    assert (row["rounds"], row["retrieved"], row["follow_up_retrieved"], row["duplicates"]) == (2, 5, 3, 2)
    assert (
        (row["gold_items_found"], row["gold_items"]) == (2, 2)
        and row["gold_recall"] == pytest.approx(2 / 3)
        and row["answer_in_evidence"] == 1.0
    )
    assert row["outcomes"] == [{"modality": "image", "refinable": 0, "kept": 1, "split": 0, "pruned": 0},
                               {"modality": "table", "refinable": 1, "kept": 0, "split": 1, "pruned": 0},
                               {"modality": "text", "refinable": 1, "kept": 0, "split": 0, "pruned": 1}]
    assert (row["items_refinable"], row["items_kept"], row["items_split"], row["items_pruned"]) == (2, 1, 1, 1)
    assert row["calls"] == [{"role": "critic", "count": 2, "prompt_tokens": 30, "completion_tokens": 5, "fallbacks": 1},
                            {"role": "reader", "count": 1, "prompt_tokens": 30, "completion_tokens": 1, "fallbacks": 0}]
    assert row["tokens"] == 7 and row["whole_tokens"] == sum(
        len(Library(ITEMS, 30.0).show(region(i, 0, cut_item(ITEMS[i]).count)).words().split())
        for i in ("b/a", "b/p", "b/t")
    )
    assert row["notes"] == [{"note": "a", "count": 1}, {"note": "b",
                                                        "count": 2}] and row["steps"][1]["query"] == "two ?"


def test_supporting_facts_are_the_fragments_that_the_reader_saw() -> None:
    q = Question("q", "b", "Where?", ("Oslo",))
    gold = gold_of(("b/copy", 0, [1]), ("b/t", 0, [0]), question=q)
    row = measured(q, gold, [Round("q", ("b/a", "b/t"), ("b/a", "b/t"), (region("b/a", 0, 2), region("b/t", 0, 1)))],
                   metric=hotpotqa, facts=True)
    assert (row["sp_recall"], row["sp_precision"], row["sp_em"]) == (1.0, pytest.approx(2 / 3),
                                                                     0.0) and row["joint_f1"] == pytest.approx(0.8)


def test_rewritten_evidence_has_no_fragments_but_may_state_the_answer() -> None:
    q = Question("q", "b", "Where?", ("Oslo",))
    gold = gold_of(("b/a", 0, [1]), question=q)
    summary = region("b/a", 0, 3, "It is about Oslo.")
    row = measured(q, gold, [Round("q", ("b/a",), ("b/a",), (summary,))])
    assert (
        row["gold_recall"] is None
        and row["outcomes"] == []
        and row["answer_in_evidence"] == 1.0
        and row["evidence"][0]["text"] == "It is about Oslo."
    )
    verbatim = region("b/a", 1, 2, "The second names Oslo.")
    assert measured(q, gold, [Round("q", ("b/a",), ("b/a",), (verbatim,))])["gold_recall"] == 1.0


def test_nothing_retrieved() -> None:
    q = Question("q", "b", "Where?", ("Oslo",))
    row = measured(q, gold_of(("b/a", 0, [1]), question=q), [], answer="")
    assert (row["em"], row["rounds"], row["retrieved"], row["gold_recall"], row["answer_in_evidence"],
            row["whole_tokens"]) == (0.0, 0, 0, 0.0, 0.0, 0)


def test_a_question_without_a_published_answer_has_no_scores() -> None:
    q = Question("q", "b", "Where?")
    row = measured(q, gold_of(("b/a", 0, [1]), question=q), [Round("q", ("b/a",), ("b/a",), (region("b/a", 1, 2),))],
                   answer="Oslo")
    assert (
        (row["em"], row["f1"], row["answer_in_evidence"]) == (None, None, None)
        and row["gold_recall"] == 1.0
        and row["prediction"] == "Oslo"
    )


# ---- side by side

def made_up(system: str, em: list[float | None], corpus_scope: str = "unified", **columns: Any) -> list[dict[str, Any]]:
    return [{"question_id": f"q{n}", "reader": "r", "corpus_scope": corpus_scope, "system": system, "variant": "",
             "em": v, "gold_recall": None, "answer_in_evidence": 1.0, "tokens": 10,
             "whole_tokens": 40, "calls": [{"role": "reader", "count": 2}], "rounds": 2, "duplicates": 1,
             "follow_up_retrieved": n % 2, "gold_items_found": 1,
             "gold_items": 2, **columns} for n, v in enumerate(em)]


def test_systems_are_compared_on_the_same_resampled_questions() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(2, size=60).astype(float).tolist() for _ in range(2))
    # in another order, and as a second seed would repeat them
    rows = [*made_up("vanilla", a), *reversed(made_up("canopy", b)), *made_up("canopy", b)]
    vanilla, canopy = compare_systems(rows, ["em"], resamples=200, seed=5, confidence=0.95)
    assert (vanilla.system, vanilla.difference, canopy.system, canopy.reference) == (
        "vanilla",
        None,
        "canopy",
        "vanilla",
    ) and canopy.questions == 60
    at = sorted(range(60), key=lambda n: f"q{n}")
    assert canopy.difference == paired_bootstrap(np.array(b)[at], np.array(a)[at], 200, 5, 0.95)
    assert (
        canopy.values["em"].estimate == pytest.approx(np.mean(b))
        and canopy.values["em"].low < np.mean(b) < canopy.values["em"].high
    )
    assert (
        canopy.values["calls"].estimate == 2.0
        and canopy.values["kept_share"].estimate == 0.25
        and canopy.values["gold_item_recall"].estimate == 0.5
    )
    # pooled; never defined
    assert canopy.values["duplicate_share"].estimate == 1.0 and np.isnan(canopy.values["gold_recall"].estimate)
    row = flat([canopy], ["em"])[0]
    assert (
        row["gold_recall"] is None
        and row["difference_to"] == "vanilla"
        and row["difference_low"] <= row["difference"] <= row["difference_high"]
    )
    assert set(columns_read(["em"])) <= set(rows[0])


def test_settings_and_readers_are_never_mixed() -> None:
    rows = [*made_up("vanilla", [1.0] * 10), *made_up("canopy", [0.0] * 10, "gold"),
            *made_up("gold-item", [1.0] * 10, "gold")]
    lines = {(x.corpus_scope, x.system): x for x in compare_systems(rows, ["em"], resamples=100, seed=1,
                                                                    confidence=0.9)}
    assert lines["gold", "canopy"].reference == "gold-item" and lines["gold", "canopy"].difference.estimate == -1.0
    assert lines["unified", "vanilla"].difference is None


# ---- availability

def test_what_keeps_a_system_from_running_says_what_to_do(tmp_path: Path) -> None:
    def spec(**needs: Any) -> SystemSpec:
        return SystemSpec("x", "", lambda a: None, Needs(**needs))  # type: ignore[arg-type,return-value]

    here = Situation(models={"there": tmp_path}, named={"named": "nowhere/model"}, scorers=frozenset({"f0"}))
    assert find_obstacles(spec(models=("there",), scorers=("f0",), packages=("json",), gold=True), here) == []
    assert (
        "CANOPY_LLM_BASE_URL" in find_obstacles(spec(llm=True), here)[0]
        and find_obstacles(spec(llm=True), Situation(llm=True)) == []
    )
    assert find_obstacles(spec(packages=("no_such_package",)),
                          here) == ["needs the package no_such_package: pip install no_such_package"]
    assert "names 'nowhere/model', which is neither a folder here nor" in find_obstacles(spec(models=("named",)),
                                                                                         here)[0]
    assert "answers.models.other is not set; download it" in find_obstacles(spec(models=("other",)), here)[0]
    assert "data/node_embeddings/f_theta" in find_obstacles(spec(scorers=("f_theta",)), here)[0]
    assert "no test question" in find_obstacles(spec(gold=True), Situation(gold=False))[0]
    assert len(find_obstacles(spec(llm=True, models=("a", "b"), packages=("no_such_package",)), here)) == 4
    assert describe_needs(spec(llm=True, models=("a",), scorers=("f0",))) == "language model server, model a, f0 scores"


def test_models_are_found_as_folders_and_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    folders = find_models({"relative": "m", "full": str(tmp_path / "m"), "absent": "n", "hub": "some/model",
                         "odd": "a b/c d/e", "empty": ""}, tmp_path)
    assert folders == {"relative": (tmp_path / "m").resolve(), "full": (tmp_path / "m").resolve()}


def test_the_same_evidence_is_read_once_and_told_as_it_was() -> None:
    from canopy.answers.caching import CachingReader
    from canopy.answers.scorekeeping import seconds_of
    from canopy.llm.roles import RegionView, Reply

    calls: list[str] = []

    class Slow:
        name, sees_media = "slow", False

        def read(self, question: Question, evidence: Any, trace: Trace) -> Reply:
            time.sleep(0.02)
            calls.append(question.id)
            trace.note("odd")
            return Reply(f"{question.id} {len(evidence)}")

        def count_tokens(self, texts: Any) -> list[int]:
            calls.extend(texts)
            return [len(t) for t in texts]

    reader, views = CachingReader(Slow()), [RegionView("b/a", "text", "A", 0, 1, "words")]
    traces = []
    for evidence in (views, list(views), []):
        trace = Trace()
        traces.append((reader.read(Question("q", "b", "?"), evidence, trace).text, trace.notes,
                     seconds_of(trace, 0.0)["total"] >= 0.02))
    assert traces == [("q 1", {"odd": 1}, False), ("q 1", {"odd": 1}, True),
                    ("q 0", {"odd": 1}, False)] and calls == ["q", "q"]
    assert (
        reader.count_tokens(["aa", "b", "aa"]) == [2, 1, 2]
        and reader.count_tokens(["b"]) == [1]
        and calls == ["q", "q", "aa", "b"]
    )


def test_counts_that_another_thread_forgets_meanwhile_are_counted_all_the_same() -> None:
    from canopy.answers.caching import CachingReader

    class Meanwhile:
        name, sees_media = "meanwhile", False

        def count_tokens(self, texts: list[str]) -> list[int]:
            reader._counts.clear()  # as another thread's call does where too much is held
            return [len(t.split()) for t in texts]

    reader = CachingReader(Meanwhile())  # type: ignore[arg-type]
    assert reader.count_tokens(["one", "two words"]) == [1, 2] and reader.count_tokens(["one", "three words here",
                                                                                        "one"]) == [1, 3, 1]
