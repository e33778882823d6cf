"""CANOPY: adaptive-granularity evidence compression for multimodal RAG (arXiv 2610.00923), as a plain library.

    from canopy import Compressor

    compressor = Compressor.load()
    print(compressor.compress("How long is the Nile?", ["The Nile flows north. It is 6,650 km long."]).text)

What `__all__` lists is the public interface. It is loaded when it is first used, so that ``import canopy`` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canopy.compression.compressor import Compressor, compress
    from canopy.compression.evidence import Compression, Fragment, ItemEvidence, Region
    from canopy.errors import CanopyError
    from canopy.items import Cue, Evidence, Item
    from canopy.refinement import refine

__version__ = "0.1.0"
__all__ = [
    "CanopyError", "Compression", "Compressor", "Cue", "Evidence", "Fragment", "Item", "ItemEvidence", "Region",
    "compress", "refine",
]
_HOMES = {
    "CanopyError": "errors",
    "Compression": "compression.evidence", "Compressor": "compression.compressor", "compress": "compression.compressor",
    "Fragment": "compression.evidence", "ItemEvidence": "compression.evidence", "Region": "compression.evidence",
    "Cue": "items", "Evidence": "items", "Item": "items",
    "refine": "refinement",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'canopy' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"canopy.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
