"""What the front hands to the worker and gets back; light to import, for the front never loads an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from canopy.compression.evidence import ItemEvidence
from canopy.config import RefinementRule
from canopy.items import Item
from serving.schemas import CompressResponse, Hit, ItemError, ItemNote, ModelInfo


@dataclass(frozen=True, slots=True)
class CompressJob:
    """A validated request: known ids and raw items to compress, or, with neither, the best ``k`` to retrieve first."""

    question: str
    item_ids: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    k: int = 5
    branching: int | None = None
    fragments: bool = False
    rule: RefinementRule = "parent"
    margin: float = 0.0
    kind: Literal["compress"] = "compress"


@dataclass(frozen=True, slots=True)
class RetrieveJob:
    """A validated request for the best ``k`` items."""

    question: str
    k: int
    kind: Literal["retrieve"] = "retrieve"


Job = CompressJob | RetrieveJob


@dataclass(slots=True)
class Outcome:
    """What became of one job: evidence or hits, or the error that is this job's alone.

    ``encoded`` and ``cached`` count items whose nodes were encoded for it, and were there already. ``status`` is
    HTTP's, if the error is the caller's.
    """

    items: list[ItemEvidence] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    encoded: int = 0
    cached: int = 0
    error: str = ""
    status: int = 0


@cache
def _jobs() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Job, Field(discriminator="kind")])


@cache
def _outcomes() -> TypeAdapter[Any]:
    return TypeAdapter(Outcome)


def encode_job(job: Job) -> str:
    """A job as JSON: BentoML turns objects that cross a process into plain dicts, so what crosses is ours to say."""
    return _jobs().dump_json(job).decode()


def decode_job(raw: str) -> Job:
    """A job back from JSON."""
    return _jobs().validate_json(raw)


def encode_outcome(outcome: Outcome) -> str:
    """An outcome as JSON."""
    return _outcomes().dump_json(outcome).decode()


def decode_outcome(raw: str) -> Outcome:
    """An outcome back from JSON."""
    return _outcomes().validate_json(raw)


def compress_response(question: str, outcome: Outcome, errors: list[ItemError], model: ModelInfo,
                      notes: Sequence[ItemNote] = ()) -> CompressResponse:
    """The answer of /compress and of ``canopy compress`` from what became of its job."""
    return CompressResponse(question=question, model=model, items=outcome.items, errors=errors, notes=list(notes),
                            encoded=outcome.encoded, cached=outcome.cached,
                            tokens_before=sum(i.tokens_before for i in outcome.items),
                            tokens_after=sum(i.tokens_after for i in outcome.items))
