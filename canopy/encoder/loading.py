"""Loads the encoder that the settings describe."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from canopy.encoder.base import TrainableEncoder
from canopy.settings import EncoderSettings, NodeMode

if TYPE_CHECKING:
    from canopy.encoder.pictures import Folders


def load_encoder(settings: EncoderSettings, adapter: Path | None = None, mode: NodeMode | None = None,
                 media: Folders | None = None) -> TrainableEncoder:
    """The configured encoder: f0 without an adapter, f_theta with one.

    Parameters
    ----------
    mode : {"one_pass", "separate"}, optional
        How nodes are encoded, in place of what the settings say.
    media : mapping, optional
        Benchmark -> folder (or folders, tried in order) that its items' media paths count from, for encoders that
        look at pixels. Items without a file there are encoded by their words.
    """
    kind = import_module(f"canopy.encoder.kinds.{settings.kind}")
    encoder: TrainableEncoder = kind.load(settings, adapter, mode, media or {})
    return encoder
