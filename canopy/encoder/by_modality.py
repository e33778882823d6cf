"""An adapter of its own for every modality, behind the interface of one encoder (ablation `canopy-per-modality`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from canopy.digests import text_sha256
from canopy.encoder.base import NodeEncoder, NodeRequest


class ModalityEncoder:
    """Nodes by the encoder of their item's modality (see `canopy.encoder.base.NodeEncoder`).

    Modalities without an encoder of their own have ``shared``.

    Parameters
    ----------
    shared : NodeEncoder
        f_theta with the one adapter of all modalities.
    own : mapping
        Modality to f_theta with that modality's adapter; all of one base model, so that their spaces are compared
        with the same queries.
    """

    def __init__(self, shared: NodeEncoder, own: Mapping[str, NodeEncoder]) -> None:
        self._shared, self._own = shared, dict(sorted(own.items()))
        self.name, self.dimension, self.mode = shared.name, shared.dimension, shared.mode
        parts = "\x1f".join(f"{m}:{e.digest}" for m, e in [("", shared), *self._own.items()])
        self.digest = text_sha256(f"by modality\x1f{parts}")
        self.notes: list[str] = []

    def _of(self, request: NodeRequest) -> NodeEncoder:
        return self._own.get(request.item.modality, self._shared)

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Questions to unit vectors by f0, float32, shape (len(texts), dimension)."""
        return self._shared.encode_queries(texts)

    def encode_nodes(self, requests: Sequence[NodeRequest]) -> list[np.ndarray]:
        """Nodes to unit vectors: for each request float32, shape (nodes, dimension)."""
        out: list[np.ndarray | None] = [None] * len(requests)
        for encoder in dict.fromkeys(map(self._of, requests)):
            mine = [n for n, r in enumerate(requests) if self._of(r) is encoder]
            for n, vectors in zip(mine, encoder.encode_nodes([requests[n] for n in mine]), strict=True):
                out[n] = vectors
        return [v for v in out if v is not None]

    def node_keys(self, request: NodeRequest) -> np.ndarray:
        """Content keys of a request's nodes, uint8, shape (nodes, 16)."""
        return self._of(request).node_keys(request)

    def count_tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Length of each text in the base model's tokens, int64."""
        return self._shared.count_tokens(texts)
