"""Roles without a language model that read the same evidence once: many systems show the same regions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from canopy.items import Question
from canopy.llm.roles import Critic, Memory, Reader, RegionView, Reply, Trace, Verdict

REMEMBERED = "remembered"  # a trace's activity: the seconds that the first reading of the same evidence took
_MAX_COUNTS = 500_000


class CachingReader:
    """See `canopy.llm.roles.Reader`. A cached reply comes with the seconds and the notes of its first reading.

    A language model's replies are cached by its client instead, and outlive the run.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader, self.name, self.sees_media = reader, reader.name, reader.sees_media
        self._replies: dict[tuple[str, tuple[RegionView, ...]], tuple[Reply, dict[str, int], float]] = {}
        self._counts: dict[str, int] = {}

    def read(self, question: Question, evidence: Sequence[RegionView], trace: Trace) -> Reply:
        """The reply of the first time."""
        key = (question.id, tuple(evidence))
        cached = self._replies.get(key)
        if cached is None:
            first, started = Trace(), time.perf_counter()
            reply = self._reader.read(question, evidence, first)
            self._replies[key] = cached = (reply, first.notes, time.perf_counter() - started)
        else:
            trace.spend(REMEMBERED, cached[2])
        for what, times in cached[1].items():
            trace.note(what, times)
        return cached[0]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Length of each text; each is counted once."""
        counts = {t: self._counts.get(t) for t in texts}  # this call's own: another thread may clear the cache
        missing = [t for t, n in counts.items() if n is None]
        counts.update(zip(missing, self._reader.count_tokens(missing), strict=True))
        if len(self._counts) + len(missing) > _MAX_COUNTS:
            self._counts.clear()
        known = {t: n for t, n in counts.items() if n is not None}
        self._counts.update(known)
        return [known[t] for t in texts]


class CachingCritic:
    """See `canopy.llm.roles.Critic`. A verdict that depends on a memory of earlier rounds is never cached."""

    def __init__(self, critic: Critic) -> None:
        self._critic = critic
        self._verdicts: dict[tuple[str, tuple[RegionView, ...]], tuple[Verdict, dict[str, int]]] = {}

    def judge(self, question: str, evidence: Sequence[RegionView], memory: Memory | None, trace: Trace) -> Verdict:
        """The verdict of the first time."""
        if memory is not None:
            return self._critic.judge(question, evidence, memory, trace)
        key = (question, tuple(evidence))
        cached = self._verdicts.get(key)
        if cached is None:
            first = Trace()
            self._verdicts[key] = cached = (self._critic.judge(question, evidence, None, first), first.notes)
        for what, times in cached[1].items():
            trace.note(what, times)
        return cached[0]
