"""The settings of Qwen3-VL-Embedding, apart from the encoder, so that reading them imports nothing of it."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from canopy.settings import EncoderSettings, NodeMode


class Qwen3VLSettings(EncoderSettings):
    """Settings of Qwen3-VL-Embedding.

    ``model``: a checkpoint's folder (relative ones count from params.yaml), or a hub id, which is looked up in the
    hub's local cache, and fetched only with ``allow_download``; ``revision`` pins a hub id. ``instruction`` and
    ``query_instruction``: the system message over nodes and over questions. ``device`` and ``dtype``: ``auto`` is a
    GPU in bf16 if there is one, otherwise the CPU in fp32; vectors of the two differ, so name the dtype if machines
    of both kinds share a store. ``max_tokens``: tokens of one window. ``max_pixels`` of an image, ``video_pixels`` of
    all frames of a video node together: larger ones are scaled down.
    """

    packages: ClassVar[tuple[str, ...]] = ("av", "pillow", "torchvision")

    kind: Literal["qwen3_vl"] = "qwen3_vl"
    model: str = ""
    revision: str = ""
    allow_download: bool = False
    instruction: str = "Represent the user's input."
    query_instruction: str = "Retrieve images or text relevant to the user's query."
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "bf16", "fp32"] = "auto"
    max_tokens: int = Field(default=8192, ge=64, le=262_144)
    max_pixels: int = Field(default=1800 * 32 * 32, ge=4 * 32 * 32)
    video_pixels: int = Field(default=7680 * 32 * 32, ge=8 * 32 * 32)

    @property
    def window_tokens(self) -> int:
        """Tokens of one window."""
        return self.max_tokens

    @field_validator("mode")
    @classmethod
    def _is_separate(cls, mode: NodeMode) -> NodeMode:
        if mode != "separate":
            raise ValueError("kind qwen3_vl encodes every node on its own, as the paper does: "
                             "set encoder.mode=separate (one_pass is minilm's)")
        return mode

    @model_validator(mode="after")
    def _names_a_model(self) -> Qwen3VLSettings:
        if not self.model.strip():
            raise ValueError("kind qwen3_vl needs model: the folder of a Qwen3-VL checkpoint, "
                             "or a hub id such as Qwen/Qwen3-VL-Embedding-2B")
        if self.overlap > self.max_tokens // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of max_tokens {self.max_tokens}")
        return self
