"""Who may call the service and how much may be sent: a bearer token if one is set, and a bound on the body."""

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
            refusal = {"error": "this service needs `Authorization: Bearer <CANOPY_API_KEY>`"}
            await JSONResponse(refusal, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        refusal = {"error": f"the request is larger than {self._max_body} bytes; send fewer items a request"}
        large = JSONResponse(refusal, 413)
        length = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
        if length.isdigit() and int(length) > self._max_body:
            await large(scope, receive, send)
            return
        size, started = 0, False

        async def count() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_body:
                raise _TooLarge
            return message

        async def watch(message: Message) -> None:
            nonlocal started
            if size > self._max_body and not started:
                return  # the app's 500: it took _TooLarge for a fault of its own
            started = True
            await send(message)

        try:
            await self._app(scope, count, watch)
        except Exception:
            if size <= self._max_body:
                raise
        if size > self._max_body and not started:
            await large(scope, receive, send)
