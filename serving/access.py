"""Who may call the service and how much may be sent: a bearer token where one is set, and a bound on the body."""

from __future__ import annotations

import hmac
import os
from typing import TYPE_CHECKING

from serving.schemas import MAX_BODY_BYTES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN_PATHS = frozenset({"/", "/livez", "/healthz", "/readyz", "/metrics"})


class _TooLarge(Exception):
    pass


class Access:
    """ASGI middleware: 401 without the token that ``CANOPY_API_KEY`` states, 413 for a body over the bound.

    Probes, metrics and the explorer page stay open; the page asks for the token itself.
    """

    def __init__(self, app: ASGIApp, max_body: int = MAX_BODY_BYTES) -> None:
        self._app, self._max_body = app, max_body
        self._key = os.environ.get("CANOPY_API_KEY", "")

    def _allows(self, scope: Scope) -> bool:
        if not self._key or scope["path"] in OPEN_PATHS:
            return True
        sent = next((v for k, v in scope["headers"] if k == b"authorization"), b"")
        return hmac.compare_digest(sent, f"Bearer {self._key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        from starlette.responses import JSONResponse

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not self._allows(scope):
            told = {"error": "this service needs `Authorization: Bearer <CANOPY_API_KEY>`"}
            await JSONResponse(told, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        large = JSONResponse({"error": f"the request is larger than {self._max_body} bytes; send fewer items a request"}, 413)
        length = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
        if length.isdigit() and int(length) > self._max_body:
            await large(scope, receive, send)
            return
        seen, answered = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_body:
                raise _TooLarge
            return message

        async def watched(message: Message) -> None:
            nonlocal answered
            if seen > self._max_body and not answered:
                return  # the app's 500: it took _TooLarge for a fault of its own
            answered = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except Exception:
            if seen <= self._max_body:
                raise
        if seen > self._max_body and not answered:
            await large(scope, receive, send)
