"""Every system that asks a language model asks what its protocol says, as often as it says, and a server's faults
change nothing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from canopy.config import Answers
from canopy.items import Question
from canopy.pipelines.ircot import MAX_ITEMS, MAX_STEPS, concludes, first_words, next_sentence
from canopy.pipelines.s2g_rag import MAX_GAPS, MAX_SENTENCES
from tests.llm.scripted_server import Request, ScriptedServer, answer_plainly, prompt_of, words_of
from tests.pipelines.served import ANSWERS, QUESTION, Shelf
from tests.tiny_model import ITEMS

GAP = {"category": "attribute", "target": "Marie Curie", "slot": "Nobel Prize in Physics",
       "description": "who shared the prize"}
THOUGHTS = ["Krypton boils at 119.9 kelvin.", "So Krypton is the gas.", "Marie Curie shared the Nobel Prize in 1903.",
            "So the answer is: Krypton."]


def calls(trace: Any) -> dict[str, int]:
    return dict(Counter(c.role for c in trace.calls))


def insistent(request: Request) -> str:
    """Never enough evidence; every role's reply can be used."""
    name = prompt_of(request)
    if name == "critic":
        return json.dumps({"sufficient": False, "missing": "who shared the prize",
                           "query": "Marie Curie Nobel Prize in Physics"})
    if name == "s2g_judge":
        return json.dumps({"sufficient": False, "gap_items": [GAP]})
    if name == "s2g_extract":
        return '{"sentences": [1, 3]}'
    if name == "ircot":
        reasoning = words_of(request).split("Reasoning so far: ")[1]
        return next(t for t in THOUGHTS if t not in reasoning) + " And more that is not read."
    return answer_plainly(request)


@pytest.mark.parametrize(("rounds", "expected"), [(1, 0), (2, 1), (3, 2)])
def test_canopy_asks_the_critic_between_rounds_the_classifier_once_and_the_reader_once(shelf: Shelf, rounds: int,
                                                                                       expected: int) -> None:
    with ScriptedServer(insistent) as server:
        result, trace = shelf.answer("canopy", server, answers=Answers(k=4, rounds=rounds))
    assert calls(trace) == {"classifier": 1, "reader": 1} | ({"critic": expected} if expected else {})
    assert len(server.requests) == expected + 2 and result.answer == "forty-two"
    assert [r.query for r in result.rounds] == [QUESTION.question, *["Marie Curie Nobel Prize in Physics"] * expected]


def test_canopy_stops_where_the_evidence_suffices_and_asks_no_classifier_without_tables(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        result, trace = shelf.answer("canopy", server)
        assert calls(trace) == {"classifier": 1, "critic": 1, "reader": 1} and len(result.rounds) == 1
        planets = Question("q2", "tiny", "Which planet has the moons Phobos and Deimos?")
        _, trace = shelf.answer("canopy", server, question=planets, answers=Answers(k=1))
        assert calls(trace) == {"critic": 1, "reader": 1}


def test_aggregate_questions_keep_tables_whole(shelf: Shelf) -> None:
    def aggregate(request: Request) -> str:
        return '{"kind": "aggregate"}' if prompt_of(request) == "classifier" else answer_plainly(request)

    with ScriptedServer(aggregate) as server:
        result, _ = shelf.answer("canopy", server)
    tables = [e for r in result.rounds for e in r.kept if e.item_id in ("tiny/elements", "tiny/lakes")]
    assert tables and all((e.lo, e.hi) == (0, {i.id: len(i.rows) for i in ITEMS}[e.item_id]) for e in tables)


def test_systems_of_one_pass_ask_the_reader_alone(shelf: Shelf) -> None:
    with ScriptedServer() as server:
        for name in ("no-retrieval", "vanilla", "aks", "recomp-extractive", "flat-leaf-m1", "any-level-m2",
                     "flat-near-best"):
            _, trace = shelf.answer(name, server)
            assert calls(trace) == {"reader": 1}, name


def test_universal_rag_asks_the_router_and_searches_what_it_says(shelf: Shelf) -> None:
    with ScriptedServer(lambda r: json.dumps({m: m in ("table", "image") for m in ("image", "table", "text", "video")})
                        if prompt_of(r) == "router" else "Krypton") as server:
        result, trace = shelf.answer("universal-rag", server)
    assert calls(trace) == {"router": 1, "reader": 1} and set(result.rounds[0].retrieved) == {"tiny/elements",
                                                                                              "tiny/lakes",
                                                                                              "tiny/diagram"}
    assert result.notes == {"routed to image+table": 1}
    with ScriptedServer(lambda r: "tables, I think" if prompt_of(r) == "router" else "Krypton") as server:
        result, trace = shelf.answer("universal-rag", server)
    assert calls(trace) == {"router": 1, "router_repair": 1, "reader": 1} and trace.calls[1].fallback
    assert result.notes == {"routed to image+table+text+video": 1}


def test_ircot_writes_a_sentence_a_step_until_one_states_the_answer(shelf: Shelf) -> None:
    with ScriptedServer(insistent) as server:
        result, trace = shelf.answer("ircot", server)
    assert calls(trace) == {"reasoner": len(THOUGHTS), "reader": 1}
    # The conclusion in the middle is no query: the fact before it is searched again.
    assert [r.query for r in result.rounds] == [QUESTION.question, THOUGHTS[0], THOUGHTS[0], THOUGHTS[2]]
    assert result.notes["reasoning sentences"] == len(THOUGHTS)


def test_ircot_stops_after_eight_sentences_and_at_an_empty_one(shelf: Shelf) -> None:
    numbers = iter(range(100))
    with ScriptedServer(lambda r: f"Fact {next(numbers)} holds." if prompt_of(r) == "ircot" else "Krypton") as server:
        result, trace = shelf.answer("ircot", server)
    assert calls(trace) == {"reasoner": MAX_STEPS, "reader": 1}
    assert len({i for r in result.rounds for i in r.new}) <= MAX_ITEMS and all(set(r.new) <= set(r.retrieved)
                                                                               for r in result.rounds)
    with ScriptedServer(lambda r: "<think>hm</think>" if prompt_of(r) == "ircot" else "Krypton") as server:
        result, trace = shelf.answer("ircot", server)
    assert calls(trace) == {"reasoner": 1,
                            "reader": 1} and trace.calls[0].fallback == "no sentence" and result.answer == "Krypton"


def test_what_concludes_is_told_from_what_states_a_fact() -> None:
    assert all(map(concludes, ("So the answer is: 3.", "Thus, it is he.", "Hence it follows.", "That is, two.",
                               "He died when 1934 - 1867 = 67.")))
    assert not any(map(concludes, ("Sofia lies in Bulgaria.", "Thusnelda was a noblewoman.", "It opened in 1970.")))
    assert first_words("a  b\nc", 2) == "a  b" and first_words("a b", 5) == "a b"


def test_a_numbered_sentence_is_one_and_what_was_said_is_not_said_again() -> None:
    assert next_sentence("1. Krypton boils at 119.9 kelvin. Next.",
                         []) == next_sentence("- Krypton boils at 119.9 kelvin.", []) == THOUGHTS[0]
    assert next_sentence(" ".join(THOUGHTS), THOUGHTS[:2]) == THOUGHTS[2] and next_sentence(THOUGHTS[0],
                                                                                            THOUGHTS[:1]) == THOUGHTS[0]
    assert next_sentence("", []) == next_sentence(" \n", THOUGHTS) == "" and next_sentence("1903 was the year. So.",
                                                                                           []) == "1903 was the year."


def test_ircot_goes_on_where_a_model_writes_all_of_its_reasoning_again(shelf: Shelf) -> None:
    numbers = iter(range(1, 9))
    with ScriptedServer(lambda r: " ".join(THOUGHTS[:next(numbers)]) if prompt_of(r) == "ircot"
                        else "Krypton") as server:
        result, trace = shelf.answer("ircot", server)
    assert calls(trace) == {"reasoner": len(THOUGHTS), "reader": 1} and result.rounds[-1].query == THOUGHTS[2]


def test_s2g_rag_judges_before_every_search_and_extracts_after_it(shelf: Shelf) -> None:
    with ScriptedServer(insistent) as server:
        result, trace = shelf.answer("s2g-rag", server)
        requests = [words_of(r) for r in server.requests]
    # Nine items and k = 4: the third round gets the last one, since nothing is retrieved twice.
    assert calls(trace) == {"judge": 3, "extractor": 3, "reader": 1}
    assert {r.query for r in result.rounds} == {f"{QUESTION.question} Marie Curie Nobel Prize in Physics"}
    matches = [i for r in result.rounds for i in r.retrieved]
    assert len(matches) == len(set(matches)) == 9
    assert len(result.rounds[0].kept) == 2 and result.rounds[0].kept[0].lo == 0  # the sentences numbered 1 and 3
    assert (
        "(nothing yet)" in requests[0]
        and "- Marie Curie Nobel Prize in Physics" in requests[1]
        and "[1] (" in requests[1]
    )


def test_s2g_rag_stops_where_the_evidence_suffices_but_never_before_a_search(shelf: Shelf) -> None:
    with ScriptedServer(lambda r: {"s2g_judge": '{"sufficient": true, "gap_items": []}',
                                   "s2g_extract": '{"sentences": [2]}'}.get(prompt_of(r), "Krypton")) as server:
        result, trace = shelf.answer("s2g-rag", server)
    assert calls(trace) == {"judge": 2, "extractor": 1, "reader": 1} and len(result.evidence) == 1


def test_s2g_rag_goes_on_without_what_cannot_be_used(shelf: Shelf) -> None:
    many = json.dumps({"sentences": [*range(1, 9), 999]})
    with ScriptedServer(lambda r: {"s2g_judge": "maybe", "s2g_extract": many}.get(prompt_of(r), "Krypton")) as server:
        result, trace = shelf.answer("s2g-rag", server, answers=Answers(k=4, rounds=2))
    assert calls(trace) == {"judge": 2, "judge_repair": 2, "extractor": 2, "reader": 1}
    assert result.notes["judgement not usable"] == 2 and result.notes["sentence numbers that do not exist"] >= 2
    assert len(result.rounds[0].kept) == MAX_SENTENCES and {r.query for r in result.rounds} == {QUESTION.question}


def faulty(request: Request, before: int) -> str:
    """Each request fails once, in a way that its words decide."""
    kinds = ("429 now", "500", "cut", "garbage", "close", "null", "no completion", "cut chunks")
    return kinds[sum(map(ord, json.dumps(request["messages"]))) % len(kinds)] if before == 0 else ""


@pytest.mark.parametrize("name", ["canopy", "universal-rag", "ircot", "s2g-rag", "vanilla"])
def test_faults_of_the_server_change_no_result(shelf: Shelf, name: str) -> None:
    with ScriptedServer(insistent) as server:
        sound, _ = shelf.answer(name, server)
    with ScriptedServer(insistent, faults=faulty) as server:
        result, trace = shelf.answer(name, server)
    assert result == sound and not any(c.fallback for c in trace.calls)
    assert len(server.requests) == 2 * len(trace.calls)


def test_the_gold_setting_gives_the_items_and_searches_no_further(shelf: Shelf) -> None:
    gold = {"q1": [("tiny/elements", (3,)), ("tiny/curie", (2,))]}
    with ScriptedServer(insistent) as server:
        for name, expected in {"canopy": {"classifier": 1, "reader": 1}, "s2g-rag": {"extractor": 1, "reader": 1},
                               "vanilla": {"reader": 1}}.items():
            result, trace = shelf.answer(name, server, corpus_scope="gold", gold=gold)
            assert calls(trace) == expected and result.rounds[0].retrieved == ("tiny/elements", "tiny/curie"), name
        result, _ = shelf.answer("gold-span", server, corpus_scope="gold", gold=gold)
        assert [(e.item_id, e.lo, e.hi) for e in result.evidence] == [("tiny/elements", 3, 4), ("tiny/curie", 2, 3)]


def test_evidence_over_the_cap_goes_oldest_first(shelf: Shelf) -> None:
    with ScriptedServer(insistent) as server:
        result, _ = shelf.answer("canopy-no-projection", server,
                                 answers=ANSWERS.model_copy(update={"evidence_tokens": 100}))
    rounds = [[e.item_id for e in r.kept] for r in result.rounds if r.kept]
    seen = [e.item_id for e in result.evidence]
    assert result.cap_cut and result.tokens <= 100 and len(rounds) > 1
    assert seen and rounds[-1][0] in seen and rounds[0][-1] not in seen


def test_longer_lists_than_the_schema_allows_need_no_repair(shelf: Shelf) -> None:
    """A server without schemas cannot hold a model to them; of a longer list the first are as good."""
    gaps, numbers = json.dumps({"sufficient": False,
                                "gap_items": [GAP] * 12}), json.dumps({"sentences": [1, 2, 3] * 20})
    with ScriptedServer(lambda r: {"s2g_judge": gaps, "s2g_extract": numbers}.get(prompt_of(r), "Krypton")) as server:
        result, trace = shelf.answer("s2g-rag", server, answers=Answers(k=4, rounds=1))
        lists = [r["response_format"]["json_schema"]["schema"] for r in server.requests[:2]]
    assert calls(trace) == {"judge": 1, "extractor": 1, "reader": 1} and len(result.rounds[0].kept) == 3
    assert result.rounds[0].query.count(GAP["target"]) == MAX_GAPS
    assert [lists[0]["properties"]["gap_items"]["maxItems"], lists[1]["properties"]["sentences"]["maxItems"]] == [8, 40]
