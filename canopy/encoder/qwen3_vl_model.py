"""The Qwen3-VL backbone as an embedder: loading, LoRA's targets, left-padded batches, last-token pooling.

Needs numpy, torch, transformers and peft alone, so that ``bench/gpu_check.py`` measures this very code on a machine
without the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from canopy.encoder.vision_imports import prepare_torchvision
from canopy.errors import DataError

if TYPE_CHECKING:
    import torch

# The language backbone's linear layers and nothing of the visual tower (paper, section 3.3: "LoRA on the language
# backbone only").
LANGUAGE_TARGETS = r"language_model\.layers\.\d+\.(self_attn\.(q|k|v|o)_proj|mlp\.(gate|up|down)_proj)"
IMAGE, VIDEO = 1, 2  # what the backbone calls a token's modality; 0 is text


@dataclass(frozen=True, slots=True)
class Sequence3D:
    """One input of the backbone.

    ids : ndarray of int64, shape (tokens,); placeholders of pictures included.
    kinds : ndarray of int64, shape (tokens,): 0 text, 1 image, 2 video.
    images, videos : pairs of patches, float32 of shape (patches, values), and grid (frames, height, width) in patches,
        in the order of their placeholders.
    """

    ids: np.ndarray
    kinds: np.ndarray
    images: tuple[tuple[torch.Tensor, torch.Tensor], ...] = field(default=())
    videos: tuple[tuple[torch.Tensor, torch.Tensor], ...] = field(default=())


def load_backbone(folder: Path, dtype: torch.dtype, device: str) -> Any:
    """The frozen model without its language head, from a folder's safetensors.

    Raises
    ------
    DataError
        If the files cannot be read, or weights of the model are missing from them.
    """
    prepare_torchvision()
    import torch
    from transformers import Qwen3VLModel
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model, report = Qwen3VLModel.from_pretrained(folder, dtype=dtype, local_files_only=True,
                                                     output_loading_info=True, attn_implementation="sdpa")
    except torch.OutOfMemoryError:
        raise
    except Exception as e:  # transformers, safetensors and json raise what they like about a broken file
        reason = f"{type(e).__name__}: {' '.join(str(e).split())[:160]}"
        raise DataError(f"{folder}: not a Qwen3-VL checkpoint that can be loaded ({reason}); "
                        "download it again") from None
    finally:
        if bars:
            logging.enable_progress_bar()
    missing = [*report["missing_keys"], *(k for k, *_ in report.get("mismatched_keys", ()))]
    if missing:
        first = min(map(str, missing))
        raise DataError(f"{folder}: {len(missing)} weights of the model are missing, the first {first}: "
                        "not a whole Qwen3-VL checkpoint; download it again")
    return model.to(device).eval().requires_grad_(False)


def checkpoint_activations(model: Any) -> None:
    """Keep only each layer's input during a forward pass and compute the rest again in the backward pass."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def collate(batch: Sequence[Sequence3D], pad: int) -> dict[str, torch.Tensor]:
    """Inputs of one forward pass: padded on the left, so that every last token is in the last column."""
    import torch

    width = max(len(s.ids) for s in batch)
    ids = np.full((len(batch), width), pad, dtype=np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, s in enumerate(batch):
        at = slice(width - len(s.ids), width)
        ids[row, at], mask[row, at], kinds[row, at] = s.ids, 1, s.kinds
    out = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
    images, videos = [p for s in batch for p in s.images], [p for s in batch for p in s.videos]
    if images or videos:
        out["mm_token_type_ids"] = torch.from_numpy(kinds).int()
    else:
        # Positions count from each text's own first token: padding then changes not even the rotary angles.
        out["position_ids"] = torch.from_numpy((mask.cumsum(1) - 1).clip(min=0))[None].repeat(3, 1, 1)
    for name, grid, pairs in (("pixel_values", "image_grid_thw", images),
                              ("pixel_values_videos", "video_grid_thw", videos)):
        if pairs:
            out[name], out[grid] = torch.cat([v for v, _ in pairs]), torch.cat([g for _, g in pairs])
    return out


def last_token_vectors(model: Any, inputs: dict[str, torch.Tensor],
                       autocast: AbstractContextManager[Any]) -> torch.Tensor:
    """Unit vectors from the last token's state of the last layer.

    Returns
    -------
    Tensor of float32, shape (rows, dimension), on the CPU
        With gradients if they are on: scores and losses are computed there in full precision whatever the model
        runs in.
    """
    import torch

    device = next(model.parameters()).device
    with autocast:
        states = model(**{k: v.to(device) for k, v in inputs.items()}, use_cache=False).last_hidden_state
    return torch.nn.functional.normalize(states[:, -1].float(), dim=-1).cpu()


def batch_lengths(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Numbers of sequences in batches of similar length, padded to at most ``budget`` tokens (or one sequence)."""
    batches: list[list[int]] = []
    for n in sorted(range(len(lengths)), key=lambda n: (lengths[n], n)):
        if batches and lengths[n] * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(n)
        else:
            batches.append([n])
    return batches
