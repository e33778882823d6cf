"""Replies of a fixed shape: the schema path, the repair path, the fallback path, each with its counts.

And objects found in whatever a model writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from canopy.llm.client import ChatClient
from canopy.llm.roles import Trace
from canopy.llm.structured import Strict, ask_for, find_object, schema_of, without_thoughts
from canopy.llm.wire import Refused, Server
from tests.llm.scripted_server import Request, ScriptedServer

ASKED = [{"role": "user", "content": "say"}]


class Shape(Strict):
    """A shape to ask for."""

    good: bool
    words: list[str]


def ask(reply: Callable[[Request], str], knows_schemas: bool = True) -> tuple[Shape | None, Trace, ScriptedServer]:
    with ScriptedServer(reply, knows_schemas=knows_schemas) as server:
        trace = Trace()
        return ask_for(Shape, ChatClient(Server(server.url, "tiny")), "critic", ASKED, trace), trace, server


def roles(trace: Trace) -> list[tuple[str, str]]:
    return [(c.role, c.fallback) for c in trace.calls]


class Titled(Strict):
    """A shape whose words could be taken for a schema's own."""

    title: str
    description: list[Shape]


def test_schemas_hold_no_words_of_the_code() -> None:
    schema = schema_of(Titled)
    assert set(schema["properties"]) == {"title", "description"} and schema["properties"]["title"] == {"type": "string"}
    assert "could be taken" not in json.dumps(schema) and "A shape to ask for" not in json.dumps(schema)


@pytest.mark.parametrize("knows_schemas", [True, False])
def test_a_good_reply_takes_one_call(knows_schemas: bool) -> None:
    reply, trace, server = ask(lambda r: '{"good": true, "words": ["a"]}', knows_schemas)
    assert reply == Shape(good=True, words=["a"]) and roles(trace) == [("critic", "")]
    sent = server.requests[0]["response_format"]
    assert (
        sent["type"] == "json_schema"
        and sent["json_schema"]["strict"] is True
        and sent["json_schema"]["name"] == "critic"
    )
    assert sent["json_schema"]["schema"]["additionalProperties"] is False and sent["json_schema"]["schema"][
        "required"
    ] == ["good", "words"]
    assert len(server.requests) == (1 if knows_schemas else 2)


@pytest.mark.parametrize(("first", "trouble"), [
    ("Yes, it is enough.", "no JSON object in it"), ('{"good": "true", "words": []}',
                                                     "good: Input should be a valid boolean"),
    ('{"good": true}', "words: Field required"), ('{"good": true, "words": [], "more": 1}',
                                                  "more: Extra inputs are not permitted"), ("", "no JSON object in it"),
    ('{"good": true, "words": ["a"', "no JSON object in it")])
def test_an_unusable_reply_is_repaired_once(first: str, trouble: str) -> None:
    reply, trace, server = ask(lambda r: first if len(r["messages"]) == 1 else 'Here: {"good": false, "words": []}')
    assert reply == Shape(good=False, words=[]) and roles(trace) == [("critic", ""), ("critic_repair", "")]
    repair = server.requests[1]["messages"]
    assert (
        [m["role"] for m in repair] == ["user", "assistant", "user"]
        and trouble in repair[2]["content"]
        and '"good"' in repair[2]["content"]
    )


def test_a_reply_that_cannot_be_repaired_is_given_up_and_counted() -> None:
    reply, trace, server = ask(lambda r: "no")
    assert reply is None and roles(trace) == [("critic", ""),
                                             ("critic_repair", "no JSON object in it")] and len(server.requests) == 2


def test_a_request_that_is_refused_is_given_up_and_counted() -> None:
    reply, trace, _ = ask(lambda r: "!400 too long")
    assert reply is None and roles(trace) == [("critic", "the server refuses it (400)")]


def test_a_refusal_that_lasts_is_raised() -> None:
    with pytest.raises(Refused):
        ask(lambda r: "!401 no")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                    lambda x: st.lists(x, max_size=3) | st.dictionaries(
    st.text(max_size=5), x, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
PROSE = st.text(st.characters(blacklist_characters="{}`<", blacklist_categories=("Cs",)), max_size=40)


@given(OBJECTS, PROSE, PROSE, st.sampled_from([None, 1]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_an_object_is_found_between_words(value: dict[str, object], before: str, after: str, indent: int | None,
                                          ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assume("</think>" not in text and "```" not in text)
    assert find_object(before + text + after) == value


@given(OBJECTS, PROSE, PROSE)
@settings(max_examples=60, deadline=None)
def test_an_object_is_found_in_a_fence_and_after_thoughts(value: dict[str, object], before: str, after: str) -> None:
    text = json.dumps(value)
    assume("think>" not in text and "```" not in text)
    assert find_object(f"{before}\n```json\n{text}\n```\n{after}") == value
    thoughts = "<think>maybe {\"x\": 1} or " + before + "</think>"
    assert find_object(thoughts + text) == value


@given(st.text(alphabet='{}[]":,\\ab1 \n`<think>/', max_size=200))
@settings(max_examples=200, deadline=None)
def test_whatever_is_written_gives_an_object_or_a_value_error(text: str) -> None:
    try:
        assert isinstance(find_object(text), dict)
    except ValueError as e:
        assert str(e) == "no JSON object in it"


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a":' * 30_000, '{"a":[{' * 20_000, "[" * 100_000, '"' * 100_000,
                                  "```\n" * 30_000])
def test_endless_nesting_ends(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        find_object(text)


def test_thoughts_are_left_out() -> None:
    assert (
        without_thoughts("<think>a</think> b") == "b"
        and without_thoughts("a</think>\nb") == "b"
        and without_thoughts("<think>cut off") == ""
    )
    assert without_thoughts("<think>a</think>b<think>c</think> d ") == "d" and without_thoughts("plain") == "plain"
    with pytest.raises(ValueError, match="no JSON"):
        find_object('<think> the shape is {"a": 1} but')
