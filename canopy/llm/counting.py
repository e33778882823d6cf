"""How long texts are in the reader's tokens.

By its tokenizer if there is one, otherwise by its server, otherwise by an estimate that labels name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from canopy.errors import DataError
from canopy.llm.cache import ReplyCache, request_key
from canopy.llm.client import ChatClient
from canopy.llm.roles import encodable
from canopy.llm.wire import Failed, Refused

KINDS = ("vllm", "llama.cpp")
KEPT = 200_000
_WORD = re.compile(r"[^\W\d_]+|\d|[^\w\s]+|_")


class Counter(Protocol):
    """Counts tokens. ``says``: how, for labels; empty if the tokens are the reader's own."""

    says: str

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        ...


class LocalTokens:
    """A ``tokenizer.json`` in a folder (of the model that is served)."""

    says: str = ""

    def __init__(self, folder: Path) -> None:
        """Raises DataError if there is none, or it cannot be read."""
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json" if folder.is_dir() else folder
        if not path.is_file():
            raise DataError(f"{path}: no such file: language.tokenizer names the folder with the reader's "
                            "tokenizer.json")
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(path))
        except Exception as e:  # the library raises bare Exceptions
            raise DataError(f"{path}: not a tokenizer that can be read: {str(e)[:160]}") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(e.ids) for e in self._tokenizer.encode_batch([encodable(t) for t in texts],
                                                                 add_special_tokens=False)]


class ServerTokens:
    """The server's ``/tokenize``, vLLM's or llama.cpp's; each text is asked about once, in later runs too."""

    says: str = ""

    def __init__(self, client: ChatClient, kind: str) -> None:
        self._client, self._kind = client, kind
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; ServerError if the server cannot be reached."""
        return [self._count(t) for t in texts]

    def _count(self, text: str) -> int:
        key = request_key({"model": self._client.model, "tokenize": text})
        if (known := self._known.get(key)) is not None:
            return known
        kept = self._client.cache.get(key) if self._client.cache is not None else None
        number = int(kept["tokens"]) if kept else self._ask(text)
        if kept is None and self._client.cache is not None:
            self._client.cache.put(key, {"tokens": number})
        if len(self._known) >= KEPT:
            self._known.clear()
        self._known[key] = number
        return number

    def _ask(self, text: str) -> int:
        if not text:
            return 0
        body, counted = _form(self._client, self._kind, text)
        return self._client.wire.ask(self._client.wire.base.removesuffix("/v1") + "/tokenize", body,
                                     lambda b: counted(b) or b["no count"])[0]


class EstimatedTokens:
    """A guess for English and tables: a word is one token for every eight letters begun (five if it is capitalised:
    names), a digit one, a run of signs one.

    Scripts without blanks (Chinese, Japanese, Thai) count as one token a character. Against SmolLM2's tokenizer (49k
    tokens) it gave 101% on 528 paragraphs and 94% on 270 tables of the benchmarks' slices; tokenizers with more tokens,
    as Qwen's, need fewer.
    """

    says: str = "tokens estimated"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Estimated tokens of each text."""
        return [sum(1 + (len(w) - 1) // (8 if w.islower() else 5) if w.isascii() else _unspaced(w)
                    for w in _WORD.findall(t)) for t in texts]


def _unspaced(word: str) -> int:
    wide = sum(ord(c) >= 0x0E00 for c in word)
    return wide + (1 + (len(word) - wide - 1) // 4 if len(word) > wide else 0)


def _form(client: ChatClient, kind: str, text: str) -> tuple[dict[str, Any], Callable[[Any], int]]:
    """The request that a kind of server takes, and how its reply is read (0 if it is another's)."""
    clean = encodable(text)
    if kind == "vllm":
        return {"model": client.model, "prompt": clean, "add_special_tokens": False}, lambda b: int(b.get("count") or 0)
    return {"content": clean, "add_special": False}, lambda b: len(b.get("tokens") or ())


def server_tokens(client: ChatClient, cache: ReplyCache | None) -> ServerTokens | None:
    """The server's tokenizer, None if it has none; the answer is kept, so that a resumed run counts in
    the same way.

    Raises
    ------
    ServerError
        If the server cannot be reached.
    """
    key = request_key({"model": client.model, "tokenizer": "kind"})
    kept = cache.get(key) if cache is not None else None
    kind = str(kept["kind"]) if kept else _find_kind(client)
    if kept is None and cache is not None:
        cache.put(key, {"kind": kind})
    return ServerTokens(client, kind) if kind else None


def _count_in(counted: Callable[[Any], int], body: Any) -> int:
    """The count in a reply, 0 if it is no object."""
    return counted(body) if isinstance(body, dict) else 0


def _find_kind(client: ChatClient) -> str:
    url = client.wire.base.removesuffix("/v1") + "/tokenize"
    for kind, (body, counted) in {k: _form(client, k, "two words") for k in KINDS}.items():
        try:
            number = client.wire.ask(url, body, partial(_count_in, counted))[0]
        except Refused:
            continue
        except Failed as e:
            if e.status != 200:
                raise Failed(f"{e} (or name the folder with the model's tokenizer.json in language.tokenizer)",
                             e.status) from None
            continue
        if number >= 2:  # llama.cpp answers vLLM's form too, with no count and no tokens
            return kind
    return ""
