"""IRCoT (Trivedi et al. 2023): retrieval interleaved with reasoning, one sentence a step; the reader then answers from all that was found."""

from __future__ import annotations

import re

from canopy.hierarchy.leaves import sentence_bounds
from canopy.items import Question
from canopy.llm.prompting import load_prompt
from canopy.llm.roles import Shown, Trace
from canopy.pipelines.base import Needs, Result, Round, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from, show_regions
from canopy.pipelines.tools import Tools

MAX_STEPS = 8  # reasoning sentences (the authors' limit)
MAX_ITEMS = 15  # items collected in all (the authors' limit)
STEP_ITEMS = 6  # items a step retrieves (the authors try 2, 4, 6 and 8)


class IrCot:
    """Retrieve with the question; then write one sentence of reasoning, stop if it states the answer, else retrieve with it.

    It stops after a sentence that says "answer is", after eight sentences, at an empty or repeated sentence, or when fifteen items are collected
    (the sentence that is then written could bring nothing more). Items are read whole, in the order found.
    """

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer one question."""
        if tools.roles.chat is None:
            raise ValueError("IRCoT has no protocol without a language model")
        seen: list[str] = []
        rounds = [self._retrieve(question, question.question, seen, tools, trace)]
        thoughts: list[str] = []
        last = 0 if tools.setting == "gold" else MAX_STEPS
        for _ in range(last):
            shown = show_regions([r for done in rounds for r in done.kept], tools, tools.answers.options)
            thought = self._think(question, shown, thoughts, tools, trace)
            if not thought or thought in thoughts:
                break
            thoughts.append(thought)
            if re.search(r"\banswer is\b", thought, re.I) or len(seen) >= MAX_ITEMS:
                break
            rounds.append(self._retrieve(question, thought, seen, tools, trace))
        result = answer_from(question, tools, trace, rounds)
        result.notes["reasoning sentences"] = len(thoughts)
        return result

    def _retrieve(self, question: Question, query: str, seen: list[str], tools: Tools, trace: Trace) -> Round:
        hits = [i for i, _ in tools.find(question.id, query, STEP_ITEMS, trace)]
        new = [i for i in hits if i not in seen][:MAX_ITEMS - len(seen)]
        seen += new
        return Round(query, tuple(hits), tuple(new), tuple(keep_whole(new, tools)))

    def _think(self, question: Question, shown: list[Shown], thoughts: list[str], tools: Tools, trace: Trace) -> str:
        """The next sentence of the reasoning: the reply's first, whatever else the model wrote."""
        assert tools.roles.chat is not None
        messages = load_prompt("ircot").messages(question=question.question, evidence="\n\n".join(s.words() for s in shown), thoughts=" ".join(thoughts))
        text = tools.roles.chat.complete("reasoner", messages, trace, max_tokens=96).strip()
        text = re.sub(r"<think>.*?</think>", "", text, flags=re.S).strip()
        return text[:sentence_bounds(text)[1]].strip() if text else ""


SYSTEMS = (SystemSpec("ircot", "retrieval interleaved with a chain of thought, one sentence a step", lambda a: IrCot(), Needs(llm=True), "IRCoT", "main"),)
