"""SHA-256 of files, texts and bytes: contents are compared by digest everywhere, and each digest is made here."""

from __future__ import annotations

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes as hexadecimal digits, in bounded memory.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def bytes_sha256(data: bytes) -> str:
    """SHA-256 of bytes as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def text_key(text: str) -> bytes:
    """SHA-256 of a text as 32 bytes, for keys and for seeded orders; lone surrogates count as they stand."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def text_sha256(text: str) -> str:
    """SHA-256 of a text as hexadecimal digits; lone surrogates count as they stand."""
    return text_key(text).hex()
