"""Systems of one pass.

Nothing retrieved, whole items, given gold, and selectors of regions without the parent-relative rule.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from canopy.config import Answers
from canopy.items import Evidence, Question
from canopy.llm.roles import Trace
from canopy.pipelines.base import Needs, Result, Round, System, SystemSpec
from canopy.pipelines.compression import keep_whole, regions_of, score_items
from canopy.pipelines.evidence import answer_from
from canopy.pipelines.tools import Tools
from canopy.selection.any_level import select_top_nodes
from canopy.selection.flat import select_top_leaves
from canopy.selection.layout import Layout
from canopy.selection.near_best import select_near_best
from canopy.selection.protocol import Select

NEAR_BEST = 0.05  # cosine; flat-near-best keeps leaves this close to their item's best


class NoRetrieval:
    """The reader alone."""

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the question only."""
        return answer_from(question, tools, trace, [])


class Vanilla:
    """Retrieve k items, read them whole."""

    def __init__(self, k: int) -> None:
        self.k = k

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the k best items."""
        hits = tools.find(question.id, question.question, self.k, trace)
        ids = [i for i, _ in hits]
        return answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids),
                                                          tuple(keep_whole(ids, tools, [s for _, s in hits])))])


class Selector:
    """Retrieve k items, keep of each what a selector of nodes chooses, read that."""

    def __init__(self, k: int, select: Select, scorer: str = "f_theta") -> None:
        self.k, self.select, self.scorer = k, select, scorer

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the selected regions."""
        ids = [i for i, _ in tools.find(question.id, question.question, self.k, trace)]
        kept: list[Evidence] = []
        if ids:
            scored = score_items(ids, question.question, tools, trace, self.scorer)
            kept = regions_of(scored, self.select(scored.layout, scored.scores))
        return answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), tuple(kept))])


class Oracle:
    """An oracle: the annotated items of the question, whole or cut to the annotated fragments."""

    def __init__(self, spans: bool) -> None:
        self.spans = spans

    def answer(self, question: Question, tools: Tools, trace: Trace) -> Result:
        """Answer from the gold."""
        rows = tools.gold.get(question.id, ())
        ids = list(dict.fromkeys(i for i, _ in rows))
        kept = [r for i, fragments in rows for r in _runs(i, fragments,
                                                          tools)] if self.spans else keep_whole(ids, tools)
        return answer_from(question, tools, trace, [Round(question.question, tuple(ids), tuple(ids), tuple(kept))])


def _runs(item: str, fragments: tuple[int, ...], tools: Tools) -> list[Evidence]:
    """Neighbouring fragments as one region."""
    edges = np.array(sorted(set(fragments)))
    parts = np.split(edges, np.flatnonzero(np.diff(edges) > 1) + 1) if len(edges) else []
    return [Evidence(item, int(p[0]), int(p[-1]) + 1, 0.0, 0,
                     span=tools.library.leaves(item).span(int(p[0]), int(p[-1]) + 1)) for p in parts]


def _near_best(layout: Layout, scores: np.ndarray) -> np.ndarray:
    return select_near_best(layout, scores, NEAR_BEST)


def _selector(select: Select) -> Callable[[Answers], System]:
    return lambda answers: Selector(answers.k, select)


_SCORED = Needs(scorers=("f_theta",))
SYSTEMS = (
    SystemSpec("no-retrieval", "the reader alone", lambda a: NoRetrieval(), paper="No Retrieval", family="main",
               main=1, searcher=True),
    SystemSpec("vanilla", "the k best items, whole", lambda a: Vanilla(a.k), paper="Vanilla RAG", family="main",
               main=2, sweeps=("k",)),
    *(SystemSpec(f"flat-leaf-m{m}", f"the k best items, of each the {m} best {'leaf' if m == 1 else 'leaves'}",
                 _selector(select_top_leaves(m)), _SCORED, "Flat leaf", "selection")
      for m in (1, 2, 4)),
    SystemSpec("flat-near-best", f"the k best items, of each all leaves within {NEAR_BEST} of its best",
               _selector(_near_best), _SCORED, "", "selection"),
    *(SystemSpec(f"any-level-m{m}", f"the k best items, of each the {m} best node{'' if m == 1 else 's'} of any level",
                 _selector(select_top_nodes(m)), _SCORED, "Any level", "selection")
      for m in (1, 2, 4)),
    SystemSpec("gold-item", "an oracle: the gold items, whole", lambda a: Oracle(False), Needs(gold=True),
               "Gold Item", "oracle",
               oracle=True),
    SystemSpec("gold-span", "an oracle: the gold fragments alone", lambda a: Oracle(True), Needs(gold=True),
               "Gold Span", "oracle",
               oracle=True),
)
