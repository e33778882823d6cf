"""S2G-RAG: sentences extracted by their numbers, a judge of sufficiency that lists the gaps, and a search for the first gap."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from canopy.items import Evidence, Question
from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Trace
from canopy.llm.structured import Strict, ask_for
from canopy.pipelines.base import Needs, Result, Round, SystemSpec
from canopy.pipelines.evidence import answer_from
from canopy.pipelines.tools import Tools


class Extraction(Strict):
    """Numbers of the sentences (rows, segments) that help to answer."""

    sentences: list[int] = Field(max_length=200)


class Gap(Strict):
    """One missing fact and the query that should find it."""

    fact: str
    query: str


class Judgement(Strict):
    """Whether the memory suffices, and what it lacks."""

    sufficient: bool
    gaps: list[Gap] = Field(default_factory=list, max_length=8)


class S2gRag:
    """A round: retrieve k items, extract fragments by number (one call), judge the memory (one call, not after the last round), search for the first gap.

    Where an extraction cannot be used nothing of that round is kept; where a judgement cannot be used the reader answers from what there is. Both are counted.
    """

    def __init__(self, k: int, rounds: int) -> None:
        self.k, self.rounds = k, rounds

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question."""
        if tools.roles.chat is None:
            raise ValueError("S2G-RAG has no protocol without a language model")
        notes: Counter[str] = Counter()
        rounds: list[Round] = []
        seen: set[str] = set()
        query, last = question.question, 1 if tools.setting == "gold" else self.rounds
        for number in range(1, last + 1):
            hits = [i for i, _ in tools.find(question.id, query, self.k, trace)]
            new = [i for i in hits if i not in seen]
            seen.update(new)
            rounds.append(Round(query, tuple(hits), tuple(new), tuple(self._extract(question, new, tools, trace, notes))))
            if number == last:
                break
            memory = "\n".join(tools.library.show(r).words() for done in rounds for r in done.kept)
            verdict = ask_for(Judgement, tools.roles.chat, "judge", load_prompt("s2g_judge").messages(question=question.question, evidence=memory), trace)
            if verdict is None:
                notes["judgement not usable"] += 1
                break
            if verdict.sufficient or not verdict.gaps:
                break
            query = verdict.gaps[0].query or verdict.gaps[0].fact or question.question
        return answer_from(question, tools, trace, rounds, notes=notes)

    def _extract(self, question: Question, items: list[str], tools: Tools, trace: Trace, notes: Counter[str]) -> list[Evidence]:
        """The fragments of the new items that the model names, in retrieval order."""
        fragments = [(i, n) for i in items for n in range(tools.library.leaves(i).count)]
        if not fragments:
            return []
        regions = [Evidence(i, n, n + 1, 0.0, 0, span=tools.library.leaves(i).span(n, n + 1)) for i, n in fragments]
        lines = [f"[{number}] {tools.library.show(r).words()}" for number, r in enumerate(regions)]
        assert tools.roles.chat is not None
        found = ask_for(Extraction, tools.roles.chat, "extractor", load_prompt("s2g_extract").messages(question=question.question, evidence="\n".join(lines)), trace)
        if found is None:
            notes["extraction not usable"] += 1
            return []
        named = set(found.sentences)
        if wrong := sum(not 0 <= n < len(regions) for n in named):
            notes["sentence numbers that do not exist"] += wrong
        return [r for n, r in enumerate(regions) if n in named]


SYSTEMS = (SystemSpec("s2g-rag", "sentences extracted by number, a judge that lists gaps, a search for the first gap", lambda a: S2gRag(a.k, a.rounds),
                      Needs(llm=True), "S2G-RAG", "compressor"),)
