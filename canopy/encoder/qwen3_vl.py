"""Qwen3-VL-Embedding as a node encoder, the paper's: words, images as pixels, videos as frames and subtitles."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from canopy.digests import text_key, text_sha256
from canopy.encoder.base import NodeRequest
from canopy.encoder.checkpoint import checkpoint_digest, find_checkpoint, read_settings
from canopy.encoder.memory import run_halving
from canopy.encoder.pictures import FRAME_PIXELS, Folders
from canopy.encoder.qwen3_vl_inputs import Content, Inputs, Unit, node_content
from canopy.encoder.qwen3_vl_model import (
    LANGUAGE_TARGETS,
    batch_lengths,
    checkpoint_activations,
    collate,
    last_token_vectors,
    load_backbone,
)
from canopy.errors import DataError, DeviceError
from canopy.progress import beside

if TYPE_CHECKING:
    import torch

_FORMAT = 1  # raised whenever prompts, pictures or pooling change what the same node's vector is


def choose_device(device: str, dtype: str) -> tuple[str, str]:
    """What ``auto`` means on this machine: the device ("cpu" or "cuda") and the dtype ("bf16" or "fp32").

    Raises
    ------
    DeviceError
        If a GPU is asked for and torch can use none.
    """
    import torch

    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise DeviceError("encoder.device: cuda, but torch can use no GPU here; set encoder.device=auto, or cpu")
    chosen = device if device != "auto" else "cuda" if there else "cpu"
    if chosen == "cuda":
        # Read when CUDA starts: without it, cuBLAS may give other last bits from run to run.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    return chosen, dtype if dtype != "auto" else "bf16" if chosen == "cuda" else "fp32"


class Qwen3VLConfig(Protocol):
    """What the encoder reads of its settings (`canopy.encoder.kinds.qwen3_vl.Settings`, which imports it)."""

    model: str
    revision: str
    allow_download: bool
    instruction: str
    query_instruction: str
    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["auto", "bf16", "fp32"]
    max_tokens: int
    max_pixels: int
    video_pixels: int
    overlap: int
    batch_tokens: int


class Qwen3VLEncoder:
    """Queries by the frozen f0; nodes by f0 or, with a LoRA adapter, by f_theta (a `TrainableEncoder`).

    Every node is encoded on its own (mode ``separate``): its vector is the last token's last state, scaled to unit
    length. A node of more than ``max_tokens`` tokens is encoded in overlapping windows, whose unit vectors are
    averaged by the tokens each stands for. Weights are read when the first vector is asked for; the digest needs the
    files alone.

    Parameters
    ----------
    config : Qwen3VLConfig
        The checkpoint, the device, the instructions and the sizes.
    adapter : Path or None
        Folder with a PEFT adapter; None is f0.
    media : mapping, optional
        Benchmark -> folder (or folders, tried in order) that its items' media paths count from. Items of other
        benchmarks, and items whose file is not there, are encoded by their words.

    Raises
    ------
    DataError, EncoderMismatch
        If the checkpoint is missing, incomplete, or another model's.
    DeviceError
        If the device is not there.
    """

    mode: str = "separate"
    pooling: str = "last token"

    def __init__(self, config: Qwen3VLConfig, adapter: Path | None = None, media: Folders | None = None) -> None:
        self.config, self.batch_tokens = config, config.batch_tokens
        self.folder = find_checkpoint(config.model, config.revision, config.allow_download)
        settings = read_settings(self.folder, "qwen3_vl")
        try:
            self.dimension = int(settings["text_config"]["hidden_size"])
        except (KeyError, TypeError, ValueError):
            raise DataError(f"{self.folder / 'config.json'}: states no text_config.hidden_size; "
                            "download it again") from None
        # A hub id's last part is the model's name; the cache's folders are named by revision.
        self.name = Path(config.model).name
        self.device, self.dtype = choose_device(config.device, config.dtype)
        self.weights_sha256 = checkpoint_digest(self.folder)
        self._adapter, adapted = adapter, ""
        if adapter is not None:
            from canopy.encoder.adapter import adapter_digest

            adapted = adapter_digest(adapter)
        self._media: Folders = media or {}
        seen = ["qwen3_vl", _FORMAT, self.weights_sha256, adapted, self.dtype, config.instruction, config.max_tokens,
                config.overlap, config.max_pixels, config.video_pixels, FRAME_PIXELS]
        # Nodes do not depend on the query instruction: another one encodes no node anew.
        self._node_digest = text_sha256(json.dumps(seen))
        self.digest = text_sha256(json.dumps([self._node_digest, config.query_instruction]))
        self._notes: list[str] = []
        self._costs: dict[tuple[str, bytes, bytes], int] = {}

    @cached_property
    def inputs(self) -> Inputs:
        """The checkpoint's tokenizer and picture processors."""
        c = self.config
        inputs = Inputs(self.folder, instruction=c.instruction, query_instruction=c.query_instruction,
                        max_tokens=c.max_tokens, overlap=c.overlap, max_pixels=c.max_pixels,
                        video_pixels=c.video_pixels)
        if inputs.step != self.step:
            raise DataError(f"{self.folder}: its picture processor works in steps of {inputs.step} pixels, "
                            f"its model in {self.step}: files of two checkpoints")
        inputs.notes = self._notes
        return inputs

    @cached_property
    def f0(self) -> Any:
        """The frozen backbone."""
        return load_backbone(self.folder, self._torch_dtype, self.device)

    @cached_property
    def node_model(self) -> Any:
        """What encodes nodes: f0 itself, or another copy with the adapter (f0 must stay as it is for the queries)."""
        if self._adapter is None:
            return self.f0
        from canopy.encoder.adapter import load_adapter

        # In bf16 a merged weight has 8 bits: most of what the adapter adds would be rounded away, so there it stays
        # beside the weights.
        return load_adapter(load_backbone(self.folder, self._torch_dtype, self.device), self._adapter,
                            merge=self.dtype == "fp32")

    @property
    def _torch_dtype(self) -> torch.dtype:
        import torch

        return torch.bfloat16 if self.dtype == "bf16" else torch.float32

    @property
    def notes(self) -> list[str]:
        """What a person should know of the encoding so far, once each: unreadable media, halved batches."""
        return list(dict.fromkeys(self._notes))

    def settings(self) -> dict[str, str | int]:
        """What training.json and the registry state of how vectors are made."""
        c = self.config
        return {"pooling": self.pooling, "dtype": self.dtype, "instruction": c.instruction,
                "query_instruction": c.query_instruction, "max_tokens": c.max_tokens, "overlap": c.overlap,
                "max_pixels": c.max_pixels, "video_pixels": c.video_pixels}

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Questions to unit vectors by f0, float32, shape (len(texts), dimension)."""
        import torch

        distinct = {t: n for n, t in enumerate(dict.fromkeys(t.strip() for t in texts))}
        with torch.inference_mode():
            units = self.inputs.plan([Content(t, "", t) for t in distinct], query=True)
            vectors = self._vectors(self.f0, units, len(distinct)).numpy()
        return vectors[[distinct[t.strip()] for t in texts]]

    def encode_nodes(self, requests: Sequence[NodeRequest]) -> list[np.ndarray]:
        """Nodes to unit vectors: for each request float32, shape (nodes, dimension)."""
        import torch

        out: list[np.ndarray] = [np.zeros((0, self.dimension), dtype=np.float32)] * len(requests)
        # Each video by itself: its nodes share frames, which are decoded once as long as they come together.
        videos = [[n] for n, r in enumerate(requests) if r.item.modality == "video"]
        for part in ([n for n, r in enumerate(requests) if r.item.modality != "video"], *videos):
            if not part:
                continue
            with torch.inference_mode():
                vectors = self.node_vectors(self.node_model, [requests[n] for n in part]).numpy()
            ends = np.cumsum([len(requests[n].lo) for n in part])
            for n, own in zip(part, np.split(vectors, ends[:-1]), strict=True):
                out[n] = own
        return out

    def node_keys(self, request: NodeRequest) -> np.ndarray:
        """Content keys of the nodes' words and of what is seen of their media files, uint8, shape (nodes, 16)."""
        keys = []
        for c in self._contents(request):
            seen = f"{c.view.digest}:{c.view.times}" if c.view else ""
            keys.append(text_key(f"{self._node_digest}\x1f{seen}\x1f{c.head}\x1f{c.text}")[:16])
        return np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 16)

    def count_tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Tokens of each text's words, int64."""
        return np.array([len(t) for t in self.inputs.encode_words(texts)], dtype=np.int64)

    def node_vectors(self, model: Any, requests: Sequence[NodeRequest]) -> torch.Tensor:
        """Unit vectors of all requests' nodes by the given model, with gradients if they are on.

        Returns
        -------
        Tensor of float32, shape (sum of nodes, dimension), on the CPU
        """
        contents = [c for r in requests for c in self._contents(r)]
        distinct = {c: n for n, c in enumerate(dict.fromkeys(contents))}
        return self._vectors(model, self.inputs.plan(list(distinct)), len(distinct))[[distinct[c] for c in contents]]

    def fresh_backbone(self) -> Any:
        """Another copy of the frozen backbone, to put a new adapter on; it keeps few activations."""
        model = load_backbone(self.folder, self._torch_dtype, self.device)
        checkpoint_activations(model)
        return model

    def add_adapter(self, model: Any, *, rank: int, alpha: float, dropout: float) -> Any:
        """A fresh LoRA adapter, in fp32, on the language backbone's layers alone; the visual tower stays frozen."""
        from canopy.encoder.adapter import add_adapter

        return add_adapter(model, rank=rank, alpha=alpha, dropout=dropout, targets=LANGUAGE_TARGETS)

    def request_cost(self, request: NodeRequest) -> int:
        """What a request weighs in a training batch, in characters (four a token)."""
        key = (request.item.id, request.lo.tobytes(), request.hi.tobytes())
        if key not in self._costs:
            self._costs[key] = 4 * sum(u.length for u in self.inputs.plan(list(dict.fromkeys(self._contents(request)))))
        return self._costs[key]

    def _contents(self, request: NodeRequest) -> list[Content]:
        return [node_content(request, int(a), int(b), self._media, self.config.video_pixels, self.config.max_pixels,
                             self.step, self._notes)
                for a, b in zip(request.lo, request.hi, strict=True)]

    @cached_property
    def step(self) -> int:
        """Pixels that a picture's sides are multiples of."""
        try:
            vision = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))["vision_config"]
            return int(vision["patch_size"]) * int(vision["spatial_merge_size"])
        except (KeyError, TypeError, ValueError) as e:
            raise DataError(f"{self.folder / 'config.json'}: states no vision_config ({e}); "
                            "download it again") from None

    def _vectors(self, model: Any, units: Sequence[Unit], count: int) -> torch.Tensor:
        """One unit vector a slot: of its only unit, or of the token-weighted mean of its windows'."""
        import torch

        def run(batch: Sequence[int]) -> torch.Tensor:
            return self._forward(model, [units[n] for n in batch])

        parts, rows = [], []
        for batch in beside(list(batch_lengths([u.length for u in units], self.batch_tokens)), "encoding", "batches"):
            # With gradients, what ran out of memory is the whole backward graph: the training loop halves that.
            parts.append(run(batch) if torch.is_grad_enabled() else run_halving(batch, run, self._notes.append))
            rows += batch
        if not parts:
            return torch.zeros((count, self.dimension))
        weights = torch.tensor([float(units[n].weight) for n in rows])
        slots = torch.tensor([units[n].slot for n in rows])
        sums = torch.zeros((count, self.dimension)).index_add(0, slots, torch.cat(parts) * weights[:, None])
        return torch.nn.functional.normalize(sums, dim=1)

    def _forward(self, model: Any, units: Sequence[Unit]) -> torch.Tensor:
        import torch

        cast = torch.autocast(self.device, dtype=torch.bfloat16) if self.dtype == "bf16" else nullcontext()
        return last_token_vectors(model, collate([self.inputs.load(u) for u in units], self.inputs.pad), cast)
