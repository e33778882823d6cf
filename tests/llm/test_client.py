"""The chat client against a scripted server.

Faults change no reply and lose no call, bounds hold, equal requests are asked once, the key stays secret.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path

import pytest

from canopy.errors import ServerError
from canopy.llm import wire
from canopy.llm.cache import ReplyCache
from canopy.llm.client import REFUSAL_LIMIT, ChatClient
from canopy.llm.completion import read_completion
from canopy.llm.roles import Trace
from canopy.llm.wire import Failed, Refused, Server
from tests.llm.scripted_server import FAULTS, Request, ScriptedServer, words_of

KEY = "sk-very-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def client_of(server: ScriptedServer, cache: ReplyCache | None = None, waits: list[float] | None = None,
              **settings: object) -> ChatClient:
    configured = Server(server.url, "tiny", **{"timeout_seconds": 20.0, **settings})  # type: ignore[arg-type]
    return ChatClient(configured, cache, (lambda s: None) if waits is None else waits.append)


def ask(client: ChatClient, words: str, trace: Trace | None = None, **more: object) -> str:
    return client.complete("reader", [{"role": "user", "content": words}], trace or Trace(),
                           **more)  # type: ignore[arg-type]


def echo(request: Request) -> str:
    return f"reply to {words_of(request)}"


def first_times(fault: str, times: int) -> Callable[[Request, int], str]:
    return lambda request, before: fault if before < times else ""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_changes_no_reply(fault: str) -> None:
    with ScriptedServer(echo, faults=first_times(fault, 2)) as server:
        trace = Trace()
        late = fault in ("slow", "trickle")
        assert ask(client_of(server, timeout_seconds=0.4 if late else 20, tries=20), "seven", trace) == "reply to seven"
        assert server.count() >= 3 if late else server.count() == 3  # a busy machine may be late once more
        assert [(c.role, c.prompt_tokens, c.completion_tokens, c.cached, c.fallback)
                for c in trace.calls] == [("reader", 7, 3, False, "")]


def test_faults_at_random_lose_no_call_and_change_no_reply(tmp_path: Path) -> None:
    quick = [f for f in FAULTS if f not in ("slow", "trickle")]
    def faults(request: Request, before: int) -> str:
        number = int(words_of(request).split()[-1])
        return quick[(number + before) % len(quick)] if before < number % 4 else ""
    with ScriptedServer(echo, faults=faults) as server, ThreadPoolExecutor(16) as pool:
        client = client_of(server, ReplyCache(tmp_path / "r.sqlite"))
        assert list(pool.map(lambda n: ask(client, f"number {n}"), range(80))) == [f"reply to number {n}"
                                                                                   for n in range(80)]
        assert set(server.answered.values()) == {1} and len(server.answered) == 80
        assert sum(server.asked.values()) == 80 + sum(n % 4 for n in range(80))


def test_a_server_that_never_replies_is_an_error_that_says_so() -> None:
    with ScriptedServer(faults=lambda r,
                        before: "500") as server, pytest.raises(Failed, match=r"no reply after 3 tries: it answered "
                                                                              r"500.*CANOPY_LLM_BASE_URL") as e:
        ask(client_of(server, tries=3), "x")
    assert e.value.status == 500
    with pytest.raises(ServerError, match="no reply after 2 tries"):  # nobody listens there any more
        ask(client_of(server, tries=2), "x")


def test_waits_grow_and_follow_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with ScriptedServer(faults=first_times("429", 4)) as server:
        ask(client_of(server, waits=waits), "x")
    assert (
        [round(w) for w in waits] == sorted(round(w) for w in waits)
        and 0.75 <= waits[0] <= 1.25
        and 6 <= waits[3] <= 10
    )
    waits.clear()
    with ScriptedServer(faults=first_times("429 now", 2)) as server:
        ask(client_of(server, waits=waits), "x")
    assert waits == [0.0, 0.0]
    assert (
        wire._retry_after("3.5") == 3.5
        and wire._retry_after("-1") == 0
        and wire._retry_after("nan") is None
        and wire._retry_after("soon") is None
    )
    monkeypatch.setattr(wire.time, "time", lambda: 1_000_000.0)
    assert wire._retry_after(formatdate(1_000_030, usegmt=True)) == 30


@pytest.mark.parametrize("limit", [1, 4, 32])
def test_never_more_than_the_limit_are_on_their_way(limit: int) -> None:
    together = threading.Barrier(limit)  # no reply before as many are there as may be
    def reply(request: Request) -> str:
        together.wait(60)
        return echo(request)
    with ScriptedServer(reply) as server, ThreadPoolExecutor(48) as pool:
        client = client_of(server, concurrency=limit)
        count = 96 if limit == 32 else 8
        assert list(pool.map(lambda n: ask(client, f"{n}"), range(count))) == [f"reply to {n}" for n in range(count)]
        assert server.most_at_once == limit and server.count() == count


def test_equal_requests_at_the_same_time_are_asked_once(tmp_path: Path) -> None:
    with ScriptedServer(echo, delay=0.1) as server, ThreadPoolExecutor(12) as pool:
        client = client_of(server, ReplyCache(tmp_path / "r.sqlite"))
        traces = [Trace() for _ in range(12)]
        assert set(pool.map(lambda t: ask(client, "the same", t), traces)) == {"reply to the same"}
        assert sum(server.asked.values()) == 1
        assert sorted(t.calls[0].cached for t in traces) == [False] + [True] * 11
        # each knows what the reply took
        assert len({t.calls[0].seconds for t in traces}) == 1 and traces[0].calls[0].seconds >= 0.1


def test_who_waits_for_an_equal_request_that_fails_asks_itself(tmp_path: Path) -> None:
    with ScriptedServer(echo, faults=first_times("500", 1), delay=0.05) as server, ThreadPoolExecutor(2) as pool:
        client = client_of(server, ReplyCache(tmp_path / "r.sqlite"), tries=1)
        outcomes = [f.exception() or f.result() for f in [pool.submit(ask, client, "x") for _ in range(2)]]
        assert sorted(map(str, outcomes))[1] == "reply to x" and any(isinstance(o, ServerError) for o in outcomes)


def test_another_run_asks_nothing_again(tmp_path: Path) -> None:
    with ScriptedServer(echo) as server:
        for n in range(2):
            cache = ReplyCache(tmp_path / "r.sqlite")
            trace = Trace()
            assert ask(client_of(server, cache), "x", trace) == "reply to x"
            assert trace.calls[0].cached is bool(n)
            cache.close()
        assert ask(client_of(server, ReplyCache(tmp_path / "r.sqlite"), temperature=0.5), "x")  # another request
        assert sum(server.asked.values()) == 2


def test_a_schema_that_is_refused_is_asked_for_once_for_good(tmp_path: Path) -> None:
    with ScriptedServer(lambda r: '{"a": 1}', knows_schemas=False) as server:
        for _ in range(2):
            cache = ReplyCache(tmp_path / "r.sqlite")
            client = client_of(server, cache)
            assert [ask(client, w, schema=SCHEMA) for w in ("x", "y", "z")] == ['{"a": 1}'] * 3
            cache.close()
        assert server.refused == 1 and sum(server.asked.values()) == 4


def test_a_request_that_is_refused_with_and_without_its_schema_says_nothing_about_schemas(tmp_path: Path) -> None:
    with ScriptedServer(lambda r: "!400 maximum context length is 4096" if "long" in words_of(r) else "{}") as server:
        client = client_of(server, ReplyCache(tmp_path / "r.sqlite"))
        with pytest.raises(Refused, match="maximum context length is 4096") as e:
            ask(client, "long", schema=SCHEMA)
        assert not e.value.lasting
        ask(client, "short", schema=SCHEMA)
        assert "response_format" in server.requests[-1]


def test_a_server_that_fails_on_schemas_is_asked_without() -> None:
    with ScriptedServer(lambda r: "{}", faults=lambda r, before: "500" if "response_format" in r else "") as server:
        client = client_of(server, tries=2)
        trace = Trace()
        assert [ask(client, w, trace, schema=SCHEMA) for w in "ab"] == ["{}", "{}"] and trace.count() == 2
        # Twice on, once off, twice on to see that it is the schema; then it is known.
        assert ["response_format" in r for r in server.requests] == [True, True, False, True, True, False]


def test_a_server_that_was_down_is_asked_with_the_schema_again() -> None:
    """An outage that ends between two requests is not taken for a failing schema.

    Replies stay those of a sound server.
    """
    def script(request: Request) -> str:
        return '{"a": 1}' if "response_format" in request else "one"

    with ScriptedServer(script, faults=lambda r, before: "503" if "response_format" in r and before < 2
                        and "first" in words_of(r) else "") as server:
        client, trace = client_of(server, tries=2), Trace()
        assert [ask(client, w, trace, schema=SCHEMA) for w in ("first", "second")] == ['{"a": 1}'] * 2
        assert [(c.role, c.fallback) for c in trace.calls] == [("reader", "")] * 2 and trace.seconds["llm"] > 0
        assert ["response_format" in r for r in server.requests] == [True, True, False, True, True]


def test_a_role_that_is_refused_from_the_start_stops_the_run() -> None:
    with ScriptedServer(lambda r: "!400 this model reads no images" if "picture" in words_of(r) else "ok") as server:
        client = client_of(server)
        lasting = []
        for n in range(REFUSAL_LIMIT):
            with pytest.raises(Refused) as e:
                ask(client, f"picture {n}")
            lasting.append(e.value.lasting)
        assert lasting == [False] * (REFUSAL_LIMIT - 1) + [True]
        ask(client, "words")
        with pytest.raises(Refused) as e:  # the role has been served: only this request is refused
            ask(client, "picture")
        assert not e.value.lasting


@pytest.mark.parametrize(("status", "advice"), [(401, "CANOPY_LLM_API_KEY"), (403, "CANOPY_LLM_API_KEY"),
                                                (404, "CANOPY_LLM_MODEL")])
def test_a_wrong_key_or_model_is_not_asked_again(status: int, advice: str) -> None:
    with ScriptedServer(lambda r: f"!{status} no") as server, pytest.raises(Refused, match=advice) as e:
        ask(client_of(server), "x")
    assert e.value.lasting and sum(server.asked.values()) == 1


@pytest.mark.parametrize("status", [f"!400 bad key {KEY}", f"!401 Incorrect API key provided: {KEY}", "!302 moved"])
def test_the_key_is_sent_and_never_shown(status: str) -> None:
    with ScriptedServer(lambda r: status) as server:
        client = client_of(server, key=KEY)
        with pytest.raises(Refused) as e:
            ask(client, "x")
        assert KEY not in str(e.value) and KEY not in repr(client.server)
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_a_key_that_no_header_can_carry_is_an_error_without_it() -> None:
    for key in ("sk-seçret", "sk-se cret", "sk-secret\n"):
        with pytest.raises(ServerError, match="CANOPY_LLM_API_KEY") as e:
            Server("http://127.0.0.1:9/v1", "m", key)
        assert "cret" not in str(e.value)


def test_the_key_is_not_in_the_cache(tmp_path: Path) -> None:
    with ScriptedServer(echo) as server:
        cache = ReplyCache(tmp_path / "r.sqlite")
        ask(client_of(server, cache, key=KEY), "x")
        cache.close()
        ask(client_of(server, ReplyCache(tmp_path / "r.sqlite"), key="another"), "x")
    assert sum(server.asked.values()) == 1
    assert all(KEY.encode() not in f.read_bytes() for f in tmp_path.iterdir())


def test_loopback_is_asked_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(echo) as server:
        assert ask(client_of(server), "x") == "reply to x"


def test_halves_of_characters_are_neither_sent_nor_kept(tmp_path: Path) -> None:
    with ScriptedServer(lambda r: "cut \ud83d") as server:
        cache = ReplyCache(tmp_path / "r.sqlite")
        assert [ask(client_of(server, cache), "a \udcff b 😀") for _ in range(2)] == ["cut \ufffd"] * 2
        assert server.requests[0]["messages"][0]["content"] == "a \ufffd b 😀" and len(server.requests) == 1


def test_completions_of_other_servers() -> None:
    def of(message: object, **more: object) -> dict[str, object]:
        return read_completion({"choices": [{"message": message}], **more})
    assert of({"content": None})["text"] == "" and of({"content": [{"type": "text", "text": "a"},
                                                                   {"type": "text", "text": "b"}]})["text"] == "ab"
    assert of({"content": "x"}, usage={"prompt_tokens": "many", "completion_tokens": -1}) == {"text": "x",
                                                                                              "prompt_tokens": 0,
                                                                                              "completion_tokens": 0,
                                                                                              "finish": ""}
    for broken in ([], {}, {"choices": []}, {"choices": None}, {"choices": [{"message": {"content": 5}}]},
                   {"choices": [{"message": {"content": ["x"]}}]}):
        with pytest.raises((KeyError, TypeError, IndexError, AttributeError)):
            read_completion(broken)


def test_a_reply_of_no_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_REPLY", 10_000)
    with ScriptedServer(lambda r: "x" * 20_000) as server, pytest.raises(Failed, match="larger than"):
        ask(client_of(server, tries=1), "x")


def test_many_threads_share_one_cache(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "r.sqlite")
    barrier = threading.Barrier(8)
    def work(n: int) -> None:
        barrier.wait()
        for i in range(20):
            cache.put(f"{i}", {"text": f"{i}"})
            assert cache.get(f"{i}") == {"text": f"{i}"}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(cache) == 20
