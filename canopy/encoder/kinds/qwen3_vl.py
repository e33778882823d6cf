"""The kind ``qwen3_vl``: Qwen3-VL-Embedding, the paper's encoder, which sees images and video frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from canopy.settings import EncoderSettings, NodeMode

if TYPE_CHECKING:
    from canopy.encoder.base import TrainableEncoder
    from canopy.encoder.pictures import Folders

REMEDY = ("`canopy run --set encoder.model=/path/to/Qwen3-VL-Embedding-2B`, "
          "or `--params params/minilm.yaml` for the embedded encoder")


class Settings(EncoderSettings):
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
    def _names_a_model(self) -> Settings:
        if not self.model.strip():
            raise ValueError("kind qwen3_vl needs model: the folder of a Qwen3-VL checkpoint, "
                             "or a hub id such as Qwen/Qwen3-VL-Embedding-2B")
        if self.overlap > self.max_tokens // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of max_tokens {self.max_tokens}")
        return self


def load(settings: Settings, adapter: Path | None, mode: NodeMode | None, media: Folders) -> TrainableEncoder:
    """Qwen3-VL-Embedding as f0 or, with an adapter, as f_theta; without a media file an item's words are encoded."""
    from canopy.encoder.qwen3_vl import Qwen3VLEncoder

    return Qwen3VLEncoder(settings, adapter, media)


def check(settings: Settings) -> str:
    """One line about the checkpoint, without reading its weights.

    Raises
    ------
    DataError, EncoderMismatch
        If the checkpoint or torchvision is missing, or the checkpoint is another model's.
    """
    from canopy.encoder.checkpoint import find_checkpoint, read_settings
    from canopy.encoder.vision_imports import require_torchvision

    require_torchvision()
    folder = find_checkpoint(settings.model, settings.revision)
    read_settings(folder, settings.kind)
    return f"encoder.model: a Qwen3-VL checkpoint in {folder}"
