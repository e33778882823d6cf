"""An OpenAI-compatible server on loopback whose replies a function gives, with faults on demand, and books of what
was asked and answered."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from canopy.llm.cache import request_key
from canopy.llm.prompting import load_prompt, prompt_names

Request = dict[str, Any]
Script = Callable[[Request], str]
# What may go wrong with a request: `slow` is later than the client waits, `trickle` sends byte by byte, `cut` ends in
# the middle of the body, `reset` with an RST.
FAULTS = ("429", "429 now", "500", "503", "close", "reset", "cut", "cut chunks", "garbage", "no completion", "null",
          "slow", "trickle")


def prompt_of(request: Request) -> str:
    """Name of the prompt that a request was made from, empty where it is none of ours."""
    system = next((m["content"] for m in request["messages"] if m["role"] == "system"), "")
    words = words_of(request)
    fits = [n for n in prompt_names() if load_prompt(n).system == system]
    return next((n for n in fits if all(line in words for line in _fixed(n))), "")


def _fixed(name: str) -> list[str]:
    return [line for line in load_prompt(name).user.splitlines() if line and "{" not in line]


def words_of(request: Request) -> str:
    """All words of a request's first user message."""
    content = next(m["content"] for m in request["messages"] if m["role"] == "user")
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def pictures_of(request: Request) -> list[str]:
    """The data URIs in a request."""
    return [p["image_url"]["url"] for m in request["messages"] if isinstance(m["content"], list) for p in m["content"]
            if p["type"] == "image_url"]


def sources_of(request: Request) -> list[str]:
    """The modalities that the router may choose from."""
    return re.findall(r"^- (\w+): ", words_of(request), re.M)


def answer_plainly(request: Request) -> str:
    """A reply that every role can use: enough evidence, a lookup, texts, and always the same answer."""
    name = prompt_of(request)
    replies = {"critic": '{"sufficient": true, "missing": "", "query": ""}', "classifier": '{"kind": "lookup"}',
               "router": json.dumps({m: m == "text" for m in sources_of(request)}),
               "critic_memory": '{"facts": [], "sufficient": true, "missing": "", "query": ""}', "reader_option": "B",
               "closed_option": "A"}
    return replies.get(name, "forty-two")


class ScriptedServer:
    """Use as a context manager; ``url`` is the base URL.

    Parameters
    ----------
    script : callable
        Request to the reply's text.
    faults : callable
        (request, how many times it was asked before) to one of `FAULTS` or "" (no fault).
    knows_schemas : bool
        Without it a ``response_format`` is refused with 400.
    tokenizer : str
        ``vllm``, ``llama.cpp`` or "" (no ``/tokenize``): blanks separate tokens.
    delay : float
        Seconds before each reply.
    """

    def __init__(self, script: Script = answer_plainly, *, faults: Callable[[Request, int], str] = lambda request,
                 before: "", knows_schemas: bool = True,
                 tokenizer: str = "vllm", models: Iterable[str] = ("tiny",), delay: float = 0.0,
                 slow: float = 1.0) -> None:
        self.script, self.faults, self.knows_schemas, self.tokenizer, self.delay, self.slow = (
            script,
            faults,
            knows_schemas,
            tokenizer,
            delay,
            slow,
        )
        self.models = list(models)
        self.requests: list[Request] = []
        self.headers: list[dict[str, str]] = []
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.refused = 0
        self.most_at_once = 0
        self._at_once = 0
        self.lock = threading.Lock()
        self.done = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType
                 | None) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()

    def count(self, prompt: str = "") -> int:
        """How often a prompt, or any, was asked, repeats after faults included."""
        with self.lock:
            return sum(not prompt or prompt_of(r) == prompt for r in self.requests)

    def enter(self, request: Request, headers: dict[str, str]) -> int:
        """Book a request; how often it was asked before."""
        key = request_key(request)
        with self.lock:
            self.requests.append(request)
            self.headers.append(headers)
            self.asked[key] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return self.asked[key] - 1

    def leave(self) -> None:
        """A request is over."""
        with self.lock:
            self._at_once -= 1


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up in these tests."""


def _handler(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": m, "object": "model"} for m in server.models]})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                self._tokenize(request)
                return
            before = server.enter(request, dict(self.headers))
            try:
                self._chat(request, server.faults(request, before))
            finally:
                server.leave()

        def _tokenize(self, request: Request) -> None:
            if server.tokenizer == "vllm" and "prompt" in request:
                words = request["prompt"].split()
                self._send(200, {"count": len(words), "max_model_len": 4096, "tokens": list(range(len(words)))})
            elif server.tokenizer == "llama.cpp":
                self._send(200, {"tokens": list(range(len(request.get("content", "").split())))})
            else:
                self._send(404, {"detail": "Not Found"})

        def _chat(self, request: Request, fault: str) -> None:
            if not server.knows_schemas and "response_format" in request:
                server.refused += 1
                self._send(400, {"error": {"message": "response_format is not supported", "code": 400}})
                return
            time.sleep(server.delay)
            if fault:
                self._fail(fault)
                return
            text = server.script(request)
            if text.startswith("!"):  # a script refuses a request: "!400 too long"
                self._send(int(text[1:4]), {"error": {"message": text[5:]}})
                return
            self._send(200, completion(text))
            with server.lock:
                server.answered[request_key(request)] += 1

        def _fail(self, fault: str) -> None:
            self.close_connection = fault in ("close", "reset", "cut", "cut chunks", "slow", "trickle")
            body = json.dumps(completion("forty-two")).encode()
            if fault == "429":
                self._send(429, {"error": {"message": "slow down"}})
            elif fault == "429 now":
                self._send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})
            elif fault in ("500", "503"):
                self._send(int(fault), {"error": {"message": "out of memory"}})
            elif fault in ("close", "reset"):
                if fault == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            elif fault == "cut":
                self._begin({"Content-Length": str(len(body))})
                self.wfile.write(body[:len(body) // 2])
            elif fault == "cut chunks":
                self._begin({"Transfer-Encoding": "chunked"})
                self.wfile.write(b"%x\r\n" % len(body) + body[:len(body) // 2])
            elif fault == "garbage":
                self._begin({"Content-Length": "9"})
                self.wfile.write(b"<html>\xff{}")
            elif fault == "no completion":
                self._send(200, {"object": "error", "message": "the engine died"})
            elif fault == "null":
                self._send(200, {"choices": [{"message": None}]})
            elif fault == "slow":
                server.done.wait(server.slow)
            elif fault == "trickle":
                self._begin({"Content-Length": str(len(body))})
                for n in range(len(body)):
                    if server.done.wait(server.slow / 8):
                        return
                    self.wfile.write(body[n:n + 1])
                    self.wfile.flush()

        def _begin(self, headers: dict[str, str]) -> None:
            self.send_response(200)
            for k, v in {"Content-Type": "application/json", **headers}.items():
                self.send_header(k, v)
            self.end_headers()
            self.wfile.flush()

        def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            for k, v in {"Content-Type": "application/json", "Content-Length": str(len(content)),
                         **(headers or {})}.items():
                self.send_header(k, v)
            self.end_headers()
            self.wfile.write(content)

    return Handler


def completion(text: str) -> dict[str, Any]:
    """A chat completion; its usage counts blanks."""
    return {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
                                                                 "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": len(text.split()), "total_tokens": 7
                      + len(text.split())}}
