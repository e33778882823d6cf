"""Which class an encoder's configuration means."""

from __future__ import annotations

from pathlib import Path

from canopy.config import Encoder
from canopy.encoder.base import NodeEncoder


def load_encoder(config: Encoder, adapter: Path | None = None, mode: str | None = None) -> NodeEncoder:
    """The configured encoder: f0 without an adapter, f_theta with one; ``mode`` overrides how nodes are encoded."""
    from canopy.encoder.minilm import MiniLMEncoder

    return MiniLMEncoder(mode or config.mode, config.window, config.overlap, config.batch_tokens, adapter)
