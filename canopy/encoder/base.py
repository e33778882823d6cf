"""What an encoder is: queries and nodes in, unit vectors out, and a digest that names exactly what computed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from canopy.hierarchy.leaves import Leaves
from canopy.items import Item


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
    ``mode`` is ``one_pass`` (a node's vector depends on the whole item) or ``separate`` (on its own words only).
    """

    name: str
    dimension: int
    digest: str
    mode: str

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
