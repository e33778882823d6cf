"""The router over a language model: which modalities' corpora to search, one or several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import create_model, model_validator

from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Chat, Trace
from canopy.llm.structured import Strict, ask_for

SOURCES = {
    "text": "passages of encyclopedias and reports: facts, descriptions, events, people, places",
    "table": "tables with rows and columns: lists, results, statistics, dates, amounts",
    "image": "single pictures: what something or someone looks like, logos, posters, drawings",
    "video": "recordings: what happens, is said or shown at some time in a film or clip",
}


class Route(Strict):
    """What the router replies; `route_among` adds a yes or no for each modality there is.

    (A list of names has no end for a model that cannot stop.)
    """

    def modalities(self) -> list[str]:
        """The modalities to search."""
        return [m for m, choice in self.model_dump().items() if choice]

    @model_validator(mode="after")
    def _chooses(self) -> Route:
        if not self.modalities():
            raise ValueError("at least one must be true")
        return self


@lru_cache(maxsize=16)
def route_among(available: tuple[str, ...]) -> type[Route]:
    """The shape of a reply that chooses at least one of the given modalities."""
    fields: dict[str, Any] = {m: (bool, ...) for m in available}
    return create_model("Route", __base__=Route, **fields)


class LanguageRouter:
    """See `canopy.llm.roles.Router`."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def route(self, question: str, available: Sequence[str], trace: Trace) -> tuple[str, ...]:
        """One call (none if there is one modality or none to choose from), and one more for a repair; all, counted
        as a fallback, if no reply can be used. In the order of ``available``."""
        if len(available) < 2:
            return tuple(available)
        sources = "\n".join(f"- {m}: {SOURCES.get(m, m)}" for m in available)
        reply = ask_for(route_among(tuple(available)), self._chat, "router",
                       load_prompt("router").messages(question=question.strip(), sources=sources), trace, max_tokens=64)
        if reply is None:
            return tuple(available)
        routed = reply.modalities()
        return tuple(m for m in available if m in routed)
