"""A content-addressed cache of replies: no run asks again what it, or a run before it, has asked already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from canopy.digests import text_sha256
from canopy.sqlite_cache import SqliteCache


def request_key(request: Mapping[str, Any]) -> str:
    """SHA-256 over everything that can change a reply: model, messages, sampling, schema.

    The server's address and key are no part of it.
    """
    return text_sha256(json.dumps(request, sort_keys=True, separators=(",", ":")))


class ReplyCache(SqliteCache):
    """Replies by request key, so that a killed run repeats no call that was answered.

    See `SqliteCache` for damage and errors.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "replies", "replies", ("key",), "reply")
