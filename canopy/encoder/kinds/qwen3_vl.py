"""The kind ``qwen3_vl``: Qwen3-VL-Embedding, the paper's encoder, which sees images and video frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from canopy.encoder.qwen3_vl_settings import Qwen3VLSettings
from canopy.settings import NodeMode

if TYPE_CHECKING:
    from canopy.encoder.base import TrainableEncoder
    from canopy.encoder.pictures import Folders

REMEDY = ("`canopy run --set encoder.model=/path/to/Qwen3-VL-Embedding-2B`, "
          "or `--params params/minilm.yaml` for the embedded encoder")


Settings = Qwen3VLSettings


def load(settings: Qwen3VLSettings, adapter: Path | None, mode: NodeMode | None, media: Folders) -> TrainableEncoder:
    """Qwen3-VL-Embedding as f0 or, with an adapter, as f_theta; without a media file an item's words are encoded."""
    from canopy.encoder.qwen3_vl import Qwen3VLEncoder

    return Qwen3VLEncoder(settings, adapter, media)


def check(settings: Qwen3VLSettings) -> str:
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
