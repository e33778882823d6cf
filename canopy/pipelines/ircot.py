"""IRCoT (Trivedi and others, 2023): retrieval interleaved with reasoning, one sentence a step.

The reader then answers from everything that was retrieved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from canopy.hierarchy.leaves import sentence_bounds
from canopy.items import Question
from canopy.llm.prompting import load_prompt
from canopy.llm.roles import RegionView, Trace
from canopy.llm.showing import show_evidence
from canopy.llm.structured import give_up, without_thoughts
from canopy.llm.wire import Refused
from canopy.pipelines.base import Needs, Result, Round, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from, cap_of, choose_newest, count_tokens, show_regions
from canopy.pipelines.tools import Tools

MAX_STEPS = 8  # reasoning sentences (the authors' paper; their code allows 10)
MAX_ITEMS = 15  # items collected in all (the authors' limit)
STEP_ITEMS = 6  # items a step retrieves (the authors' setting; they try 2, 4, 6 and 8)
MAX_WORDS = 350  # of an item that the reasoner is shown (the authors' limit)


class IrCot:
    """Retrieve with the question; then write one sentence of reasoning, stop if it states the answer, else retrieve
    with it.

    It stops after a sentence that says "answer is", after eight sentences, or at an empty one. A sentence that
    concludes ("So ...", "Thus ...", a sum) is no query: the last one that states a fact is. Once fifteen items are
    collected the reasoning goes on and nothing more is searched. Items are read whole, in the order found. The authors
    drop question words from queries for BM25's sake; a dense index is given the sentence as it is.
    """

    k: int = STEP_ITEMS
    rounds: int = MAX_STEPS

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question: one call a sentence, then the reader's."""
        if tools.roles.chat is None:
            raise ValueError("IRCoT has no protocol without a language model")
        seen: list[str] = []
        rounds = [self._retrieve(question, question.question, seen, tools, trace)]
        thoughts: list[str] = []
        while tools.corpus_scope != "gold":
            thought = self._think(question, self._context(question, rounds, tools), thoughts, tools, trace)
            if not thought:
                break
            thoughts.append(thought)
            if re.search(r"\banswer is\b", thought, re.I) or len(thoughts) == MAX_STEPS:
                break
            if len(seen) < MAX_ITEMS:
                query = next((t for t in reversed(thoughts) if not concludes(t)), question.question)
                rounds.append(self._retrieve(question, query, seen, tools, trace))
        return answer_from(question, tools, trace, rounds, notes=Counter({"reasoning sentences": len(thoughts)}
                                                                         if thoughts else {}))

    def _retrieve(self, question: Question, query: str, seen: list[str], tools: Tools, trace: Trace) -> Round:
        hits = [i for i, _ in tools.find(question.id, query, STEP_ITEMS, trace)]
        new = [i for i in hits if i not in seen][:MAX_ITEMS - len(seen)]
        ids = tuple(i for i in hits if i in seen or i in new)
        seen += new
        return Round(query, ids, tuple(new), tuple(keep_whole(new, tools)))

    def _context(self, question: Question, rounds: Sequence[Round], tools: Tools) -> list[RegionView]:
        """What was found, each item's first words, under the reader's cap."""
        views = [[replace(s, text=first_words(s.text, MAX_WORDS))
                  for s in show_regions(r.kept, tools, tools.answers.options)] for r in rounds]
        kept, _ = choose_newest([count_tokens(s, tools) for s in views], cap_of(tools))
        return [s for of, keep in zip(views, kept, strict=True) for s, k in zip(of, keep, strict=True) if k]

    def _think(self, question: Question, views: list[RegionView], thoughts: list[str], tools: Tools,
               trace: Trace) -> str:
        """The next sentence of the reasoning: the reply's first that is new, whatever else the model wrote.

        None if the server refuses the request.
        """
        assert tools.roles.chat is not None
        evidence = show_evidence(views, tools.roles.reader.sees_media, trace)
        messages = load_prompt("ircot").messages(question=question.question, evidence=evidence
                                                 or "(nothing was found)", thoughts=" ".join(thoughts) or "(none yet)")
        try:
            text = without_thoughts(tools.roles.chat.complete("reasoner", messages, trace, max_tokens=128))
        except Refused as e:
            give_up(e, "reasoner", trace)
            return ""
        if not text:
            trace.fall_back("no sentence")
        return next_sentence(text, thoughts)


def next_sentence(text: str, previous: Sequence[str]) -> str:
    """The first sentence of a reply that is not among the previous ones, or its first; without a number or mark before
    it (``1.``, ``-``).

    The authors' models complete the reasoning; a chat model at times writes all of it again, or as a list.
    """
    text = re.sub(r"^(?:\d{1,2}[.)]|[-*•])\s+", "", text.strip())
    bounds = sentence_bounds(text)
    sentences = [s for a, b in pairwise(bounds) if (s := text[a:b].strip())]
    return next((s for s in sentences if s not in previous), sentences[0] if sentences else "")


def concludes(sentence: str) -> bool:
    """Whether a sentence draws a conclusion or does a sum, so that searching for it would find nothing new (the
    authors' rule)."""
    return bool(re.match(r"(?:thus|so|therefore|hence)\b|that is,", sentence.strip(), re.I)
                or re.search(r"\d [+-] \d[\d,.]* = \d", sentence))


def first_words(text: str, most: int) -> str:
    """The beginning of a text, up to so many blank-separated words, its blanks as they are."""
    for n, word in enumerate(re.finditer(r"\S+", text), 1):
        if n == most:
            return text[:word.end()]
    return text


SYSTEMS = (SystemSpec("ircot", "retrieval interleaved with a chain of thought, one sentence a step", lambda a: IrCot(),
                      Needs(llm=True), "IRCoT", "main",
                      main=4, searcher=True),)
