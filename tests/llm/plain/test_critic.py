"""The LLM-free critic: when it stops, what it searches for, and that the search it writes is worth a round."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from canopy.encoder.minilm import MiniLMEncoder
from canopy.llm.plain.critic import find_bridges, is_sufficient, remaining, uncovered
from canopy.llm.plain.sentences import cut_evidence
from canopy.llm.roles import Memory, RegionView, Roles, Trace

QUESTION = "What government position was held by the woman who portrayed Corliss Archer in the film Kiss and Tell?"
FILM = RegionView("film", "text", "Kiss and Tell (1945 film)", 0, 2,
             "Kiss and Tell is a 1945 American comedy film starring Shirley Temple as Corliss Archer. In the film, two "
             "teenage girls cause their parents concern.")
RADIO = RegionView("radio", "text", "Meet Corliss Archer", 0, 1,
              "Meet Corliss Archer was a program of radio's Golden Age that ran until 1956.")
TEMPLE = RegionView("temple", "text", "Shirley Temple", 0, 2,
               "Shirley Temple was an American actress who portrayed many girls. As a woman she held the government "
               "position of Chief of Protocol.")


def test_the_follow_up_names_the_bridge_and_what_is_still_asked(roles: Roles) -> None:
    trace = Trace()
    verdict = roles.critic.judge(QUESTION, [FILM, RADIO], None, trace)
    assert not verdict.sufficient and "Shirley Temple" in verdict.query and "Shirley Temple" in verdict.missing
    assert "government position" in verdict.query and "Corliss" not in verdict.query and verdict.facts == ()
    assert trace.calls == [] and trace.notes == {} and trace.seconds == {}
    assert roles.critic.judge(QUESTION, [FILM, RADIO], None, Trace()) == verdict


def test_linked_items_that_cover_the_question_are_enough(roles: Roles) -> None:
    assert is_sufficient(QUESTION, [FILM, RADIO, TEMPLE]) and roles.critic.judge(QUESTION, [FILM, RADIO, TEMPLE], None,
                                                                                 Trace()).sufficient
    assert (
        not is_sufficient(QUESTION, [FILM, RADIO])
        and not is_sufficient(QUESTION, [TEMPLE])
        and not is_sufficient(QUESTION, [])
    )
    assert not is_sufficient(QUESTION + " In 1948?", [FILM, RADIO, TEMPLE])  # a name that stands nowhere


def test_two_items_that_the_question_names_are_enough() -> None:
    question = "Which was founded first, Buddy's Pizza or The Pizza Studio?"
    buddy = RegionView("a", "text", "Buddy's Pizza", 0, 1, "Buddy's Pizza began in Detroit in 1946.")
    studio = RegionView("b", "text", "The Pizza Studio", 0, 1, "The Pizza Studio is a chain of restaurants.")
    assert is_sufficient(question, [buddy, studio]) and not is_sufficient(question, [buddy])
    assert uncovered(question, []) == ["Buddy's Pizza", "The Pizza Studio"]


def test_what_was_searched_for_is_not_searched_again(roles: Roles) -> None:
    first = roles.critic.judge(QUESTION, [FILM, RADIO], Memory(), Trace())
    assert first.facts == (cut_evidence([FILM])[0].full,)
    again = roles.critic.judge(QUESTION, [FILM, RADIO], Memory(searched=[first.missing]), Trace())
    assert again.sufficient or not set(again.missing.split("; ")) & set(first.missing.split("; "))


def test_without_a_lead_it_stops_and_says_so(roles: Roles) -> None:
    trace = Trace()
    poem = RegionView("p", "text", "", 0, 1, "an old silent pond")
    assert roles.critic.judge("what is the capital city of france", [poem], None, trace).sufficient
    assert trace.notes == {"plain critic: no lead to follow": 1} and trace.calls == []
    named = roles.critic.judge("Who lives in Paris?", [], None, Trace())
    assert named.sufficient or named.query != "Who lives in Paris?"
    for odd in ("", "?", "x" * 5000, "\x00"):
        assert roles.critic.judge(odd, [poem, FILM], None, Trace()) is not None


def test_bridges_are_new_names() -> None:
    sentences = cut_evidence([FILM, RADIO])
    pages: list = []
    assert "Shirley Temple" in " ".join(find_bridges(QUESTION, sentences, pages)) and not any(
        "Corliss" in b for b in find_bridges(QUESTION, sentences, pages)
    )
    assert find_bridges(QUESTION, [], pages) == [] and len(find_bridges("x", cut_evidence([FILM, RADIO, TEMPLE]),
                                                                        pages)) <= 5
    assert remaining("Who was born in Rome?", cut_evidence([RegionView("a", "text", "", 0, 1,
                                                                  "She was born in a town.")])[0]) == "Who Rome"


@pytest.mark.slow
@pytest.mark.real
def test_two_rounds_find_more_supporting_paragraphs_than_one_as_deep(real_data: Path, encoder: MiniLMEncoder) -> None:
    """On 40 questions that nothing was chosen on, in a pool of 344 paragraphs.

    Bench/follow_up_rounds.py measures all questions in the whole pool.
    """
    path = Path(__file__).resolve().parents[3] / "bench" / "follow_up_rounds.py"
    spec = importlib.util.spec_from_file_location("follow_up_rounds", path)
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = bench  # its dataclasses look their module up
    spec.loader.exec_module(bench)
    pool = bench.open_pool(real_data / "hotpotqa", encoder, 40, ["dev"])
    two, one, gain = bench.compare(pool, 2, exclude=True, stops=False)
    assert (two.retrieved == 4).all() and (one.retrieved == 4).all() and gain.low > 0, gain
    stops, _, less = bench.compare(pool, 2, exclude=True, stops=True)
    assert stops.retrieved.mean() < 3.5 and less.estimate > 0.05, less


@pytest.mark.parametrize("memory", [None, Memory()])
def test_with_no_evidence_at_all_there_is_no_lead(roles: Roles, memory: Memory | None) -> None:
    for question in ("Who wrote Hamlet?", "  Who wrote Hamlet? "):
        assert roles.critic.judge(question, [], memory, Trace()).sufficient
        wordless = RegionView("p", "image", "", 0, 1, "")
        assert roles.critic.judge(question, [wordless], memory, Trace()).facts == ()
