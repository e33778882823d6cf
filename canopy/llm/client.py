"""Chat completions over any OpenAI-compatible server: bounded concurrency, retries with back-off, a response cache, accounts of every call."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canopy.errors import ServerError
from canopy.llm.cache import ReplyCache, request_key
from canopy.llm.roles import Call, Trace

LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where the model is. ``base_url`` ends before ``/chat/completions`` (``http://127.0.0.1:8000/v1``)."""

    base_url: str
    model: str
    key: str = ""
    concurrency: int = 32
    timeout_seconds: float = 120.0
    tries: int = 6
    temperature: float = 0.0


class Refused(ServerError):
    """The server says that the request itself is wrong (4xx): asking again would not help."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ChatClient:
    """See `canopy.llm.roles.Chat`; safe for many threads, each of which waits for its own reply.

    Parameters
    ----------
    cache : ReplyCache or None
        None asks the server every time.
    wait : callable
        Called with seconds before another try.
    """

    def __init__(self, server: Server, cache: ReplyCache | None = None, wait: Callable[[float], None] = time.sleep) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        self.server, self.model, self._cache, self._wait = server, server.model, cache, wait
        self._free = threading.BoundedSemaphore(server.concurrency)
        self._session = requests.Session()
        # Loopback servers are asked directly, whatever proxy the environment names; a server elsewhere is asked as the environment says.
        self._session.trust_env = not any(f"//{h}" in server.base_url for h in ("127.0.0.1", "localhost", "[::1]"))
        self._session.mount("http://", HTTPAdapter(pool_maxsize=server.concurrency))
        self._session.mount("https://", HTTPAdapter(pool_maxsize=server.concurrency))
        if server.key:
            self._session.headers["Authorization"] = f"Bearer {server.key}"
        self._schema_refused = threading.Event()
        self._asking: dict[str, threading.Event] = {}
        self._asking_lock = threading.Lock()

    @property
    def knows_schemas(self) -> bool:
        """Whether the server has not yet refused a JSON schema."""
        return not self._schema_refused.is_set()

    def complete(self, role: str, messages: Sequence[Mapping[str, Any]], trace: Trace, *, max_tokens: int = 256, stop: Sequence[str] = (),
                 schema: Mapping[str, Any] | None = None) -> str:
        """The reply's text. A server that refuses ``response_format`` is asked again, and from then on, without it.

        Raises
        ------
        ServerError
            Where the server cannot be reached or fails after all tries, or refuses the request.
        """
        request: dict[str, Any] = {"model": self.model, "messages": list(messages), "max_tokens": max_tokens, "temperature": self.server.temperature, "seed": 13}
        if stop:
            request["stop"] = list(stop)
        if schema is not None and self.knows_schemas:
            structured = {**request, "response_format": {"type": "json_schema", "json_schema": {"name": role, "schema": dict(schema), "strict": True}}}
            try:
                return self._ask(role, structured, trace)
            except Refused as e:
                if e.status not in (400, 404, 415, 422, 501):
                    raise
                plain = self._ask(role, request, trace)  # refused for another reason, this raises too
                self._schema_refused.set()
                return plain
        return self._ask(role, request, trace)

    def _ask(self, role: str, request: Mapping[str, Any], trace: Trace) -> str:
        key = request_key(request)
        started = time.perf_counter()
        with self._one_at_a_time(key):
            reply = self._cache.get(key) if self._cache else None
            cached = reply is not None
            if reply is None:
                with self._free:
                    reply = self._post(request)
                if self._cache:
                    self._cache.put(key, reply)
        seconds = time.perf_counter() - started
        trace.calls.append(Call(role, reply["prompt_tokens"], reply["completion_tokens"], seconds, cached))
        trace.spend("llm", seconds)
        return reply["text"]

    def _one_at_a_time(self, key: str) -> _Turn:
        return _Turn(self, key)

    def _post(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask until a whole reply has come. 408, 409, 425, 429 and 5xx, time-outs, cut connections and bodies that are no completion are tried again."""
        import requests

        url, trouble, told = self.server.base_url.rstrip("/") + "/chat/completions", "", None
        for attempt in range(self.server.tries):
            if attempt:
                self._wait(min(LONGEST_WAIT, told if told is not None else 0.5 * 2 ** attempt * random.uniform(0.75, 1.25)))
            told = None
            try:
                answer = self._session.post(url, data=json.dumps(request).encode(), headers={"Content-Type": "application/json"},
                                            timeout=(10.0, self.server.timeout_seconds))
            except requests.exceptions.RequestException as e:
                trouble = f"{type(e).__name__}: {str(e)[:160]}"
                continue
            if answer.status_code in (408, 409, 425, 429) or answer.status_code >= 500:
                trouble, told = f"it answered {answer.status_code}", _retry_after(answer.headers.get("Retry-After", ""))
                continue
            if answer.status_code != 200:
                raise Refused(f"{url}: the server refuses ({answer.status_code}): {answer.text[:300]}", answer.status_code)
            try:
                return _read_completion(answer.json())
            except (ValueError, KeyError, TypeError, IndexError) as e:
                trouble = f"its reply is no chat completion ({type(e).__name__}: {str(e)[:100]})"
        raise ServerError(f"{url}: no reply after {self.server.tries} tries: {trouble}; is the server up, and is CANOPY_LLM_BASE_URL right?")

    def count_tokens(self, texts: Sequence[str]) -> list[int] | None:
        """Lengths in the model's own tokens through vLLM's ``/tokenize``; None where the server has no such endpoint."""
        import requests

        url = self.server.base_url.rstrip("/").removesuffix("/v1") + "/tokenize"
        out = []
        for text in texts:
            try:
                answer = self._session.post(url, json={"model": self.model, "prompt": text, "add_special_tokens": False}, timeout=(5.0, 30.0))
                out.append(int(answer.json()["count"]))
            except (requests.exceptions.RequestException, ValueError, KeyError, TypeError):
                return None
        return out


class _Turn:
    """Equal requests asked at the same time wait for the first one's reply instead of asking too."""

    def __init__(self, client: ChatClient, key: str) -> None:
        self._client, self._key = client, key

    def __enter__(self) -> None:
        while self._client._cache is not None:
            with self._client._asking_lock:
                other = self._client._asking.get(self._key)
                if other is None:
                    self._client._asking[self._key] = threading.Event()
                    return
            other.wait()

    def __exit__(self, *problem: object) -> None:
        with self._client._asking_lock:
            mine = self._client._asking.pop(self._key, None)
        if mine is not None:
            mine.set()


def _retry_after(value: str) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        return None


def _read_completion(body: Any) -> dict[str, Any]:
    """Text and token counts of a completion; a missing text (content filtered, tool call) reads as empty."""
    choice = body["choices"][0]
    text = choice["message"].get("content") or ""
    if not isinstance(text, str):
        raise TypeError("its content is not a string")
    usage = body.get("usage") or {}
    return {"text": text, "prompt_tokens": int(usage.get("prompt_tokens") or 0), "completion_tokens": int(usage.get("completion_tokens") or 0),
            "finish": str(choice.get("finish_reason") or "")}
