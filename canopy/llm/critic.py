"""The critic over a language model: is the evidence enough, and if not, what is missing and which query should find it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import model_validator

from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Chat, Memory, Shown, Trace, Verdict
from canopy.llm.showing import show_evidence
from canopy.llm.structured import Strict, ask_for

# The critic's own cap on evidence, as the reader's: the paper's 16k tokens, 64k where videos are among it.
EVIDENCE_TOKENS, VIDEO_EVIDENCE_TOKENS = 16_000, 64_000
FRAME_TOKENS = 222


class Judgement(Strict):
    """What the critic replies; a judgement that more is needed says what."""

    sufficient: bool
    missing: str
    query: str

    @model_validator(mode="after")
    def _says_what(self) -> Judgement:
        if not self.sufficient and not (self.query.strip() or self.missing.strip()):
            raise ValueError("query must say what to search for where sufficient is false")
        return self


class JudgementWithFacts(Strict):
    """What the critic with a memory replies: first the facts, then the judgement."""

    facts: list[str]
    sufficient: bool
    missing: str
    query: str

    @model_validator(mode="after")
    def _says_what(self) -> JudgementWithFacts:
        if not self.sufficient and not (self.query.strip() or self.missing.strip()):
            raise ValueError("query must say what to search for where sufficient is false")
        return self


class LanguageCritic:
    """See `canopy.llm.roles.Critic`.

    Parameters
    ----------
    count : callable
        Texts to their tokens, for the cap: over it the newest regions stay (as for the reader), what is left out is counted in the trace's notes.
    """

    def __init__(self, chat: Chat, count: Callable[[Sequence[str]], list[int]], sees_media: bool = False) -> None:
        self._chat, self._count, self._sees_media = chat, count, sees_media

    def judge(self, question: str, evidence: Sequence[Shown], memory: Memory | None, trace: Trace) -> Verdict:
        """One call, and one more where its reply has to be repaired; sufficient, counted as a fallback, where that cannot be used either."""
        shown = show_evidence(self._capped(evidence, trace), self._sees_media, trace)
        values = {"question": question.strip(), "evidence": shown or "(nothing was found)\n"}
        said: Judgement | JudgementWithFacts | None
        if memory is None:
            said = ask_for(Judgement, self._chat, "critic", load_prompt("critic").messages(**values), trace)
            facts: tuple[str, ...] = ()
        else:
            messages = load_prompt("critic_memory").messages(**values, facts=_listed(memory.facts), searched=_listed(memory.searched))
            said = ask_for(JudgementWithFacts, self._chat, "critic", messages, trace, max_tokens=512)
            facts = tuple(f for x in (said.facts if said else ()) if (f := " ".join(x.split())))
        if said is None or said.sufficient:
            return Verdict(True, facts=facts)
        missing, query = (" ".join(x.split()) for x in (said.missing, said.query))
        return Verdict(False, missing, query or missing, facts)

    def _capped(self, evidence: Sequence[Shown], trace: Trace) -> list[Shown]:
        room = VIDEO_EVIDENCE_TOKENS if any(s.modality == "video" for s in evidence) else EVIDENCE_TOKENS
        kept: list[Shown] = []
        for region, words in reversed(list(zip(evidence, self._count([s.words() for s in evidence]), strict=True))):
            pictures = (len(region.times) or region.modality == "image") if self._sees_media and region.media else 0
            room -= words + FRAME_TOKENS * pictures
            if room < 0:
                trace.note("regions the critic had no room for", len(evidence) - len(kept))
                break
            kept.append(region)
        return kept[::-1]


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "(none)"
