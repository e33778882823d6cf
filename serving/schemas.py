"""What the service takes and gives: requests with their limits, and the evidence forest, as pydantic models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from canopy.bundle.manifest import Manifest
from canopy.compression.evidence import ItemEvidence
from canopy.compression.rules import check_rule
from canopy.config import RefinementRule
from canopy.items import Modality

MAX_ITEMS = 200
MAX_QUESTION_CHARS = 4_000
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_ENCODED_CHARS = 400_000  # the one worker answers nobody else meanwhile


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Question(_Strict):
    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARS)

    @field_validator("question")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the question is blank")
        return value


class CompressRequest(_Question):
    """A question, and the items to compress for it: ids of known items, raw items, or neither.

    With neither, the best ``k`` are retrieved. Raw items are records of the native format without files: an image is
    read through title, caption and ``words``, a video through title, caption and ``cues``.

    ``branching`` is B of the hierarchy; with another value than the store's, known items are encoded anew.
    ``rule`` says which regions are kept (`canopy.refinement.refine`): the paper's ``parent``, or ``lookahead`` with its
    ``margin``.
    ``fragments`` asks for every fragment's text, kept or not, so that a page can show what was dropped.
    """

    item_ids: list[str] | None = Field(None, max_length=MAX_ITEMS)
    items: list[JsonValue] | None = Field(None, max_length=MAX_ITEMS)
    k: int | None = Field(None, ge=1, le=MAX_ITEMS)
    branching: int | None = Field(None, ge=2, le=64)
    rule: RefinementRule = "parent"
    margin: float | None = Field(None, ge=0, le=2, allow_inf_nan=False, description="of `lookahead` only; default 0.01")
    fragments: bool = False

    @model_validator(mode="after")
    def _is_one_thing(self) -> CompressRequest:
        named, raw = self.item_ids or [], self.items or []
        if self.margin is not None and self.rule == "parent":
            raise ValueError("`margin` belongs to the rule `lookahead`; the rule `parent` has none")
        if self.k is not None and (named or raw):
            raise ValueError("give either `k` or items, not both")
        fields = [f"`{n}`" for n in ("item_ids", "items") if getattr(self, n) is not None]
        if fields and not (named or raw):
            verb = "is" if len(fields) == 1 else "are"
            raise ValueError(f"{' and '.join(fields)} {verb} empty; leave out to retrieve items")
        if len(named) + len(raw) > MAX_ITEMS:
            raise ValueError(f"{len(named) + len(raw)} items in one request; at most {MAX_ITEMS}")
        if len(set(named)) < len(named):
            twice = sorted({i for i in named if named.count(i) > 1})
            raise ValueError(f"item ids named twice: {', '.join(twice[:10])}")
        return self

    def margin_used(self) -> float:
        """The margin that the rule is run with: the one given, otherwise the pipeline's default; 0 under ``parent``."""
        return check_rule(self.rule, self.margin)


class RetrieveRequest(_Question):
    """A question and how many items to find for it."""

    k: int = Field(10, ge=1, le=MAX_ITEMS)


class ItemError(BaseModel):
    """A raw item that cannot be used: its place in ``items``, its id if it has one, and why."""

    index: int
    id: str = ""
    reason: str


class ItemNote(BaseModel):
    """What was filled in a raw item: its place in ``items``, its id, and what (a table's short rows)."""

    index: int
    id: str = ""
    note: str


class ModelInfo(BaseModel):
    """Which model answers: registry version, and digests of its node encoder, its store and its index."""

    name: str
    version: str
    digest: str
    store: str
    index: str

    @classmethod
    def of(cls, manifest: Manifest) -> ModelInfo:
        """What a response says of the model that a bundle pins."""
        parts = manifest.parts
        return cls(name=manifest.name, version=manifest.version, digest=parts.digest, store=parts.store,
                   index=parts.index)


class CompressResponse(BaseModel):
    """The evidence of every item, in the request's order or by retrieval score, and the items that cannot be used."""

    question: str
    model: ModelInfo
    tokens_before: int
    tokens_after: int
    encoded: int = Field(description="items whose nodes were encoded for this request")
    cached: int = Field(description="items whose nodes came from the store or the cache")
    items: list[ItemEvidence]
    errors: list[ItemError] = Field(default_factory=list)
    notes: list[ItemNote] = Field(default_factory=list)


class Hit(BaseModel):
    """A retrieved item."""

    id: str
    score: float
    modality: Modality
    title: str


class RetrieveResponse(BaseModel):
    """The best items for a question, best first."""

    question: str
    model: ModelInfo
    hits: list[Hit]
