"""The critic over a language model.

Is the evidence enough, and if not, what is missing and which query should find it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Chat, Memory, RegionView, Trace, Verdict
from canopy.llm.showing import picture_tokens, show_evidence
from canopy.llm.structured import Strict, ask_for


def _names_something(sufficient: bool, missing: str, query: str) -> None:
    if not sufficient and not (query.strip() or missing.strip()):
        raise ValueError("query must say what to search for where sufficient is false")


# Lengths that only the schema knows: they keep a model that cannot stop from writing on; a longer text out of a server
# without schemas is as good.
Line = Annotated[str, Field(json_schema_extra={"maxLength": 200})]


class Judgement(Strict):
    """What the critic replies; a judgement that more is needed says what."""

    sufficient: bool
    missing: Line
    query: Line

    @model_validator(mode="after")
    def _says_what(self) -> Judgement:
        _names_something(self.sufficient, self.missing, self.query)
        return self


class JudgementWithFacts(Strict):
    """What the critic with a memory replies: first the facts, then the judgement."""

    facts: Annotated[list[Line], Field(json_schema_extra={"maxItems": 5})]
    sufficient: bool
    missing: Line
    query: Line

    @model_validator(mode="after")
    def _says_what(self) -> JudgementWithFacts:
        _names_something(self.sufficient, self.missing, self.query)
        return self


class LanguageCritic:
    """See `canopy.llm.roles.Critic`.

    Parameters
    ----------
    count : callable
        Texts to their tokens, for the cap.
    room : tuple of int
        The most tokens of evidence without and with videos among it, as the reader's (paper: 16k and 64k). Over it the
        newest regions stay; what is left out is counted in the trace's notes.
    """

    def __init__(self, chat: Chat, count: Callable[[Sequence[str]], list[int]], sees_media: bool = False,
                 room: tuple[int, int] = (16_000, 64_000)) -> None:
        self._chat, self._count, self._sees_media, self._room = chat, count, sees_media, room

    def judge(self, question: str, evidence: Sequence[RegionView], memory: Memory | None, trace: Trace) -> Verdict:
        """One call, and one more if its reply has to be repaired.

        Sufficient, counted as a fallback, if that cannot be used either.
        """
        text = show_evidence(self._capped(evidence, trace), self._sees_media, trace)
        values = {"question": question.strip(), "evidence": text or "(nothing was found)\n"}
        reply: Judgement | JudgementWithFacts | None
        if memory is None:
            reply = ask_for(Judgement, self._chat, "critic", load_prompt("critic").messages(**values), trace,
                           max_tokens=512)
            facts: tuple[str, ...] = ()
        else:
            messages = load_prompt("critic_memory").messages(**values, facts=_listed(memory.facts),
                                                             searched=_listed(memory.searched))
            reply = ask_for(JudgementWithFacts, self._chat, "critic", messages, trace, max_tokens=1024)
            facts = tuple(f for x in (reply.facts if reply else ()) if (f := " ".join(x.split())))
        if reply is None or reply.sufficient:
            return Verdict(True, facts=facts)
        missing, query = (" ".join(x.split()) for x in (reply.missing, reply.query))
        return Verdict(False, missing, query or missing, facts)

    def _capped(self, evidence: Sequence[RegionView], trace: Trace) -> list[RegionView]:
        room = self._room[any(s.modality == "video" for s in evidence)]
        kept: list[RegionView] = []
        for region, words in reversed(list(zip(evidence, self._count([s.words() for s in evidence]), strict=True))):
            room -= words + (picture_tokens(region) if self._sees_media else 0)
            if room < 0:
                trace.note("regions the critic had no room for", len(evidence) - len(kept))
                break
            kept.append(region)
        return kept[::-1]


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "(none)"
