"""Node vectors of items that were sent in, by content, within a bound of bytes."""

from __future__ import annotations

from threading import Lock

import numpy as np
from cachetools import LRUCache


class NodeCache:
    """Least recently used out first; a value larger than the whole bound is not kept. Safe to use from several threads.

    Parameters
    ----------
    max_bytes : int
        Bound on the sum of the vectors' bytes.
    """

    def __init__(self, max_bytes: int) -> None:
        self._vectors: LRUCache[str, np.ndarray] = LRUCache(max_bytes, getsizeof=lambda vectors: vectors.nbytes)
        self._lock = Lock()

    def get(self, key: str) -> np.ndarray | None:
        """The vectors under a key, or None."""
        with self._lock:
            return self._vectors.get(key)

    def put(self, key: str, vectors: np.ndarray) -> None:
        """Keep vectors under a key."""
        with self._lock:
            if vectors.nbytes <= self._vectors.maxsize:
                self._vectors[key] = vectors

    @property
    def used_bytes(self) -> int:
        """Bytes in use."""
        return int(self._vectors.currsize)
