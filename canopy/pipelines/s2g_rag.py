"""S2G-RAG (Li and others, 2026).

A judge of sufficiency lists the gaps, a search looks for them, and sentences are extracted by their numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from canopy.encoder.words import item_words
from canopy.items import Evidence, Question
from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Trace
from canopy.llm.structured import Strict, ask_for
from canopy.pipelines.base import Needs, Result, Round, SystemSpec
from canopy.pipelines.evidence import answer_from, cap_of, choose_newest
from canopy.pipelines.tools import Tools

MAX_GAPS = 3  # gaps that make a query (the authors')
MAX_SENTENCES = 6  # sentences that an extraction may name (the authors')
MAX_FRAGMENTS = 40  # fragments of an item that the extractor is shown (the authors')


class Gap(Strict):
    """One missing fact."""

    category: str
    target: str
    slot: str
    description: str

    def words(self) -> str:
        """The gap as part of a query."""
        target, slot = self.target.strip(), self.slot.strip()
        return f"{target} {slot}" if target and slot else self.description.strip()


# Lengths that only the schema knows: they keep a model that cannot stop from writing on; of a longer list the first are
# as good.
class Judgement(Strict):
    """Whether the evidence suffices, and what it lacks."""

    sufficient: bool
    gap_items: Annotated[list[Gap], Field(json_schema_extra={"maxItems": 8})]


class Extraction(Strict):
    """Numbers of the sentences (rows, segments) that help to answer."""

    sentences: Annotated[list[int], Field(json_schema_extra={"maxItems": 40})]


class S2gRag:
    """A round: judge the evidence (one call), search with the question and its gaps, extract sentences by number (one
    call); then the reader.

    As in the authors' code the judge is asked before every search, the first included, whose verdict can only name
    gaps; what was retrieved is left out of later searches; a judgement that cannot be used counts as "not sufficient,
    no gaps", an extraction that cannot be used as an empty one (both are counted). Left out is the judge's call after
    the last round, whose verdict changes nothing. k and R are those of the other systems (the authors: 6 and 4), the
    judge is the reader's model (theirs is fine-tuned). Images and videos take part by their words; the reader sees what
    is kept of them.
    """

    def __init__(self, k: int, rounds: int) -> None:
        self.k, self.rounds = k, rounds

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question."""
        if tools.roles.chat is None:
            raise ValueError("S2G-RAG has no protocol without a language model")
        notes: Counter[str] = Counter()
        rounds: list[Round] = []
        seen: dict[str, None] = {}
        for number in range(1, 2 if tools.corpus_scope == "gold" else self.rounds + 1):
            gaps: list[str] = []
            if tools.corpus_scope != "gold":
                sufficient, gaps = self._judge(question, rounds, tools, trace, notes)
                if sufficient and number > 1:
                    break
            query = " ".join([question.question, *gaps])
            hits = [i for i, _ in tools.find(question.id, query, self.k, trace, exclude=tuple(seen))]
            if not hits:
                break
            seen |= dict.fromkeys(hits)
            rounds.append(Round(query, tuple(hits), tuple(hits),
                                tuple(self._extract(question, hits, gaps, tools, trace, notes))))
        return answer_from(question, tools, trace, rounds, notes=notes)

    def _judge(self, question: Question, rounds: Sequence[Round], tools: Tools, trace: Trace,
               notes: Counter[str]) -> tuple[bool, list[str]]:
        """Whether the evidence suffices, and the gaps to search for."""
        words = [[tools.library.show(e).words() for e in r.kept] for r in rounds]
        kept, _ = choose_newest([tools.roles.reader.count_tokens(w) if w else [] for w in words],
                                cap_of(tools))
        memory = "\n".join(w for of, keep in zip(words, kept, strict=True) for w, k in zip(of, keep, strict=True) if k)
        assert tools.roles.chat is not None
        messages = load_prompt("s2g_judge").messages(question=question.question, evidence=memory or "(nothing yet)")
        reply = ask_for(Judgement, tools.roles.chat, "judge", messages, trace, max_tokens=512)
        if reply is None:
            notes["judgement not usable"] += 1
            return False, []
        return reply.sufficient, [] if reply.sufficient else [w for g in reply.gap_items[:MAX_GAPS] if (w := g.words())]

    def _extract(self, question: Question, items: list[str], gaps: list[str], tools: Tools, trace: Trace,
                 notes: Counter[str]) -> list[Evidence]:
        """The fragments of the new items that the model names, in retrieval order."""
        regions: list[Evidence] = []
        lines: list[str] = []
        for i in items:
            item, leaves = tools.library.item(i), tools.library.leaves(i)
            _, each = item_words(item, leaves)
            for n in range(min(leaves.count, MAX_FRAGMENTS)):
                regions.append(Evidence(i, n, n + 1, 0.0, 0, span=leaves.span(n, n + 1)))
                lines.append(f"[{len(regions)}] ({item.title.strip() or item.modality}) {' '.join(each[n].split())}")
            if leaves.count > MAX_FRAGMENTS:
                notes["fragments past an item's fortieth"] += leaves.count - MAX_FRAGMENTS
        room, count = cap_of(tools), 0
        for tokens in tools.roles.reader.count_tokens(lines):
            room -= tokens
            if room < 0:
                notes["fragments the extractor had no room for"] += len(lines) - count
                break
            count += 1
        assert tools.roles.chat is not None
        messages = load_prompt("s2g_extract").messages(question=question.question,
                                                       gaps="\n".join(f"- {g}" for g in gaps) or "(none named)",
                                                       sentences="\n".join(lines[:count]), most=str(MAX_SENTENCES))
        reply = ask_for(Extraction, tools.roles.chat, "extractor", messages, trace)
        if reply is None:
            notes["extraction not usable"] += 1
            return []
        if wrong := sum(not 1 <= n <= count for n in reply.sentences):
            notes["sentence numbers that do not exist"] += wrong
        named = set([n for n in dict.fromkeys(reply.sentences) if 1 <= n <= count][:MAX_SENTENCES])
        return [r for n, r in enumerate(regions, 1) if n in named]


SYSTEMS = (SystemSpec("s2g-rag", "a judge that lists gaps, a search for them, sentences extracted by number",
                      lambda a: S2gRag(a.k, a.rounds),
                      Needs(llm=True), "S2G-RAG", "compressor"),)
