"""Makes torchvision importable beside a CPU-only torch, before transformers, which imports it, is imported."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from canopy.errors import EncoderMismatch

# PyPI's torchvision carries compiled operators that need CUDA libraries. Without those its Python part still declares
# two of them as known and fails on it. Declaring them ourselves is enough: resizing and normalising pictures never
# calls either.
_OPERATORS = ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
              "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_declared: list[Any] = []  # a torch library must be held, or its operators go with it


def prepare_torchvision() -> bool:
    """Import torchvision, whatever torch it was built for; whether it is installed. Safe to call any number of times.

    Raises
    ------
    EncoderMismatch
        If it is installed and cannot be imported even so.
    """
    if "torchvision" in sys.modules:
        return True
    if importlib.util.find_spec("torchvision") is None:
        return False
    try:
        importlib.import_module("torchvision")
        return True
    except (RuntimeError, OSError) as e:
        first = " ".join(str(e).split())[:120]
    import torch

    for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half imported
    if not _declared:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in _OPERATORS:
            library.define(operator)
        _declared.append(library)
    try:
        importlib.import_module("torchvision")
    except Exception as e:
        second = f"{type(e).__name__}: {str(e)[:120]}"
        raise EncoderMismatch(f"torchvision cannot be imported beside torch {torch.__version__} "
                              f"({first}; then {second}); install the release that goes with this torch, "
                              "or uninstall it if no encoder looks at pixels") from e
    return True


def require_torchvision() -> None:
    """As `prepare_torchvision`; EncoderMismatch with the fix if it is not installed."""
    if not prepare_torchvision():
        raise EncoderMismatch("encoder.kind qwen3_vl needs torchvision, which is not installed: `pip install --no-deps "
                              "torchvision` of the release that goes with your torch (0.28.0 with torch 2.13)")
