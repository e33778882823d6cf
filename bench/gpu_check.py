"""Checks the Qwen3-VL profile on a GPU, in the shape of Qwen3-VL-Embedding-2B with random weights, and its speed.

Usage: bash bench/gpu_check.sh [--tiny] [--seconds 25]

It measures the functions that the product calls (loading aside): left-padded batches by length, last-token vectors,
the preference loss, LoRA on the language backbone with activations computed again, halving if memory runs out. MFU
counts the floating-point operations that the model needs, over what the device can do by its data sheet (bf16,
dense); what is computed twice to save memory is not counted. Exit code 1 if a check fails, 2 if there is no GPU.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from canopy.encoder.adapter import add_adapter
from canopy.encoder.loss import preference_loss
from canopy.encoder.memory import Accumulation, free_memory, run_halving
from canopy.encoder.qwen3_vl_model import (
    IMAGE,
    LANGUAGE_TARGETS,
    Sequence3D,
    batch_lengths,
    checkpoint_activations,
    collate,
    last_token_vectors,
)
from canopy.encoder.vision_imports import prepare_torchvision

# Dense bf16 TFLOP/s by the makers' data sheets; the first name that is part of the device's counts.
PEAKS = (("B200", 2250), ("H200", 989), ("H100 PCIe", 756), ("H100 NVL", 835), ("H100", 989), ("A100", 312),
         ("L40S", 362), ("L40", 181), ("L4", 121), ("RTX 6000 Ada", 364), ("RTX A6000", 155), ("A10G", 70),
         ("A10", 125), ("A40", 150), ("RTX 4090", 165), ("RTX 3090", 71))


@dataclass(frozen=True)
class Shape:
    """What is run: the backbone's configuration, tokens of a batch, lengths of texts, an image's visual tokens.

    ``image`` is (height, width) in visual tokens.
    """

    text: dict[str, Any]
    vision: dict[str, Any]
    batch_tokens: int
    lengths: tuple[int, int]
    image: tuple[int, int]


FULL = Shape(
    {"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
     "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 262144,
     "rope_parameters": {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [24, 20, 20],
                         "mrope_interleaved": True}},
    {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16, "out_hidden_size": 2048,
     "num_position_embeddings": 2304, "deepstack_visual_indexes": [5, 11, 17], "patch_size": 16,
     "spatial_merge_size": 2, "temporal_patch_size": 2}, 16384, (24, 1024), (36, 48))
TINY = Shape(
    {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
     "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096,
     "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2],
                         "mrope_interleaved": True}},
    {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64,
     "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1], "patch_size": 16, "spatial_merge_size": 2,
     "temporal_patch_size": 2}, 1024, (8, 64), (4, 4))


class Check:
    """The model, the device, and the checks that failed so far."""

    def __init__(self, shape: Shape, device: str, seconds: float) -> None:
        import torch
        from transformers import Qwen3VLConfig, Qwen3VLModel

        self.shape, self.device, self.seconds, self.failures = shape, device, seconds, []
        self.dtype = torch.bfloat16 if device == "cuda" else torch.float32
        top = shape.text["vocab_size"]
        self.image_token, self.start, self.end = top - 1, top - 2, top - 3
        config = Qwen3VLConfig(text_config={**shape.text, "pad_token_id": 0}, vision_config=shape.vision,
                               image_token_id=self.image_token, video_token_id=top - 4,
                               vision_start_token_id=self.start, vision_end_token_id=self.end)
        config._attn_implementation = "sdpa"
        torch.manual_seed(0)
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
        try:
            with torch.device(device):
                self.model = Qwen3VLModel(config).eval().requires_grad_(False)
        finally:
            torch.set_default_dtype(before)
        self.language, self.visual = map(_multiplied, (self.model.language_model, self.model.visual))
        self.random = np.random.default_rng(0)
        name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        self.peak = next((p for n, p in PEAKS if n in name), None) if device == "cuda" else None
        total = sum(p.numel() for p in self.model.parameters())
        speed = f"{self.peak} TFLOP/s by its data sheet" if self.peak else "no data sheet figure: MFU is left out"
        print(f"{name}, torch {torch.__version__}, {total / 1e9:.2f} B parameters ({self.language / 1e9:.2f} language, "
              f"{self.visual / 1e9:.2f} visual), {self.dtype}; {speed}", flush=True)

    def cast(self) -> AbstractContextManager[Any]:
        """As the product casts: bf16 on a GPU."""
        import torch

        return torch.autocast("cuda", dtype=torch.bfloat16) if self.device == "cuda" else nullcontext()

    def texts(self, count: int) -> list[Sequence3D]:
        """Random texts, most of them short."""
        low, high = self.shape.lengths
        lengths = np.exp(self.random.uniform(math.log(low), math.log(high), count)).astype(int)
        top = self.shape.text["vocab_size"] - 8
        return [Sequence3D(self.random.integers(4, top, n), np.zeros(n, dtype=np.int64)) for n in lengths]

    def pictures(self, count: int) -> list[Sequence3D]:
        """Random images of the shape's size, with a few words each."""
        import torch

        height, width = self.shape.image
        patch = 3 * self.shape.vision["temporal_patch_size"] * self.shape.vision["patch_size"]**2
        out = []
        for _ in range(count):
            words, visual = self.random.integers(4, 100, 12), np.full(height * width, self.image_token)
            pixels = torch.from_numpy(self.random.normal(size=(4 * height * width, patch)).astype(np.float32))
            ids = np.concatenate([[self.start], visual, [self.end], words]).astype(np.int64)
            kinds = np.concatenate([[0], np.full(len(visual), IMAGE), np.zeros(13)]).astype(np.int64)
            out.append(Sequence3D(ids, kinds, images=((pixels, torch.tensor([[1, 2 * height, 2 * width]])),)))
        return out

    def encode(self, model: Any, sequences: Sequence[Sequence3D]) -> Any:
        """Vectors in the sequences' order, in the batches that the product forms."""
        import torch

        parts, rows = [], []
        for batch in batch_lengths([len(s.ids) for s in sequences], self.shape.batch_tokens):
            parts.append(last_token_vectors(model, collate([sequences[n] for n in batch], 0), self.cast()))
            rows += batch
        return torch.cat(parts)[torch.from_numpy(np.argsort(rows))]

    def operations(self, sequences: Sequence[Sequence3D], passes: float) -> float:
        """Floating-point operations of ``passes`` passes: two a weight and token, and those of attention.

        Attention is causal in the language backbone.
        """
        t, v = self.shape.text, self.shape.vision
        width, total = t["num_attention_heads"] * t["head_dim"] * t["num_hidden_layers"], 0.0
        for s in sequences:
            n = len(s.ids)
            total += passes * (2 * self.language * n + 2 * n * n * width)
            for pixels, _ in s.images:
                total += 2 * self.visual * len(pixels) + 4 * len(pixels)**2 * v["hidden_size"] * v["depth"]
        return total

    def measure(self, name: str, sequences: Sequence[Sequence3D], run: Callable[[], Any], passes: float) -> None:
        """Run until the time is up (three times at least), print the median."""
        import torch

        run()
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        times: list[float] = []
        stop = time.perf_counter() + self.seconds
        while len(times) < 3 or (time.perf_counter() < stop and len(times) < 50):
            self._wait()
            start = time.perf_counter()
            run()
            self._wait()
            times.append(time.perf_counter() - start)
        median, tokens = sorted(times)[len(times) // 2], sum(len(s.ids) for s in sequences)
        speed = self.operations(sequences, passes) / median / 1e12
        memory = "memory is not measured on a CPU"
        if self.device == "cuda":
            memory = f"peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
        share = f"MFU {100 * speed / self.peak:.1f}%" if self.peak else "MFU unknown"
        print(f"{name}: {tokens / median:,.0f} tokens/s, {speed:.2f} TFLOP/s, {share}, {memory} ({len(sequences)} "
              f"inputs, {tokens:,} tokens, median of {len(times)}: {1000 * median:.0f} ms)", flush=True)

    def _wait(self) -> None:
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()

    def record(self, statement: str, holds: bool) -> None:
        """Print whether a statement holds."""
        print(f"{'ok    ' if holds else 'FAILED'} {statement}", flush=True)
        if not holds:
            self.failures.append(statement)


def _multiplied(part: Any) -> int:
    """Weights that inputs are multiplied by; embeddings are looked up."""
    looked_up = ("embed_tokens.weight", "pos_embed.weight")
    return sum(p.numel() for n, p in part.named_parameters() if n not in looked_up)


def check_vectors(c: Check) -> None:
    """Padding and neighbours do not change what an input's vector is, as far as the device's arithmetic goes."""
    import torch

    with torch.inference_mode():
        mixed = [*c.texts(6), *c.pictures(1)]
        together = c.encode(c.model, mixed)
        alone = torch.cat([last_token_vectors(c.model, collate([s], 0), c.cast()) for s in mixed])
        least = float((together * alone).sum(1).min())
        spread = float((together[:6] @ together[:6].T).fill_diagonal_(0).abs().max())
    normal = bool(((together.norm(dim=1) - 1).abs() < 1e-3).all())
    c.record(f"vectors are finite and of length 1, shape {tuple(together.shape)}",
             bool(torch.isfinite(together).all()) and normal)
    c.record(f"an input alone and in a padded, mixed batch: cosine {least:.5f} at least (different inputs: "
             f"{spread:.3f} at most)", least > 0.995)


def check_halving(c: Check) -> None:
    """A batch that does not fit is halved; on a GPU the memory really runs out."""
    import torch

    texts, notes, sizes = c.texts(64), [], []
    real = c.device == "cuda" and c.shape is FULL  # the tiny shape's batches are below the allocator's grain

    def run(batch: Sequence[int]) -> Any:
        sizes.append(len(batch))
        if not real and len(batch) > 16:
            raise torch.OutOfMemoryError("simulated")
        with torch.inference_mode():
            return last_token_vectors(c.model, collate([texts[n] for n in batch], 0), c.cast())

    if real:
        free_memory()
        used, total = torch.cuda.memory_allocated(), torch.cuda.get_device_properties(0).total_memory
        # Room for the model and for less than half of what the whole batch takes.
        torch.cuda.reset_peak_memory_stats()
        run(range(16))
        needed = torch.cuda.max_memory_allocated() - used
        free_memory()
        torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved() + 1.5 * needed) / total))
    sizes.clear()
    try:
        vectors = run_halving(range(64), run, notes.append)
    finally:
        if real:
            torch.cuda.set_per_process_memory_fraction(1.0)
    c.record(f"a batch of 64 that runs out of memory is encoded in parts of {min(sizes)} to "
             f"{max(sizes[1:], default=64)}, {len(notes)} halvings",
             len(vectors) == 64 and len(notes) > 0 and bool(torch.isfinite(vectors).all()))


def check_training(c: Check) -> None:
    """LoRA steps with activations computed again: the backbone alone trains, the loss falls, frozen weights stay."""
    import torch

    frozen = [p.detach().float().sum().item() for p in c.model.parameters()]
    checkpoint_activations(c.model)
    model = add_adapter(c.model, rank=8, alpha=16, dropout=0.05, targets=LANGUAGE_TARGETS).train()
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    c.record(f"{sum(p.numel() for p in trained.values()) / 1e6:.1f} M parameters train, none of the visual tower",
             bool(trained) and not any("visual" in n for n in trained) and all("lora_" in n for n in trained))
    optimiser = torch.optim.AdamW(trained.values(), lr=1e-3)
    texts = c.texts(12)
    while sum(len(t.ids) for t in texts) < c.shape.batch_tokens:
        texts += c.texts(4)
    texts = texts[:len(texts) // 3 * 3]
    noise = c.random.normal(size=(len(texts) // 3, c.shape.text["hidden_size"])).astype(np.float32)
    query = torch.nn.functional.normalize(torch.from_numpy(noise), dim=1)

    def losses(run: Sequence[int]) -> Any:
        # Each three inputs are a node and two children, of which the first must score best.
        vectors = c.encode(model, [texts[3 * n + k] for n in run for k in range(3)]).reshape(len(run), 3, -1)
        scores = (vectors * query[list(run)][:, None]).sum(2).flatten()
        first = 3 * torch.arange(len(run))
        above, below = torch.stack([first + 1, first]).T.flatten(), torch.stack([first, first + 2]).T.flatten()
        return preference_loss(scores, above, below, torch.arange(len(run)).repeat_interleave(2), len(run), 20.0)

    def halve(run: Sequence[int]) -> list[Sequence[int]]:
        return [run[:len(run) // 2], run[len(run) // 2:]] if len(run) > 1 else []

    gradient = Accumulation(list(trained.values()), losses, halve, print)
    decisions, curve = len(texts) // 3, []

    def step() -> None:
        optimiser.zero_grad()
        curve.append(gradient.add(list(range(decisions)), decisions))
        optimiser.step()

    c.measure("LoRA training step, activations computed again", texts, step, passes=2)
    for _ in range(max(0, 8 - len(curve))):
        step()
    c.record(f"the loss is finite and falls: {curve[0]:.3f} -> {curve[-1]:.3f} in {len(curve)} steps",
             all(map(math.isfinite, curve)) and curve[-1] < curve[0])
    after = [p.detach().float().sum().item() for n, p in model.named_parameters() if "lora_" not in n]
    c.record("the frozen weights are what they were", sorted(frozen) == sorted(after))


def main() -> int:
    """Run everything; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a tiny shape, also without a GPU: tests the script")
    parser.add_argument("--seconds", type=float, default=25, help="time for each of the three measurements")
    arguments = parser.parse_args()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # as the product has it
    prepare_torchvision()
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not arguments.tiny:
        print("no GPU that torch can use: nothing was checked or measured. `bash bench/gpu_check.sh --tiny` runs the "
              "script itself in a tiny shape.")
        return 2
    if device == "cpu":
        print("no GPU that torch can use: the tiny shape on the CPU tests this script, and says nothing of the "
              "profile's speed")
    c = Check(TINY if arguments.tiny else FULL, device, 0.2 if arguments.tiny else arguments.seconds)
    check_vectors(c)
    texts, pictures = c.texts(12 if arguments.tiny else 256), c.pictures(2 if arguments.tiny else 8)
    with torch.inference_mode():
        c.measure("encode texts", texts, lambda: c.encode(c.model, texts), passes=1)
        c.measure("encode images", pictures, lambda: c.encode(c.model, pictures), passes=1)
    check_halving(c)
    check_training(c)
    print(f"{len(c.failures)} checks failed: {'; '.join(c.failures)}" if c.failures else "every check holds")
    return 1 if c.failures else 0


if __name__ == "__main__":
    sys.exit(main())
