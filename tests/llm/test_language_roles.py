"""Critic, classifier, router and reader over a scripted server.

What is sent, what is made of replies, and the fallback of each, counted.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from canopy.items import Question
from canopy.llm.answer_text import clean_answer
from canopy.llm.classifier import LanguageClassifier
from canopy.llm.client import ChatClient
from canopy.llm.counting import EstimatedTokens
from canopy.llm.critic import LanguageCritic
from canopy.llm.reader import LanguageReader, form_of
from canopy.llm.roles import Memory, RegionView, Reply, Roles, Trace, Verdict
from canopy.llm.router import LanguageRouter
from canopy.llm.showing import PIXELS
from canopy.llm.wire import Server
from tests.llm.scripted_server import Request, ScriptedServer, pictures_of, prompt_of, words_of
from tests.media.making import number_of, numbered, write_video

NILE = RegionView("b/nile", "text", "Nile", 0, 2, "The Nile flows north.", span=(0, 21))
LAKES = RegionView("b/lakes", "table", "Great Lakes", 0, 1, "Great Lakes\nLake is Erie; Depth is 64", span=(0, 1))
EVIDENCE = [NILE, LAKES]


def count_words(texts: list[str]) -> list[int]:
    return [len(t.split()) for t in texts]


@contextmanager
def roles_over(reply: str | Callable[[Request], str], sees_media: bool = False,
               **more: object) -> Iterator[tuple[Roles, ScriptedServer]]:
    with ScriptedServer(reply if callable(reply) else lambda r: reply, **more) as server:  # type: ignore[arg-type]
        chat = ChatClient(Server(server.url, "tiny"))
        yield Roles(LanguageCritic(chat, count_words, sees_media), LanguageClassifier(chat), LanguageRouter(chat),
                    LanguageReader(chat, "tiny", EstimatedTokens(), sees_media), "tiny", "llm", chat), server


def calls(trace: Trace) -> list[tuple[str, str]]:
    return [(c.role, c.fallback) for c in trace.calls]


# --- critic

def judge(reply: str | Callable[[Request], str], memory: Memory | None = None,
          evidence: list[RegionView] = EVIDENCE) -> tuple[Verdict, Trace, ScriptedServer]:
    trace = Trace()
    with roles_over(reply) as (roles, server):
        return roles.critic.judge("How long is the Nile?", evidence, memory, trace), trace, server


def test_the_critic_is_shown_question_and_evidence() -> None:
    verdict, trace, server = judge('{"sufficient": true, "missing": "", "query": ""}')
    assert verdict == Verdict(True) and calls(trace) == [("critic", "")]
    words = words_of(server.requests[0])
    assert prompt_of(server.requests[0]) == "critic" and "Question: How long is the Nile?" in words
    assert "[1] Nile: The Nile flows north.\n[2] (table) Great Lakes\nLake is Erie; Depth is 64\n" in words


def test_the_critic_names_what_is_missing() -> None:
    verdict, _, _ = judge('{"sufficient": false, "missing": "its length", "query": "  length of\\n the Nile "}')
    assert verdict == Verdict(False, "its length", "length of the Nile")
    assert judge('{"sufficient": false, "missing": "its length", "query": ""}')[0] == Verdict(False, "its length",
                                                                                              "its length")


@pytest.mark.parametrize("reply", ["I think so", '{"sufficient": false, "missing": "", "query": " "}',
                                   '{"sufficient": "no", "missing": "a", "query": "b"}', ""])
def test_a_critic_that_cannot_be_used_is_sufficient_and_counted(reply: str) -> None:
    verdict, trace, _ = judge(reply)
    assert (
        verdict == Verdict(True) and [r for r, _ in calls(trace)] == ["critic", "critic_repair"] and calls(trace)[1][1]
    )
    assert trace.count("critic") == 1


def test_a_critic_whose_request_is_refused_is_sufficient_and_counted() -> None:
    verdict, trace, _ = judge("!400 too long")
    assert verdict == Verdict(True) and calls(trace) == [("critic", "the server refuses it (400)")]


def test_the_critic_is_told_what_it_knows() -> None:
    reply = json.dumps({"facts": ["The Nile flows  north.", " "], "sufficient": False, "missing": "its length",
                        "query": "Nile length"})
    verdict, _, server = judge(reply, Memory(["It is in Africa."], ["its source"]))
    assert verdict == Verdict(False, "its length", "Nile length", ("The Nile flows north.",))
    words = words_of(server.requests[0])
    assert (
        prompt_of(server.requests[0]) == "critic_memory" and "- It is in Africa." in words and "- its source" in words
    )
    assert "(none)" in words_of(judge(reply, Memory())[2].requests[0])


def test_the_critic_is_shown_that_nothing_was_found() -> None:
    assert "(nothing was found)" in words_of(judge('{"sufficient": true, "missing": "", "query": ""}',
                                                   evidence=[])[2].requests[0])


@pytest.mark.parametrize(("modality", "kept"), [("text", 2), ("video", 3)])
def test_over_the_cap_the_critic_sees_the_newest_and_says_so(modality: str, kept: int) -> None:
    evidence = [RegionView(f"b/{n}", modality, "", 0, 1, f"region {n} has five words") for n in range(4)]
    trace = Trace()
    with ScriptedServer() as server:
        LanguageCritic(ChatClient(Server(server.url, "tiny")), count_words, room=(12, 15)).judge("What?", evidence,
                                                                                                 None, trace)
        words = words_of(server.requests[0])
    assert [f"region {n} has" in words for n in range(4)] == [n >= 4 - kept for n in range(4)] and "[1]" in words
    assert trace.notes == {"regions the critic had no room for": 4 - kept}


# --- classifier and router

@pytest.mark.parametrize(("reply", "aggregate", "expected"), [
    ('{"kind": "aggregate"}', True, [("classifier", "")]), ('{"kind": "lookup"}', False, [("classifier", "")]),
    ("aggregate", False, [("classifier", ""), ("classifier_repair", "no JSON object in it")]),
    ('{"kind": "both"}', False, [("classifier", ""), ("classifier_repair",
                                                      "kind: Input should be 'aggregate' or 'lookup'")])])
def test_the_classifier(reply: str, aggregate: bool, expected: list[tuple[str, str]]) -> None:
    trace = Trace()
    with roles_over(reply) as (roles, server):
        assert roles.classifier.is_aggregate("How many lakes are there?", trace) is aggregate
        assert (
            calls(trace) == expected
            and "How many lakes are there?" in words_of(server.requests[0])
            and prompt_of(server.requests[0]) == "classifier"
        )


ALL = ("image", "table", "text")


@pytest.mark.parametrize(("reply", "chosen", "trouble"), [
    ('{"image": false, "table": true, "text": false}', ("table",), ""),
    ('{"text": true, "table": false, "image": true}', ("image", "text"), ""),
    ('{"image": false, "table": false, "text": false}', ALL, "object: Value error, at least one must be true"),
    ('{"table": true}', ALL, "image: Field required"),
    ('{"image": false, "table": true, "text": false, "video": true}', ALL, "video: Extra inputs are not permitted"),
    ("tables", ALL, "no JSON object in it")])
def test_the_router(reply: str, chosen: tuple[str, ...], trouble: str) -> None:
    trace = Trace()
    with roles_over(reply) as (roles, server):
        assert roles.router.route("Which lake?", ALL, trace) == chosen
        assert trace.calls[-1].fallback == trouble and trace.count("router") == 1
        assert "- table: " in words_of(server.requests[0]) and "video" not in words_of(server.requests[0])
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["image", "table", "text"] and schema["additionalProperties"] is False


def test_one_modality_is_not_asked_about() -> None:
    trace = Trace()
    with roles_over("?") as (roles, server):
        assert roles.router.route("x", ["text"], trace) == ("text",) and roles.router.route("x", [], trace) == ()
        assert not server.requests and not trace.calls


# --- reader

PLAIN = Question("b/1", "b", "How long is the Nile? {evidence}")
CHOICE = Question("b/2", "b", "What is shown?", details=(("A", "a river"), ("B", "a lake"), ("C", "a cup")))
LISTED = Question("b/3", "b", "Which lakes?", details=(("modalities", "table"),))


def read(question: Question, reply: str, evidence: list[RegionView] = EVIDENCE) -> tuple[Reply, Trace, ScriptedServer]:
    trace = Trace()
    with roles_over(reply) as (roles, server):
        return roles.reader.read(question, evidence, trace), trace, server


@pytest.mark.parametrize(("question", "evidence", "prompt"), [
    (PLAIN, EVIDENCE, "reader_short"), (CHOICE, EVIDENCE, "reader_option"), (LISTED, EVIDENCE, "reader_list"),
    (PLAIN, [], "closed_short"), (CHOICE, [], "closed_option"), (LISTED, [], "closed_list")])
def test_the_reader_asks_for_the_form_that_the_question_has(question: Question, evidence: list[RegionView],
                                                            prompt: str) -> None:
    _, trace, server = read(question, "B", evidence)
    request = server.requests[0]
    assert prompt_of(request) == prompt and "response_format" not in request and calls(trace) == [("reader", "")]
    assert f"Question: {question.question}" in words_of(request) and (
        "The Nile flows north." in words_of(request)
    ) is bool(evidence)


def test_what_the_benchmark_says_of_this_answer_does_not_reach_the_reader() -> None:
    one, several = (Question("b/4", "b", "Which?", details=(*more, ("modalities", "table"), ("answer_type", kind)))
                    for more, kind in (
        ((), "span"), ((("list", "true"),), "multi-span")))
    assert read(one, "x")[2].requests[0] == read(several, "x")[2].requests[0]
    assert form_of(Question("b/5", "b", "Which?", type="multi-span")) == "short"


@pytest.mark.parametrize(("raw", "text"), [
    ("6,650 km", "6,650 km"), (" Answer: 6,650 km\n\nBecause ...", "6,650 km"), ("**Answer:** Paris", "Paris"),
    ("The answer is: Paris.", "Paris."),
    ("The answer is Paris", "Paris"), ("Answer:\nParis", "Paris"), ('"Paris"', "Paris"),
    ("<think>hm</think>\nParis", "Paris"), ("'a' or 'b'", "'a' or 'b'"),
    ("-5", "-5"), ("Answer", "Answer"), ("Answers in Genesis", "Answers in Genesis"), ("yes", "yes"), ("", ""),
    ("<think>cut", ""), ("Answer:", ""), ("**", "")])
def test_the_answer_in_a_reply(raw: str, text: str) -> None:
    assert clean_answer(raw) == text
    reply, trace, _ = read(PLAIN, raw)
    assert reply == Reply(text, raw) and trace.calls[-1].fallback == ("" if text else "empty answer")


@pytest.mark.parametrize(("raw", "text", "fallback"), [
    ("B", "B", ""), ("(C)", "C", ""), ("The answer is A.", "A", ""), ("a lake", "B", ""),
    ("<think>A or B</think>\nB", "B", ""),
    ("I cannot tell", "I cannot tell", "no option in the answer"), ("E", "E", "no option in the answer"),
    ("", "", "empty answer")])
def test_an_option_in_a_reply(raw: str, text: str, fallback: str) -> None:
    reply, trace, server = read(CHOICE, raw)
    assert reply.text == text and trace.calls[-1].fallback == fallback
    assert "What is shown?\n(A) a river\n(B) a lake\n(C) a cup" in words_of(
        server.requests[0]
    ) and "one letter of A, B, C." in words_of(server.requests[0])


def test_options_that_stand_in_the_question_are_not_said_twice() -> None:
    question = Question("b/2", "b", "What is shown?\n(A) a river\n(B) a lake",
                        details=(("A", "a river"), ("B", "a lake")))
    assert words_of(read(question, "A")[2].requests[0]).count("a lake") == 1


def test_a_question_that_is_refused_is_answered_by_nothing_and_counted() -> None:
    reply, trace, _ = read(PLAIN, "!400 maximum context length")
    assert reply == Reply("") and calls(trace) == [("reader", "the server refuses it (400)")]


def test_the_reader_says_how_it_counts() -> None:
    with roles_over("x") as (roles, _):
        assert roles.reader.name == "tiny (tokens estimated)" and roles.reader.count_tokens(["a b", ""]) == [2, 0]


# --- pictures

def decoded(uri: str) -> Image.Image:
    head, _, content = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(content)))


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media")
    Image.new("RGB", (2000, 1000), "red").save(folder / "red.png")
    Image.new("RGB", (30, 20), "blue").save(folder / "blue.png")
    (folder / "broken.png").write_bytes(b"no picture")
    write_video(folder / "film.mp4", [n / 2 for n in range(80)], pictures=[numbered(n) for n in range(80)])
    return folder


def seen(evidence: list[RegionView], sees_media: bool = True) -> tuple[Request, Trace]:
    trace = Trace()
    with roles_over("x", sees_media) as (roles, server):
        roles.reader.read(PLAIN, evidence, trace)
        return server.requests[0], trace


def test_images_and_frames_reach_the_model_as_parts(media: Path) -> None:
    evidence = [NILE, RegionView("b/red", "image", "Red", 0, 1, "Red. A wall", media=str(media / "red.png")),
                RegionView("b/film", "video", "Film", 0, 2, "Film. Bars", media=str(media / "film.mp4"),
                           span=(0.0, 40.0),
                      times=(5.0, 15.0, 25.0))]
    request, trace = seen(evidence)
    content = next(m["content"] for m in request["messages"] if m["role"] == "user")
    assert [p["type"] for p in content] == ["text", "image_url", "text", "image_url", "image_url", "image_url", "text"]
    assert (
        content[0]["text"].endswith("[2] (image) Red. A wall\n")
        and content[2]["text"] == "\n[3] (video, 0 to 40 s) Film. Bars\nFrames at 5, 15, 25 s:\n"
    )
    red, *frames = map(decoded, pictures_of(request))
    assert (
        red.width * red.height <= PIXELS < (red.width + 2) * (red.height + 1) and abs(red.width / red.height - 2) < 0.01
    )
    assert [number_of(f) for f in frames] == [10, 30, 50] and not trace.notes
    assert pictures_of(request) == pictures_of(seen(evidence)[0])


def test_a_model_without_eyes_gets_words_alone(media: Path) -> None:
    request, _ = seen([RegionView("b/red", "image", "Red", 0, 1, "Red. A wall", media=str(media / "red.png"))],
                      sees_media=False)
    assert isinstance(request["messages"][1]["content"],
                      str) and "[1] (image) Red. A wall" in request["messages"][1]["content"]


def test_small_pictures_stay_as_they_are(media: Path) -> None:
    request, _ = seen([RegionView("b/blue", "image", "", 0, 1, "", media=str(media / "blue.png"))])
    assert decoded(pictures_of(request)[0]).size == (30, 20) and "(no words)" in words_of(request)


def test_what_cannot_be_shown_is_said_and_counted(media: Path) -> None:
    evidence = [RegionView("b/a", "image", "Broken", 0, 1, "", media=str(media / "broken.png")),
                RegionView("b/b", "image", "Gone", 0, 1, "", media=str(media / "gone.png")),
                RegionView("b/c", "video", "Film", 0, 1, "", media=str(media / "film.mp4"), span=(0, 99),
                           times=(5.0, 90.0)),
                RegionView("b/d", "video", "None", 0, 1, "", media=str(media / "broken.png"), times=(5.0,)),
                RegionView("b/e", "image", "No file", 0, 1, "")]
    request, trace = seen(evidence)
    assert trace.notes == {"images that cannot be shown": 2, "frames that cannot be shown": 1,
                           "videos that cannot be shown": 1}
    assert (
        words_of(request).count("itself cannot be shown") == 3
        and len(pictures_of(request)) == 1
        and not trace.calls[0].fallback
    )


def test_the_critic_sees_pictures_too(media: Path) -> None:
    with roles_over('{"sufficient": true, "missing": "", "query": ""}', True) as (roles, server):
        roles.critic.judge("What colour?", [RegionView("b/red", "image", "Red", 0, 1, "",
                                                       media=str(media / "red.png"))],
                           None, Trace())
        assert len(pictures_of(server.requests[0])) == 1 and prompt_of(server.requests[0]) == "critic"
