"""Chat completions over any OpenAI-compatible server.

A response cache, schemas where the server knows them, accounts of every call.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from canopy.llm.cache import ReplyCache, request_key
from canopy.llm.roles import Call, Trace
from canopy.llm.wire import Failed, Refused, Server, Wire

SCHEMA_REFUSALS = frozenset({400, 404, 415, 422, 501})
# So many refusals of a role's requests, and not one reply: the server cannot do what the role needs (images, a long
# context), and the run should stop.
HOPELESS = 8


class ChatClient:
    """See `canopy.llm.roles.Chat`; safe for many threads, each of which waits for its own reply.

    Parameters
    ----------
    cache : ReplyCache or None
        None asks the server every time.
    wait : callable
        Called with seconds before another try.
    """

    def __init__(self, server: Server, cache: ReplyCache | None = None,
                 wait: Callable[[float], None] = time.sleep) -> None:
        self.server, self.model, self.cache = server, server.model, cache
        self.wire = Wire(server, wait)
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Event] = {}
        self._refused_schemas: set[str] = set()
        self._served: set[str] = set()
        self._refusals: Counter[str] = Counter()

    def complete(self, role: str, messages: Sequence[Mapping[str, Any]], trace: Trace, *, max_tokens: int = 256,
                 stop: Sequence[str] = (),
                 schema: Mapping[str, Any] | None = None) -> str:
        """The reply's text. Where the server refuses a schema it is asked again without, and from then on, in later
        runs too, never with that schema.

        Raises
        ------
        Refused
            Where the server refuses this request; its ``lasting`` tells whether others fare no better.
        ServerError
            Where the server cannot be reached or fails after all tries.
        """
        request: dict[str, Any] = {"model": self.model, "messages": _whole_characters(list(messages)),
                                   "max_tokens": max_tokens,
                                   "temperature": self.server.temperature, "seed": self.server.seed}
        if stop:
            request["stop"] = list(stop)
        if schema is not None and not self._refuses(schema):
            name = re.sub(r"[^A-Za-z0-9_-]", "_", role)[:64]
            structured = {**request, "response_format": {"type": "json_schema",
                                                         "json_schema": {"name": name, "schema": dict(schema),
                                                                         "strict": True}}}
            try:
                return self._ask(role, structured, trace)
            except Refused as e:
                if e.status not in SCHEMA_REFUSALS:
                    raise
                plain = self._ask(role, request, trace)  # refused for another reason, this raises too
                self._note_refusal(schema, lasting=True)
                return plain
            except Failed as e:  # some servers fail on a schema instead of refusing it
                if e.status < 500:
                    raise
                return self._ask_either(role, structured, request, schema, trace)
        return self._ask(role, request, trace)

    def _ask_either(self, role: str, structured: Mapping[str, Any], plain: Mapping[str, Any],
                    schema: Mapping[str, Any], trace: Trace) -> str:
        """The reply to a schema on which the server has failed: had it only been down, as asking again after a reply
        without the schema shows, that changes nothing; else the reply without. One call is counted, that of the reply
        taken."""
        alone, again = Trace(), Trace()
        text, taken = self._ask(role, plain, alone), alone
        try:
            text, taken = self._ask(role, structured, again), again
        except Refused as e:
            if e.status not in SCHEMA_REFUSALS:
                raise
            self._note_refusal(schema, lasting=True)
        except Failed as e:
            if e.status >= 500:
                self._note_refusal(schema, lasting=False)
        trace.calls += taken.calls
        trace.spend("llm", taken.seconds["llm"])
        return text

    def _refuses(self, schema: Mapping[str, Any]) -> bool:
        key = self._schema_key(schema)
        if key in self._refused_schemas:
            return True
        if self.cache is not None and self.cache.get(key) is not None:
            self._refused_schemas.add(key)
            return True
        return False

    def _schema_key(self, schema: Mapping[str, Any]) -> str:
        return request_key({"model": self.model, "refused_schema": dict(schema)})

    def _note_refusal(self, schema: Mapping[str, Any], lasting: bool) -> None:
        key = self._schema_key(schema)
        self._refused_schemas.add(key)
        if lasting and self.cache is not None:
            self.cache.put(key, {"refused": True})

    def _ask(self, role: str, request: Mapping[str, Any], trace: Trace) -> str:
        key = request_key(request)
        with self._in_turn(key):
            reply = self.cache.get(key) if self.cache is not None else None
            cached = reply is not None
            if reply is None:
                reply = self._post(role, request)
                if self.cache is not None:
                    self.cache.put(key, reply)
        self._served.add(role)
        trace.calls.append(Call(role, reply["prompt_tokens"], reply["completion_tokens"], reply["seconds"], cached))
        trace.spend("llm", reply["seconds"])
        return reply["text"]

    def _post(self, role: str, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            reply, seconds = self.wire.ask(f"{self.wire.base}/chat/completions", request, read_completion)
        except Refused as e:
            role = role.removesuffix("_repair")
            with self._lock:
                self._refusals[role] += "response_format" not in request  # it may be the schema that is refused
                hopeless = role not in self._served and self._refusals[role] >= HOPELESS
            if hopeless and not e.lasting:
                raise Refused(f"{e} (all {HOPELESS} requests of the role {role} were refused)", e.status,
                              lasting=True) from None
            raise
        return {**reply, "seconds": round(seconds, 4)}

    @contextmanager
    def _in_turn(self, key: str) -> Iterator[None]:
        """Equal requests asked at the same time wait for the first one's reply, which the cache then has, instead of
        asking too."""
        if self.cache is None:
            yield
            return
        mine = threading.Event()
        while (other := self._claim(key, mine)) is not mine:
            other.wait()
        try:
            yield
        finally:
            with self._lock:
                del self._asking[key]
            mine.set()

    def _claim(self, key: str, mine: threading.Event) -> threading.Event:
        with self._lock:
            return self._asking.setdefault(key, mine)

    def models(self) -> list[str]:
        """Names of the models that the server has."""
        return self.wire.ask(f"{self.wire.base}/models", None, lambda body: [str(m["id"]) for m in body["data"]])[0]


def _whole_characters(value: Any) -> Any:
    """A request's texts with halves of characters (lone surrogates, which JSON can carry and servers choke on)
    replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {k: _whole_characters(v) for k, v in value.items()}
    return [_whole_characters(v) for v in value] if isinstance(value, list | tuple) else value


def read_completion(body: Any) -> dict[str, Any]:
    """Text and token counts of a completion; a missing text (content filtered, tool call) reads as empty, missing
    counts as 0.

    Raises KeyError, TypeError, IndexError or AttributeError where it is no completion.
    """
    choice = body["choices"][0]
    content = choice["message"].get("content") or ""
    if isinstance(content, list):  # some servers reply in parts
        content = "".join(str(p.get("text") or "") for p in content if p.get("type") in ("text", "output_text"))
    if not isinstance(content, str):
        raise TypeError("its content is not a text")
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    tokens = {k: n if isinstance(n := counts.get(k), int) and n >= 0 else 0
              for k in ("prompt_tokens", "completion_tokens")}
    return {"text": _whole_characters(content), **tokens, "finish": str(choice.get("finish_reason") or "")}
