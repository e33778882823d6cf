"""Chat completions over any OpenAI-compatible server.

A response cache, schemas if the server knows them, accounts of every call.
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
from canopy.llm.completion import TimedCompletion, read_completion, replace_half_characters
from canopy.llm.roles import Call, Trace
from canopy.llm.wire import Failed, Refused, Server, Wire

SCHEMA_REFUSALS = frozenset({400, 404, 415, 422, 501})
# If a role's requests are refused so often without one reply, the server cannot do what the role needs (images, a long
# context), and the run stops.
REFUSAL_LIMIT = 8


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
        """The reply's text. If the server refuses a schema it is asked again without, and from then on, in later
        runs too, never with that schema.

        Raises
        ------
        Refused
            If the server refuses this request; its ``lasting`` tells whether others fare no better.
        ServerError
            If the server cannot be reached or fails after all tries.
        """
        request: dict[str, Any] = {"model": self.model, "messages": replace_half_characters(list(messages)),
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
        """The reply to a request with a schema on which the server has failed.

        It is asked without the schema, then with it again. If the second succeeds, the server had only been down, and
        the schema is used on; otherwise the reply without the schema counts. One call is counted, that of the reply.
        """
        alone, again = Trace(), Trace()
        text, own = self._ask(role, plain, alone), alone
        try:
            text, own = self._ask(role, structured, again), again
        except Refused as e:
            if e.status not in SCHEMA_REFUSALS:
                raise
            self._note_refusal(schema, lasting=True)
        except Failed as e:
            if e.status >= 500:
                self._note_refusal(schema, lasting=False)
        trace.calls += own.calls
        trace.spend("llm", own.seconds["llm"])
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
            reply: Mapping[str, Any] | None = self.cache.get(key) if self.cache is not None else None
            cached = reply is not None
            if reply is None:
                reply = self._post(role, request)
                if self.cache is not None:
                    self.cache.put(key, reply)
        self._served.add(role)
        trace.calls.append(Call(role, reply["prompt_tokens"], reply["completion_tokens"], reply["seconds"], cached))
        trace.spend("llm", reply["seconds"])
        return reply["text"]

    def _post(self, role: str, request: Mapping[str, Any]) -> TimedCompletion:
        try:
            reply, seconds = self.wire.ask(f"{self.wire.base}/chat/completions", request, read_completion)
        except Refused as e:
            role = role.removesuffix("_repair")
            with self._lock:
                self._refusals[role] += "response_format" not in request  # it may be the schema that is refused
                useless = role not in self._served and self._refusals[role] >= REFUSAL_LIMIT
            if useless and not e.lasting:
                raise Refused(f"{e} (all {REFUSAL_LIMIT} requests of the role {role} were refused)", e.status,
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
