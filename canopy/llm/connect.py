"""From settings to roles.

Over the language model server that params.yaml or the environment names, else without a language model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from canopy.config import Language
from canopy.errors import ServerError
from canopy.llm.cache import ReplyCache
from canopy.llm.classifier import LanguageClassifier
from canopy.llm.client import ChatClient
from canopy.llm.counting import Counter, EstimatedTokens, LocalTokens, server_tokens
from canopy.llm.critic import LanguageCritic
from canopy.llm.reader import LanguageReader
from canopy.llm.roles import Roles
from canopy.llm.router import LanguageRouter
from canopy.llm.wire import Server

BASE_URL, MODEL, KEY = "CANOPY_LLM_BASE_URL", "CANOPY_LLM_MODEL", "CANOPY_LLM_API_KEY"
REPLIES = "replies.sqlite"


def connect_roles(language: Language, work: Path, plain: Callable[[], Roles], seed: int = 13,
                  room: tuple[int, int] = (16_000, 64_000)) -> Roles:
    """The roles of a run.

    Parameters
    ----------
    language : Language
        If it names no server or model, CANOPY_LLM_BASE_URL and CANOPY_LLM_MODEL do; the key is read from
        CANOPY_LLM_API_KEY alone.
    work : Path
        Folder of the response cache, ``replies.sqlite``.
    plain : callable
        Makes the roles without a language model; called if no server is named.
    seed : int
        Sent with every request; it matters if ``temperature`` is not 0.
    room : tuple of int
        The critic's caps on evidence in tokens, without and with videos: ``answers.evidence_tokens`` and
        ``answers.video_evidence_tokens``.

    Returns
    -------
    Roles
        The server gets no request if model and tokenizer are configured or known from an earlier run.

    Raises
    ------
    ServerError
        If the address is no web address, the server cannot be reached, or no model is named and it has none or
        several.
    DataError
        If ``language.tokenizer`` or the cache cannot be used.
    """
    base_url = named_server(language)
    if not base_url:
        return plain()
    server = Server(base_url, "", os.environ.get(KEY, "").strip(), language.concurrency, language.timeout_seconds,
                    language.tries, language.temperature, seed)
    model = language.model.strip() or os.environ.get(MODEL, "").strip() or _only_model(server)
    cache = ReplyCache(work / REPLIES)
    chat = ChatClient(replace(server, model=model), cache)
    counter: Counter = (
        LocalTokens(_named_path(language.tokenizer))
        if language.tokenizer
        else server_tokens(chat, cache) or EstimatedTokens()
    )
    reader = LanguageReader(chat, short_name(model), counter, language.sees_media)
    return Roles(LanguageCritic(chat, reader.count_tokens, language.sees_media, room), LanguageClassifier(chat),
                 LanguageRouter(chat), reader,
                 f"{reader.name}, over an OpenAI-compatible "
                 f"server{', images and frames shown' if language.sees_media else ''}", "llm", chat)


def _named_path(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # "~name" of a user that does not exist: later code reports that there is no such file
        return Path(name)


def named_server(language: Language) -> str:
    """Address of the server that params.yaml or the environment names, up to and without ``/chat/completions``; empty
    if none is named.

    Raises
    ------
    ServerError
        If it is no web address, or holds a password, a query or a fragment.
    """
    address = language.base_url.strip() or os.environ.get(BASE_URL, "").strip()
    if not address:
        return ""
    where = "language.base_url" if language.base_url.strip() else BASE_URL
    try:
        parts = urlsplit(address)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port or 1) > 0
            and address.isascii()
            and not any(c.isspace() for c in address)
        )
    except ValueError:
        raise ServerError(f"{where} is not a web address; it looks like http://127.0.0.1:8000/v1") from None
    if parts.username is not None or parts.password is not None:
        raise ServerError(f"{where} holds a name or password; give the server's key in {KEY} instead")
    if not usable or parts.query or parts.fragment:
        raise ServerError(f"{where} is {address[:80]!r}, which is not a plain web address; it looks like "
                          "http://127.0.0.1:8000/v1")
    return address.rstrip("/").removesuffix("/chat/completions").rstrip("/")


def short_name(model: str) -> str:
    """A model's name for tables.

    A server that serves a folder or file names it by its path, of which the last part says enough.
    """
    return (
        model.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
        if model.startswith(("/", "~", ".")) or model[1:3] == ":\\"
        else model
    )


def _only_model(server: Server) -> str:
    names = ChatClient(server).models()
    if len(names) != 1:
        there = f"has {', '.join(names[:10])}" if names else "names none"
        raise ServerError(f"{server.base_url}: the server {there}: say which model to use in language.model or {MODEL}")
    return names[0]
