"""Turns BentoML's validation report into one sentence that names the field and what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def explain(report: Any) -> dict[str, Any] | None:
    """``{"error": "k: Input should be ..."}`` from a validation report; None where it is none."""
    if not isinstance(report, dict) or not isinstance(report.get("detail"), list):
        return None
    told = [(".".join(map(str, d.get("loc", ()))), str(d.get("msg", "")).removeprefix("Value error, ")) for d in report["detail"]]
    return {"error": "; ".join(f"{where}: {what}" if where else what for where, what in told)}


class ClearErrors:
    """ASGI middleware: rewrites the body of 400 answers that hold a validation report."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and hold back a 400 answer until it is whole."""
        held: list[Message] = []
        body = b""

        async def rewrite(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start" and message["status"] == 400:
                held.append(message)
                return
            if not held:
                await send(message)
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            start = held[0]
            try:
                told = explain(json.loads(body))
            except ValueError:
                told = None
            if told is not None:
                body = json.dumps(told).encode()
                headers = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
                start = {**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]}
            await send(start)
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, rewrite if scope["type"] == "http" else send)
