"""Roles without a language model that look at the same evidence once: many systems show the same regions for the same question."""

from __future__ import annotations

import time
from collections.abc import Sequence

from canopy.items import Question
from canopy.llm.roles import Critic, Memory, Reader, Reply, Shown, Trace, Verdict

REMEMBERED = "remembered"  # seconds of a trace that passed when the same evidence was read first
_KEPT_COUNTS = 500_000


class RememberingReader:
    """See `canopy.llm.roles.Reader`. What a reading took, and what it noted, is told again with its reply.

    A language model's replies are kept by its client instead, where they outlive the run.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader, self.name, self.sees_media = reader, reader.name, reader.sees_media
        self._replies: dict[tuple[str, tuple[Shown, ...]], tuple[Reply, dict[str, int], float]] = {}
        self._counts: dict[str, int] = {}

    def read(self, question: Question, evidence: Sequence[Shown], trace: Trace) -> Reply:
        """The reply of the first time."""
        key = (question.id, tuple(evidence))
        held = self._replies.get(key)
        if held is None:
            own, started = Trace(), time.perf_counter()
            reply = self._reader.read(question, evidence, own)
            self._replies[key] = held = (reply, own.notes, time.perf_counter() - started)
        else:
            trace.spend(REMEMBERED, held[2])
        for what, times in held[1].items():
            trace.note(what, times)
        return held[0]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Length of each text; each is counted once."""
        counts = {t: self._counts.get(t) for t in texts}  # this call's own: another thread may clear what is kept
        missing = [t for t, n in counts.items() if n is None]
        counts.update(zip(missing, self._reader.count_tokens(missing), strict=True))
        if len(self._counts) + len(missing) > _KEPT_COUNTS:
            self._counts.clear()
        found = {t: n for t, n in counts.items() if n is not None}
        self._counts.update(found)
        return [found[t] for t in texts]


class RememberingCritic:
    """See `canopy.llm.roles.Critic`. A judgement with a memory of rounds before is made anew."""

    def __init__(self, critic: Critic) -> None:
        self._critic = critic
        self._verdicts: dict[tuple[str, tuple[Shown, ...]], tuple[Verdict, dict[str, int]]] = {}

    def judge(self, question: str, evidence: Sequence[Shown], memory: Memory | None, trace: Trace) -> Verdict:
        """The verdict of the first time."""
        if memory is not None:
            return self._critic.judge(question, evidence, memory, trace)
        key = (question, tuple(evidence))
        held = self._verdicts.get(key)
        if held is None:
            own = Trace()
            self._verdicts[key] = held = (self._critic.judge(question, evidence, None, own), own.notes)
        for what, times in held[1].items():
            trace.note(what, times)
        return held[0]
