"""What media files hold, kept by their content between runs, so that a killed or repeated run reads no file twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from canopy.sqlite_cache import SqliteCache


class MediaCache(SqliteCache):
    """JSON values by the SHA-256 of a media file, and by what is read from it and how.

    See `SqliteCache` for damage and errors.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "media findings", "found", ("sha256", "asked"), "value")

    def get_or_compute(self, sha256: str, aspect: str, compute: Callable[[], Any]) -> Any:
        """The cached value; otherwise what ``compute`` gives (plain JSON), which is then cached.

        Its errors are not cached.
        """
        cached = self.get((sha256, aspect))
        if cached is not None:
            return cached
        value = json.loads(json.dumps(compute()))
        self.put((sha256, aspect), value)
        return value
