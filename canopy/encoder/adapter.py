"""LoRA adapters on the language backbone: put on, saved and loaded with PEFT, as safetensors."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canopy.encoder.vision_imports import prepare_torchvision
from canopy.errors import DataError, EncoderMismatch

if TYPE_CHECKING:
    import torch

MINILM_TARGETS = r".*(query|key|value|dense)"


def add_adapter(model: torch.nn.Module, *, rank: int, alpha: float, dropout: float,
                targets: str = MINILM_TARGETS) -> Any:
    """Put a fresh LoRA adapter on every matching linear layer; only the adapter's weights train.

    The initial weights draw from torch's global generator: seed it first for equal bytes.
    """
    import warnings

    prepare_torchvision()
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=targets, bias="none")
    with warnings.catch_warnings():
        # PEFT asks transformers by a name that is about to go; nothing a user could do about it.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)


def save_adapter(model: Any, folder: Path, base: str = "all-MiniLM-L6-v2") -> None:
    """Write adapter_model.safetensors and adapter_config.json.

    ``base`` is the name of the model that the adapter belongs on, never a path of this machine.
    """
    model.peft_config["default"].base_model_name_or_path = base
    # Embedding layers are frozen; asking PEFT to look for them would make it ask a hub for the base model's
    # configuration.
    model.save_pretrained(folder, safe_serialization=True, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)


def load_adapter(model: torch.nn.Module, folder: Path, merge: bool = True) -> Any:
    """Load an adapter onto a base model; merged, inference costs what f0 costs.

    Raises
    ------
    DataError
        If there is no adapter.
    EncoderMismatch
        If it belongs on another base model.
    """
    prepare_torchvision()
    from peft import PeftModel

    if not (folder / "adapter_model.safetensors").is_file():
        raise DataError(f"{folder}: no adapter_model.safetensors there; run `canopy run` to train the node encoder")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # as in add_adapter
        try:
            adapted = PeftModel.from_pretrained(model, str(folder), local_files_only=True)
        except (ValueError, RuntimeError) as e:  # PEFT's words for layers that are not there, or of another size
            reason = " ".join(str(e).split())[:160]
            raise EncoderMismatch(f"{folder}: this adapter does not fit the encoder it is loaded on ({reason}); "
                                  "set encoder.kind and encoder.model to what it was trained on, "
                                  "or run `canopy run` to train another") from None
    return (adapted.merge_and_unload() if merge else adapted).eval().requires_grad_(False)


def adapter_digest(folder: Path) -> str:
    """SHA-256 over the adapter's configuration and weights."""
    digest = hashlib.sha256()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()
