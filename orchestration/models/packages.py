"""The packages that a registered model and a built service need, at the versions that are installed here."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

# A kind of encoder names the packages it needs besides these in its settings. canopy itself is not listed: it comes
# from a checkout, and by its name alone a stranger's package could be installed instead.
MODEL_PACKAGES = ("mlflow", "numpy", "peft", "pydantic", "pysubs2", "safetensors", "sentencex", "tokenizers", "torch",
                  "transformers")
SERVICE_PACKAGES = ("bentoml", "bm25s", "cachetools", "faiss-cpu", "numpy", "peft", "prometheus-client",
                    "pyarrow", "pydantic", "pysubs2", "pyyaml", "safetensors", "sentencex", "tokenizers", "torch",
                    "transformers")


def pinned_packages(names: Iterable[str] = SERVICE_PACKAGES) -> list[str]:
    """``name==version`` of packages as they are installed (those of constraints.txt), without local build tags."""
    return [f"{n}=={importlib.metadata.version(n).partition('+')[0]}" for n in names]
