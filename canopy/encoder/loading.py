"""Which class an encoder's configuration means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from canopy.config import Encoder
from canopy.encoder.base import TrainableEncoder


def load_encoder(config: Encoder, adapter: Path | None = None, mode: str | None = None,
                 media: Mapping[str, Path | Sequence[Path]] | None = None) -> TrainableEncoder:
    """The configured encoder: f0 without an adapter, f_theta with one; ``mode`` overrides how nodes are encoded.

    ``media``: benchmark -> folder (or folders, tried in order) that its items' media paths count from, for encoders that look at pixels;
    items without a file there are encoded by their words.
    """
    if config.kind == "qwen3_vl":
        from canopy.encoder.qwen3_vl import Qwen3VLEncoder

        return Qwen3VLEncoder(config, adapter, media)
    from canopy.encoder.minilm import MiniLMEncoder

    return MiniLMEncoder(mode or config.mode, config.window, config.overlap, config.batch_tokens, adapter)
