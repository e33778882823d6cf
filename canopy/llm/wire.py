"""One server on the wire.

Bounded concurrency, retries with back-off, limits on time and size, and a key that no message shows.

The retries are our own and not urllib3's ``Retry``. A try has a deadline up to the last byte of its reply and a bound
on the reply's size, a reply that cannot be read is tried again, ``Retry-After`` has an upper limit, and a call that
waits keeps its place among ``concurrency``.
"""

from __future__ import annotations

import ipaddress
import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from canopy.errors import ServerError

T = TypeVar("T")
LONGEST_WAIT = 60.0  # seconds between two tries
LARGEST_REPLY = 32 * 2**20  # bytes
_ADDRESS = "language.base_url in params.yaml, else CANOPY_LLM_BASE_URL"
AGAIN = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Server:
    """Where the model is. ``base_url`` ends before ``/chat/completions`` (``http://127.0.0.1:8000/v1``).

    ``timeout_seconds``: of one try, from the request to the last byte of its reply. ``tries``: of one call, the first
    included.
    """

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    concurrency: int = 32
    timeout_seconds: float = 120.0
    tries: int = 6
    temperature: float = 0.0
    seed: int = 13

    def __post_init__(self) -> None:
        if not all(33 <= ord(c) <= 126 for c in self.key):
            raise ServerError("CANOPY_LLM_API_KEY holds a character that no HTTP header can carry (a blank, a line "
                              "break, a letter beyond ASCII): set it again")


class Refused(ServerError):
    """The server says that the request itself is wrong (4xx): asking again would not help.

    ``lasting``: no other request would fare better (a wrong key, model or address), so that a run should stop; else a
    role may fall back.
    """

    def __init__(self, message: str, status: int, lasting: bool = False) -> None:
        super().__init__(message)
        self.status, self.lasting = status, lasting


class Failed(ServerError):
    """All tries failed. ``status``: of the last answer, 0 if the server did not answer at all."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Trouble(Exception):
    """A try that failed and is worth another one, after ``wait`` seconds if the server asks for that."""

    def __init__(self, what: str, status: int = 0, wait: float | None = None) -> None:
        super().__init__(what)
        self.status, self.wait = status, wait


class Wire:
    """Requests to a server, safe for many threads; at most ``server.concurrency`` are on their way at any time.

    Parameters
    ----------
    wait : callable
        Called with seconds before another try. A call keeps its place while it waits, so that a server that is
        overloaded gets less to do.
    """

    def __init__(self, server: Server, wait: Callable[[float], None] = time.sleep) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        self.server, self._wait = server, wait
        self.base = server.base_url.rstrip("/")
        self._free = threading.BoundedSemaphore(server.concurrency)
        self._session = requests.Session()
        # Loopback servers are asked directly, whatever proxy the environment names; a server elsewhere is asked as the
        # environment says.
        self._session.trust_env = not _is_loopback(server.base_url)
        self._session.mount("http://", HTTPAdapter(pool_maxsize=server.concurrency))
        self._session.mount("https://", HTTPAdapter(pool_maxsize=server.concurrency))
        if server.key:
            self._session.auth = self._sign  # as `auth`, since a .netrc would replace a header

    def _sign(self, request: Any) -> Any:
        request.headers["Authorization"] = f"Bearer {self.server.key}"
        return request

    def ask(self, url: str, body: Mapping[str, Any] | None, read: Callable[[Any], T]) -> tuple[T, float]:
        """POST a body (None: GET) until a reply has come that ``read`` can read.

        408, 409, 425, 429 and 5xx (but 501), time-outs, cut connections and replies that ``read`` fails on are tried
        again.

        Returns
        -------
        read : T
        seconds : float
            From the first try to the reply.

        Raises
        ------
        Refused
            Another 4xx, 501, or a redirect.
        Failed
            No usable reply after all tries.
        """
        trouble = _Trouble("")
        with self._free:
            started = time.perf_counter()
            for attempt in range(self.server.tries):
                if attempt:
                    self._wait(min(LONGEST_WAIT, trouble.wait if trouble.wait is not None
                                   else 0.5 * 2 ** attempt * random.uniform(0.75, 1.25)))
                try:
                    return read(json.loads(self._try(url, body))), time.perf_counter() - started
                except _Trouble as e:
                    trouble = e
                except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as e:
                    trouble = _Trouble(f"its reply is not of the kind that was asked for ({type(e).__name__}: "
                                       f"{str(e)[:100]})", 200)
        message = (f"{url}: no reply after {self.server.tries} tries: {trouble}; is the server up, "
                   f"and is its address right ({_ADDRESS})?")
        raise Failed(self._hide(message), trouble.status)

    def _try(self, url: str, body: Mapping[str, Any] | None) -> bytes:
        """The body of a 200."""
        import requests
        import urllib3

        data = None if body is None else json.dumps(body).encode()
        kind = None if body is None else {"Content-Type": "application/json"}
        limit = self.server.timeout_seconds
        deadline = time.monotonic() + limit
        try:
            with self._session.request("GET" if body is None else "POST", url, timeout=(min(10.0, limit), limit),
                                       stream=True, allow_redirects=False, data=data, headers=kind) as answer:
                content = _read_body(answer.raw, deadline)
                status, headers = answer.status_code, answer.headers
        except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError):
            raise _Trouble(f"none within {limit:g} s") from None
        except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema,
                requests.exceptions.InvalidSchema) as e:
            raise Refused(self._hide(f"{url}: not a web address: {e}"), 0, lasting=True) from None
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as e:
            raise _Trouble(f"{type(e).__name__}: {str(e)[:160]}") from None
        if status == 200:
            return content
        if status in AGAIN or (status >= 500 and status != 501):
            raise _Trouble(f"it answered {status}", status, _retry_after(headers.get("Retry-After", "")))
        reason = f"it redirects to {headers.get('Location', 'nowhere')}" if 300 <= status < 400 else _error_of(content)
        raise Refused(self._hide(f"{url}: the server refuses ({status}): {reason}{_advice(status)}"), status,
                      lasting=status < 400 or status in (401, 402, 403, 404, 405))

    def _hide(self, text: str) -> str:
        return text.replace(self.server.key, "(the key)") if self.server.key else text


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_body(raw: Any, deadline: float) -> bytes:
    """A body as it comes, within the deadline.

    Each wait for bytes is bounded by the time-out, but a server may send one at a time.
    """
    parts: list[bytes] = []
    size = 0
    while part := raw.read1(65_536, decode_content=True):
        parts.append(part)
        size += len(part)
        if size > LARGEST_REPLY:
            raise _Trouble(f"its reply is larger than {LARGEST_REPLY >> 20} MiB", 200)
        if time.monotonic() > deadline:
            raise _Trouble("its reply came too slowly to end in time")
    return b"".join(parts)


def _retry_after(value: str) -> float | None:
    """Seconds that a Retry-After header asks for, given as a number or as a date; None if it is neither."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def _error_of(content: bytes) -> str:
    """What an error's body says: its ``message`` if it has one, otherwise its beginning."""
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
        error = body.get("error", body)
        text = str(error.get("message", text) if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RecursionError):
        pass
    return " ".join(text.split())[:300]


def _advice(status: int) -> str:
    return {401: "; is CANOPY_LLM_API_KEY set and right?", 403: "; is CANOPY_LLM_API_KEY right?",
            404: "; does its address end in /v1, and does it serve the model (under language in params.yaml, else "
                 "CANOPY_LLM_BASE_URL and CANOPY_LLM_MODEL)?"}.get(status, "")
