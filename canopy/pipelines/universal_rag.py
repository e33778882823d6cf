"""UniversalRAG (Yeo and others, 2025) in its training-free form.

A router picks the corpora by modality, and their best items are read whole.
"""

from __future__ import annotations

from canopy.items import Question
from canopy.llm.roles import Trace
from canopy.pipelines.base import Needs, Result, Round, SystemSpec
from canopy.pipelines.compression import keep_whole
from canopy.pipelines.evidence import answer_from
from canopy.pipelines.tools import Tools


class UniversalRag:
    """Route, retrieve k items of the chosen modalities, read them.

    The router may name several corpora; they are then searched as one. If its reply cannot be used it falls back,
    deterministically, to all of them (the authors draw one at random). Their router also knows sizes (paragraph or
    document, clip or video) and "no retrieval": a corpus here has one size of item a modality, and every question is
    asked of its corpus, so that both are left out.
    """

    def __init__(self, k: int) -> None:
        self.k = k

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the routed corpora's k best items."""
        modalities = tools.roles.router.route(question.question, tools.searcher.modalities, trace)
        hits = tools.find(question.id, question.question, self.k, trace, modalities=modalities)
        ids = tuple(i for i, _ in hits)
        only = Round(question.question, ids, ids, tuple(keep_whole(ids, tools, [s for _, s in hits])))
        result = answer_from(question, tools, trace, [only])
        result.notes["routed to " + "+".join(modalities)] = 1
        return result


SYSTEMS = (SystemSpec("universal-rag",
                      "a training-free router picks the modality corpora, their k best items are read whole",
                      lambda a: UniversalRag(a.k),
                      Needs(), "UniversalRAG", "main", main=3, searcher=True),)
