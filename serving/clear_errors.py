"""Turns BentoML's validation report into one sentence that names the field and what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def explain(report: object) -> dict[str, str] | None:
    """``{"error": "k: Input should be ..."}`` from a validation report; None if it is something else."""
    if not isinstance(report, dict) or not isinstance(report.get("detail"), list):
        return None
    sentences = []
    for problem in report["detail"]:
        place = ".".join(map(str, problem.get("loc", ())))
        message = str(problem.get("msg", "")).removeprefix("Value error, ")
        sentences.append(f"{place}: {message}" if place else message)
    return {"error": "; ".join(sentences)}


class ClearErrors:
    """ASGI middleware: rewrites the body of 400 answers that hold a validation report."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and hold back a 400 answer until it is whole."""
        start: Message | None = None
        body = b""

        async def rewrite(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] == 400:
                start = message
                return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            await send_clear(start, body, send)

        await self._app(scope, receive, rewrite if scope["type"] == "http" else send)


async def send_clear(start: Message, body: bytes, send: Send) -> None:
    """Send a 400 answer, with a clear body if it holds a validation report."""
    try:
        answer = explain(json.loads(body))
    except ValueError:
        answer = None
    if answer is not None:
        body = json.dumps(answer).encode()
        headers = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
        start = {**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]}
    await send(start)
    await send({"type": "http.response.body", "body": body})
