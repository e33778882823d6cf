"""Node vectors of items that were sent in, kept by content within a bound of bytes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np


class NodeCache:
    """Least recently used out first; a value larger than the whole bound is not kept.

    Parameters
    ----------
    max_bytes : int
        Bound on the sum of the vectors' bytes.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max, self._used = max_bytes, 0
        self._held: OrderedDict[str, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> np.ndarray | None:
        """The vectors under a key, or None."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: str, vectors: np.ndarray) -> None:
        """Keep vectors under a key."""
        with self._lock:
            if key in self._held or vectors.nbytes > self._max:
                return
            self._held[key] = vectors
            self._used += vectors.nbytes
            while self._used > self._max:
                self._used -= self._held.popitem(last=False)[1].nbytes

    @property
    def used_bytes(self) -> int:
        """Bytes held now."""
        return self._used
