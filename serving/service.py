"""The Bento: a plain front that validates each request, and a worker behind it that answers them in batches."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

import bentoml
import bentoml.exceptions
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from canopy.bundle.manifest import CORPUS, Manifest
from canopy.corpus.reader import Corpus
from canopy.errors import CanopyError
from serving.access import Access
from serving.clear_errors import ClearErrors
from serving.jobs import (
    CompressJob,
    Job,
    Outcome,
    RetrieveJob,
    compress_response,
    decode_job,
    decode_outcome,
    encode_job,
    encode_outcome,
)
from serving.raw_items import parse_raw_items
from serving.schemas import CompressRequest, CompressResponse, ItemNote, ModelInfo, RetrieveRequest, RetrieveResponse

DEFAULT_K = 5
# Measured by bench/serving_latency.py (2 shared cores at a load of 4.5, 1,500 items, 160 mixed requests a row),
# requests/s and p99 at 32 clients: batches of 2 51/s 650 ms, of 8 54/s 700 ms, of 16 40/s 938 ms, of 64 34/s 1,257
# ms; none refused. With a bound of 100 ms instead, 146 of 160 requests were answered 503: BentoML drops a request
# that it expects to miss the bound. Hence small batches, and a bound that only an overload reaches.
MAX_BATCH = int(os.environ.get("CANOPY_MAX_BATCH", "8"))
MAX_LATENCY_MS = int(os.environ.get("CANOPY_MAX_LATENCY_MS", "20000"))
PROBE_SECONDS = 3
BUSY = "overloaded: the request waited for too long; send it again later"


def bundle_folder() -> Path:
    """The bundle to serve: CANOPY_BUNDLE, otherwise ``bundle/`` beside the code, as in a built Bento."""
    named = os.environ.get("CANOPY_BUNDLE")
    return Path(named) if named else Path(__file__).resolve().parent.parent / "bundle"


class Status(TypedDict):
    """Whether the service is ready, why not, which model it pins (its manifest), and how many items it knows."""

    ready: bool
    reason: str
    model: dict[str, object] | None
    items: int


# BentoML renews its connections to a worker after 100 requests (or 300 s) by closing those in use: with 8 clients every
# hundredth request was followed by up to 7 answers of 500. Hence bounds that are never reached.
@bentoml.service(name="canopy_compressor", threads=1, traffic={"timeout": 60},
                 runner_connection={"max_requests": 2**62, "max_age": 1e12})
class CompressorWorker:
    """Answers validated jobs in batches, with encoder, node store and index. Not reachable from outside."""

    def __init__(self) -> None:
        # Imported here: the front process never loads torch.
        from serving.compressor import ServedCompressor

        self._compressor: ServedCompressor | None = None
        self._reason = ""
        try:
            cache = int(os.environ.get("CANOPY_NODE_CACHE_MB", "256")) * 1024 * 1024
            self._compressor = ServedCompressor.open(bundle_folder(), cache)
        except (CanopyError, ValueError) as e:
            # The process stays up, so that readiness can say why it does not serve.
            self._reason = str(e)

    @bentoml.api(batchable=True, max_batch_size=MAX_BATCH, max_latency_ms=MAX_LATENCY_MS)
    def run(self, jobs: list[str]) -> list[str]:
        """Answer a batch of jobs, each by its own outcome (JSON, see ``serving.jobs``)."""
        if self._compressor is None:
            return [encode_outcome(Outcome(error=self._reason)) for _ in jobs]
        return [encode_outcome(o) for o in self._compressor.run([decode_job(j) for j in jobs])]

    @bentoml.api
    def reason(self) -> str:
        """Why the worker is not ready; empty if it is."""
        return self._reason

    def __is_ready__(self) -> bool:
        return self._compressor is not None


async def _explorer(_: Request) -> Response:
    page = (Path(__file__).parent / "explorer.html").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
    return HTMLResponse(page, headers={"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"})


async def _status(_: Request) -> Response:
    service: Any = bentoml.get_current_service()
    status = await service.describe()
    return JSONResponse(status, 200 if status["ready"] else 503)


def _refuse(status: int, error: str, **more: object) -> Any:
    # Any, for BentoML's signatures state the answer alone. ASCII, for ids may hold anything.
    return Response(json.dumps({"error": error, **more}), status, media_type="application/json")


@bentoml.service(name="canopy", traffic={"timeout": 60, "max_concurrency": 128}, metrics={"enabled": True},
                 http={"host": "127.0.0.1"})
@bentoml.asgi_app(Starlette(routes=[Route("/", _explorer), Route("/status", _status)]), path="/", name="pages")
class Canopy:
    """Evidence compression: POST /compress and /retrieve, an explorer at /, why it is not ready at /status."""

    worker = bentoml.depends(CompressorWorker)

    def __init__(self) -> None:
        from serving.telemetry import Counters

        self._counters = Counters()
        self._corpus: Corpus | None = None
        self._manifest: Manifest | None = None
        self._reason = ""
        try:
            self._manifest = Manifest.read(bundle_folder())
            self._corpus = Corpus.open_packed(bundle_folder() / CORPUS)
        except CanopyError as e:
            self._reason = str(e)

    async def describe(self) -> Status:
        """Whether the service is ready, why not, and which model it pins."""
        reason = self._reason or await self._worker_reason()
        pinned = asdict(self._manifest) if self._manifest else None
        count = 0 if self._corpus is None else len(self._corpus.ids)
        return {"ready": not reason, "reason": reason, "model": pinned, "items": count}

    async def _worker_reason(self) -> str:
        """Why the worker does not serve; BentoML's own probe would wait for a worker that is still loading."""
        try:
            return str(await asyncio.wait_for(self.worker.to_async.reason(), PROBE_SECONDS))
        except (TimeoutError, OSError, bentoml.exceptions.BentoMLException):
            return "the worker is starting, or busy for longer than a probe waits"

    async def __is_ready__(self) -> bool:
        return not self._reason and not await self._worker_reason()

    @bentoml.api
    async def compress(self, request: CompressRequest, /) -> CompressResponse:
        """The evidence forest of each item for a question: what is kept, where, and the tokens before and after."""
        notes: list[ItemNote] = []
        items, errors = parse_raw_items(request.items or [], notes)
        if self._corpus is None or self._manifest is None:
            return _refuse(503, self._reason)
        unknown = self._corpus.unknown(request.item_ids or [])
        if unknown:
            return _refuse(404, f"unknown item ids: {', '.join(unknown[:20])}", unknown=unknown)
        if errors and not items and not request.item_ids:
            return _refuse(422, "none of the items can be used", errors=[e.model_dump() for e in errors])
        job = CompressJob(request.question, tuple(request.item_ids or ()), tuple(items), request.k or DEFAULT_K,
                          request.branching, request.fragments, request.rule, request.margin_used())
        outcome = await self._ask(job)
        if outcome.error:
            return await self._fail(outcome)
        response = compress_response(request.question, outcome, errors, ModelInfo.of(self._manifest), notes)
        self._counters.count_compression(response)
        return response

    @bentoml.api
    async def retrieve(self, request: RetrieveRequest, /) -> RetrieveResponse:
        """The best ``k`` items for a question, best first."""
        if self._manifest is None:
            return _refuse(503, self._reason)
        outcome = await self._ask(RetrieveJob(request.question, request.k))
        if outcome.error:
            return await self._fail(outcome)
        self._counters.count_retrieval()
        return RetrieveResponse(question=request.question, model=ModelInfo.of(self._manifest), hits=outcome.hits)

    async def _ask(self, job: Job) -> Outcome:
        import aiohttp

        raw = [encode_job(job)]
        try:
            try:
                answer = await self.worker.to_async.run(raw)
            except aiohttp.ClientConnectionError:
                # The worker drops idle connections after 5 s, and the client may just be taking one up again. Jobs
                # change nothing: ask once more.
                answer = await self.worker.to_async.run(raw)
        except bentoml.exceptions.ServiceUnavailable:
            return Outcome(error=BUSY)
        return decode_outcome(answer[0])

    async def _fail(self, outcome: Outcome) -> Any:
        """The outcome's own status; otherwise 503 if the worker is overloaded or has no model, and 500 if it failed."""
        if outcome.status:
            return _refuse(outcome.status, outcome.error)
        unavailable = outcome.error == BUSY or await self._worker_reason()
        return _refuse(503 if unavailable else 500, outcome.error)


# BentoML's decorator makes a service of the class, which a type checker takes for the class itself.
_front: Any = Canopy
_front.add_asgi_middleware(ClearErrors)
_front.add_asgi_middleware(Access)
