"""What an encoder is: queries and nodes in, unit vectors out, and a digest that names exactly what computed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from canopy.hierarchy.leaves import Leaves
from canopy.items import Item

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """The nodes of one item that are to be encoded: fragments ``[lo[i], hi[i])`` each."""

    item: Item
    leaves: Leaves
    lo: np.ndarray
    hi: np.ndarray


class NodeEncoder(Protocol):
    """An encoder of queries and nodes into one space.

    ``digest`` changes whenever the same input could get another vector: base weights, adapter, mode, window, pooling.
    ``mode`` is ``one_pass`` (a node's vector depends on the whole item) or ``separate`` (on its own words and
    pictures only). ``notes``: what a person should know of the encoding so far.
    """

    name: str
    dimension: int
    digest: str
    mode: str

    @property
    def notes(self) -> list[str]:
        """What a person should know of the encoding so far, one sentence each."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Questions to unit vectors, float32, shape (len(texts), dimension); always by the frozen f0."""
        ...

    def encode_nodes(self, requests: Sequence[NodeRequest]) -> list[np.ndarray]:
        """Nodes to unit vectors: for each request float32, shape (nodes, dimension)."""
        ...

    def node_keys(self, request: NodeRequest) -> np.ndarray:
        """Content keys of a request's nodes, uint8, shape (nodes, 16): equal key, equal vector."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Length of each text in this encoder's tokens, without special tokens, int64."""
        ...


class TrainableEncoder(NodeEncoder, Protocol):
    """An encoder that an adapter can be trained on (`canopy.encoder.training`).

    ``weights_sha256`` names the base weights; ``batch_tokens`` bounds one pass; ``device`` is where the model runs
    ("cpu" or "cuda").
    """

    weights_sha256: str
    batch_tokens: int
    device: str

    def settings(self) -> dict[str, str | int]:
        """What decides a vector besides weights and mode, for training.json."""
        ...

    def fresh_backbone(self) -> Any:
        """Another copy of the frozen backbone, to put a new adapter on."""
        ...

    def add_adapter(self, model: Any, *, rank: int, alpha: float, dropout: float) -> Any:
        """Put a fresh LoRA adapter on the backbone's layers that may train; draws from torch's global generator."""
        ...

    def node_vectors(self, model: Any, requests: Sequence[NodeRequest]) -> torch.Tensor:
        """Unit vectors of all requests' nodes by the given model, with gradients.

        Returns
        -------
        Tensor of float32, shape (sum of nodes, dimension), on the CPU
        """
        ...

    def request_cost(self, request: NodeRequest) -> int:
        """About how many characters encoding a request costs (four a token)."""
        ...
