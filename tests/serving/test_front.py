"""What stands before the worker must refuse with the right status, also where the app or the worker fails first."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import bentoml.exceptions
import pytest
from conftest import Server
from pydantic import ValidationError

from serving.access import Access
from serving.jobs import RetrieveJob
from serving.schemas import CompressRequest
from serving.service import BUSY, Canopy


@pytest.mark.parametrize("given", [
    {"items": []}, {"item_ids": []}, {"items": [], "item_ids": []}, {"items": [], "item_ids": [], "k": 3}])
def test_empty_lists_are_not_a_retrieval(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="empty; leave out to retrieve"):
        CompressRequest(question="What?", **given)
    assert CompressRequest(question="What?", item_ids=["a"], items=[]).item_ids == ["a"]


def test_the_rule_and_its_margin() -> None:
    assert CompressRequest(question="What?").margin_used() == 0.0
    assert CompressRequest(question="What?", rule="lookahead").margin_used() == 0.01
    assert CompressRequest(question="What?", rule="lookahead", margin=0).margin_used() == 0.0
    for wrong, says in (({"margin": 0.1}, "belongs to the rule `lookahead`"), ({"rule": "best"}, "rule"),
                        ({"rule": "lookahead", "margin": -1}, "margin"),
                        ({"rule": "lookahead", "margin": float("nan")}, "margin")):
        with pytest.raises(ValidationError, match=says):
            CompressRequest(question="What?", **wrong)


@pytest.mark.parametrize("catches", [True, False])
def test_chunked_body_over_the_bound_gets_413_whatever_the_app_makes_of_it(catches: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            while (await receive())["more_body"]:
                pass
        except Exception:
            if not catches:
                raise
        await send({"type": "http.response.start", "status": 500 if catches else 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the app's"})

    def answer(chunks: int) -> tuple[int, int]:
        sent: list[Any] = []
        left = [{"type": "http.request", "body": b"x" * 10, "more_body": n + 1 < chunks} for n in range(chunks)]

        async def receive() -> Any:
            return left.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(Access(app, max_body=25)({"type": "http", "path": "/compress", "headers": []}, receive, send))
        return sent[0]["status"], len(sent)

    assert answer(3) == (413, 2) and answer(2) == (500 if catches else 200, 2)


def test_overload_at_the_second_try_is_told_as_overload() -> None:
    faults: list[Exception] = [aiohttp.ServerDisconnectedError(), bentoml.exceptions.ServiceUnavailable("full")]

    async def run(_: list[str]) -> list[str]:
        raise faults.pop(0)

    front = SimpleNamespace(worker=SimpleNamespace(to_async=SimpleNamespace(run=run)))
    assert asyncio.run(Canopy.inner._ask(front, RetrieveJob("What?", 1))).error == BUSY and not faults


def test_probes_of_the_loopback_take_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ready(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = Server(f"http://127.0.0.1:{server.server_port}", None, Path()).status("/livez")  # type: ignore[arg-type]
        server.shutdown()
    assert told == 204
