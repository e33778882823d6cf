"""The node store, read side: memory-mapped fp16 node vectors, each item's contiguous, checked against a manifest."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canopy.digests import bytes_sha256
from canopy.errors import DataError, EncoderMismatch
from canopy.hierarchy.tree import Tree, build_tree

FORMAT = 1
PER_MODALITY = "f_theta_per_modality"
BRANCHING = "f_theta_branching_"  # and B: f_theta's nodes of hierarchies of another B
ROWS_SCHEMA = pa.schema([("item_id", pa.string()), ("shard", pa.int32()), ("row", pa.int64()),
                         ("fragments", pa.int32()), ("nodes", pa.int32())])


def shard_name(number: int) -> str:
    """File name of a shard's vectors; its keys lie beside it under ``.keys.npy``."""
    return f"shard-{number:04d}.npy"


def keys_name(number: int) -> str:
    """File name of a shard's content keys."""
    return f"shard-{number:04d}.keys.npy"


def score_nodes(vectors: np.ndarray, query: np.ndarray) -> np.ndarray:
    """s(q, v) of nodes for a unit query vector, float32, shape (nodes,); ``vectors``: float16, (nodes, dimension)."""
    return vectors.astype(np.float32) @ np.asarray(query, dtype=np.float32)


class NodeStore:
    """Vectors of all nodes of all items under one encoder.

    Attributes
    ----------
    dimension, digest, mode, branching
        Of the encoder and hierarchy that made it.
    item_ids : list of str
        In the order of the item table.
    manifest_sha256 : str
        Names the store's content: it covers every shard's digest.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any], digest_of_manifest: str) -> None:
        self.path, self.manifest, self.manifest_sha256 = path, manifest, digest_of_manifest
        self.dimension: int = manifest["dimension"]
        self.digest: str = manifest["digest"]
        self.mode: str = manifest["mode"]
        self.branching: int = manifest["branching"]
        rows = pq.read_table(path / "items.parquet", schema=ROWS_SCHEMA)
        self.item_ids: list[str] = rows["item_id"].to_pylist()
        columns = (rows[c].to_numpy() for c in ("shard", "row", "fragments", "nodes"))
        self._shard, self._row, self._fragments, self._nodes = columns
        self._where = {i: n for n, i in enumerate(self.item_ids)}
        self._open = lru_cache(maxsize=None)(self._load)
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, *, digest: str | None = None) -> NodeStore:
        """Open a store; nothing is read but the manifest and the item table.

        Raises
        ------
        DataError
            If there is no finished store (the manifest is written last).
        EncoderMismatch
            If ``digest`` is given and the store was made by another encoder.
        """
        try:
            raw = (path / "manifest.json").read_bytes()
            manifest = json.loads(raw)
        except (OSError, ValueError):
            raise DataError(f"{path}: no finished node store there; run `canopy run`") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise DataError(f"{path}: node store of another format; this version reads {FORMAT}; run `canopy run`")
        if digest is not None and manifest["digest"] != digest:
            raise EncoderMismatch(f"{path}: made by encoder {manifest['digest'][:12]}, opened with {digest[:12]}; "
                                  "run `canopy run --stale`")
        try:
            return cls(path, manifest, bytes_sha256(raw))
        except (OSError, KeyError, TypeError, pa.ArrowException) as e:
            raise DataError(f"{path}: the node store is damaged ({type(e).__name__}: {str(e)[:100]}); "
                            "run `canopy run --force node_embeddings`") from None

    def _load(self, shard: int) -> np.ndarray:
        try:
            # NumPy parses a file's header as Python, which CPython 3.11 does not do safely in two threads at once.
            with self._lock:
                vectors = np.load(self.path / shard_name(shard), mmap_mode="r")
        except (OSError, ValueError, EOFError) as e:
            raise DataError(f"{self.path / shard_name(shard)}: cannot be read ({e}); "
                            "run `canopy run --force node_embeddings`") from None
        if vectors.shape != (self.manifest["shards"][shard]["nodes"], self.dimension):
            raise DataError(f"{self.path / shard_name(shard)}: holds {vectors.shape}, not what its manifest says; "
                            "run `canopy run --force node_embeddings`")
        return vectors

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._where

    def __len__(self) -> int:
        return len(self.item_ids)

    def tree(self, item_id: str) -> Tree:
        """The item's hierarchy, whose nodes its vectors follow."""
        return build_tree(int(self._fragments[self._index(item_id)]), self.branching)

    def vectors(self, item_id: str) -> np.ndarray:
        """An item's node vectors in level order, float16, shape (nodes, dimension), memory-mapped."""
        n = self._index(item_id)
        row = self._row[n]
        return self._open(int(self._shard[n]))[row:row + self._nodes[n]]

    def roots(self) -> np.ndarray:
        """Vectors of all whole items in the order of ``item_ids``, float16, shape (items, dimension)."""
        out = np.empty((len(self), self.dimension), dtype=np.float16)
        for s in np.unique(self._shard):
            own = np.flatnonzero(self._shard == s)
            out[own] = self._open(int(s))[self._row[own]]
        return out

    def scores(self, item_ids: Sequence[str], query: np.ndarray) -> list[np.ndarray]:
        """s(q, v) of every node of the given items, float32, for a unit query vector."""
        return [score_nodes(self.vectors(i), query) for i in item_ids]

    def _index(self, item_id: str) -> int:
        try:
            return self._where[item_id]
        except KeyError:
            raise DataError(f"{self.path}: item {item_id!r} is not in the node store") from None
